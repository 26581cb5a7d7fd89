"""Files of the Hugging Face hub: each is fetched once, compared with its checksum, and pinned.

A file lies where huggingface_hub keeps it, below HF_HOME, and its settings hold (HF_ENDPOINT,
HF_HUB_OFFLINE, a token). What that library leaves out is done here: a download that was cut off
continues in the next process, and what arrived is compared with the SHA-256 that the hub names.
The first download from a repository pins its commit, as the ref `repro` in the cache: later
downloads, of other files too, are of that commit and need no look at the hub for what is here.
Torch-free.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, TypeVar

from repro.errors import first_line

V = TypeVar("V")
Heard = Callable[[int], None]
"""Is called with the number of bytes that have arrived; a negative one where these were in vain."""


def unheard(count: int) -> None:
    """Hears of bytes and does nothing."""


PIN = "repro"
COMMIT = re.compile(r"[0-9a-f]{40}")
SHA256 = re.compile(r"[0-9a-f]{64}")
PASSING = (408, 429, 500, 502, 503, 504)
"""Status codes after which the same request may succeed."""
WAITS = (1.0, 2.0, 4.0, 8.0, 16.0)
"""Seconds before a request is tried again; it is given up after the last without a new byte."""
LONGEST_WAIT = 300.0
"""Of those that the hub asks for; its limits are counted over five minutes."""


class Damaged(OSError):
    """A file that is not the one that the hub names."""


@dataclass(frozen=True, slots=True)
class Repo:
    """A repository of the hub."""

    id: str
    kind: Literal["model", "dataset"]

    @property
    def cache(self) -> Path:
        """Its folder in the hub's cache: `blobs`, `refs` and `snapshots`."""
        from huggingface_hub.constants import HF_HUB_CACHE
        from huggingface_hub.file_download import repo_folder_name

        return Path(HF_HUB_CACHE) / repo_folder_name(repo_id=self.id, repo_type=self.kind)


@dataclass(frozen=True, slots=True)
class Remote:
    """A file as the hub describes it. `etag`: its SHA-256, or git's SHA-1 of a small file."""

    name: str
    commit: str
    etag: str
    size: int


def pin_of(repo: Repo) -> str | None:
    """The commit that the first download from a repository pinned; None where none did."""
    try:
        found = (repo.cache / "refs" / PIN).read_text(encoding="utf-8").strip()
    except OSError:
        return None
    return found if COMMIT.fullmatch(found) else None


def cached(repo: Repo, name: str, revision: str | None = None) -> Path | None:
    """The file in the hub's cache at a revision (None: the pinned one, else the newest known)."""
    from huggingface_hub import try_to_load_from_cache

    at = revision or pin_of(repo) or "main"
    found = try_to_load_from_cache(repo.id, name, repo_type=repo.kind, revision=at)
    return Path(found) if isinstance(found, str) else None


def commit_of(path: Path) -> str | None:
    """The commit of a file in the hub's cache: .../snapshots/<commit>/..."""
    parts = path.parts
    return parts[parts.index("snapshots") + 1] if "snapshots" in parts else None


def look(repo: Repo, name: str, revision: str | None = None) -> Remote | None:
    """What the hub says of a file at a revision (None: the pinned one, else the newest).

    None where the repository has no such file there. Raises what huggingface_hub raises: network
    and HTTP errors, a repository or revision that does not exist, HF_HUB_OFFLINE.
    """
    from huggingface_hub import get_hf_file_metadata, hf_hub_url
    from huggingface_hub.errors import EntryNotFoundError

    at = revision or pin_of(repo)
    url = hf_hub_url(repo.id, name, repo_type=repo.kind, revision=at)
    try:
        found = _patiently(lambda: get_hf_file_metadata(url))
    except EntryNotFoundError as problem:
        _note_absence(repo, name, problem)
        return None
    if found.commit_hash is None or found.etag is None or found.size is None:
        raise OSError(f"{url} names no commit, checksum or size: is that a mirror of the hub?")
    return Remote(name, found.commit_hash, found.etag, found.size)


def fetch(
    repo: Repo, name: str, revision: str | None = None, heard: Heard = unheard
) -> Path | None:
    """The file in the hub's cache, downloaded if it is not there; None where the hub has none.

    Args:
        repo: The repository.
        name: The file's path in it.
        revision: A commit, branch or tag; None is the pinned commit, else the newest, which is
            pinned by this.
        heard: Hears of the bytes that arrive.

    Raises Damaged for content that is not what the hub names, and what `look` raises.
    """
    at = revision or pin_of(repo)
    if at is not None and COMMIT.fullmatch(at):
        here = cached(repo, name, at)
        if here is not None or _known_absent(repo, name, at):
            return here
    try:
        remote = look(repo, name, at)
    except Exception:  # network, HTTP and offline errors share no base class
        here = cached(repo, name, at)
        if here is None:
            raise
        return here
    if remote is None:
        return None
    path = cached(repo, name, remote.commit)
    if path is None:
        _download(repo, remote, heard)
        path = _linked(repo, remote)
    if at != remote.commit:
        _write_note(repo.cache / "refs" / (at or PIN), remote.commit)
    return path


def is_intact(path: Path) -> bool:
    """Whether a file in the hub's cache has the checksum that it is stored under."""
    return not path.is_symlink() or _matches(path, path.readlink().name)


def forget(path: Path) -> None:
    """Removes a damaged file from the hub's cache, so that the next `fetch` downloads it."""
    path.resolve().unlink(missing_ok=True)
    path.unlink(missing_ok=True)


def _linked(repo: Repo, remote: Remote) -> Path:
    """The file's place in its snapshot, which huggingface_hub makes of the blob that is here."""
    from huggingface_hub import hf_hub_download

    return Path(hf_hub_download(repo.id, remote.name, repo_type=repo.kind, revision=remote.commit))


def _download(repo: Repo, remote: Remote, heard: Heard) -> None:
    """Puts the file among the blobs of its repository; continues what a process left of it."""
    blob = repo.cache / "blobs" / remote.etag
    part = blob.with_name(f"{remote.etag}.part")
    lock = repo.cache.parent / ".locks" / repo.cache.name / f"{remote.etag}.lock"
    for folder in (blob.parent, lock.parent):
        folder.mkdir(parents=True, exist_ok=True)
    with _utils().WeakFileLock(lock):
        if blob.exists():
            return
        if _size(part) > remote.size:
            part.unlink()
        _check_room(part, remote.size - _size(part))
        heard(_size(part))
        _patiently(lambda: _append(repo, remote, part, heard), lambda: _size(part))
        if _size(part) != remote.size or not _matches(part, remote.etag):
            part.unlink()
            raise Damaged(
                f"{remote.name} of {repo.id} arrived damaged: its checksum is not the hub's "
                f"({remote.etag[:12]}). It was deleted"
            )
        os.replace(part, blob)


def _append(repo: Repo, remote: Remote, part: Path, heard: Heard) -> None:
    """Downloads what `part` lacks of the file; all of it where the server sends no ranges."""
    from huggingface_hub import hf_hub_url

    utils = _utils()
    url = hf_hub_url(repo.id, remote.name, repo_type=repo.kind, revision=remote.commit)
    begun = _size(part)
    if begun == remote.size > 0:
        return
    headers = utils.build_hf_headers() | {"Accept-Encoding": "identity"}
    headers |= {"Range": f"bytes={begun}-"} if begun else {}
    with part.open("ab") as file, utils.get_session().stream("GET", url, headers=headers) as answer:
        if answer.is_error:
            answer.read()  # what the error says
        utils.hf_raise_for_status(answer)
        if begun and answer.status_code != 206:
            file.truncate(0)
            heard(-begun)
        for piece in answer.iter_bytes():
            file.write(piece)
            heard(len(piece))
        file.flush()
        os.fsync(file.fileno())


def _utils() -> Any:
    """The library's helpers, which it exports without saying so to type checkers."""
    return import_module("huggingface_hub.utils")


def _patiently(action: Callable[[], V], arrived: Callable[[], int] | None = None) -> V:
    """What `action` returns, tried again after errors that pass: the hub is busy or fails.

    `arrived` counts the bytes of a download, whose connection may break; as long as more arrive
    between two errors it is tried again. Without it, an unreachable hub is no passing error.
    """
    from huggingface_hub.errors import HfHubHTTPError

    network: Any = HfHubHTTPError.__bases__[0]  # httpx's, whichever of its versions is in use
    tried, before = 0, arrived() if arrived else 0
    while True:
        try:
            return action()
        except (HfHubHTTPError, network) as problem:
            http = problem.response if isinstance(problem, HfHubHTTPError) else None
            passes = arrived is not None if http is None else http.status_code in PASSING
            if arrived and arrived() > before:
                tried, before = 0, arrived()
            if not passes or tried == len(WAITS):
                raise
            wait = _asked_wait(http) if http is not None else None
            wait = WAITS[tried] if wait is None else wait
            print(f"{first_line(problem)}: trying again in {wait:.0f} s", file=sys.stderr)
            time.sleep(wait)
            tried += 1


def _asked_wait(answer: Any) -> float | None:
    """The seconds of a Retry-After, which may also be a date."""
    given = str(answer.headers.get("Retry-After", ""))
    return min(float(given), LONGEST_WAIT) if given.isdecimal() else None


def _matches(path: Path, etag: str) -> bool:
    """Whether a file has the checksum that the hub names; True where that is of neither kind."""
    if SHA256.fullmatch(etag):
        digest, begin = "sha256", b""
    elif COMMIT.fullmatch(etag):
        digest, begin = "sha1", b"blob %d\0" % path.stat().st_size
    else:
        return True
    made = hashlib.new(digest, begin, usedforsecurity=False)
    with path.open("rb") as file:
        while piece := file.read(1 << 20):
            made.update(piece)
    return made.hexdigest() == etag


def _check_room(path: Path, wanted: int) -> None:
    free = shutil.disk_usage(path.parent).free
    if free < wanted:
        raise OSError(f"{path.parent} has {free:,} bytes free, and {wanted:,} are to be downloaded")


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _absence(repo: Repo, name: str, commit: str) -> Path:
    """Where huggingface_hub notes that a commit has no such file."""
    return repo.cache / ".no_exist" / commit / name


def _known_absent(repo: Repo, name: str, commit: str) -> bool:
    return _absence(repo, name, commit).is_file()


def _note_absence(repo: Repo, name: str, problem: Exception) -> None:
    commit = getattr(problem, "response", None)
    found = commit.headers.get("X-Repo-Commit", "") if commit is not None else ""
    if COMMIT.fullmatch(found):
        _write_note(_absence(repo, name, found), "")


def _write_note(path: Path, text: str) -> None:
    """Writes a small file of the cache; in a cache that is shared read-only it is done without."""
    with suppress(PermissionError):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
