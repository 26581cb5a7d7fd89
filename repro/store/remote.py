"""A store that several machines share, reached by its URL: an object store, a repository of the
hub, a mounted share; whatever fsspec opens.

A folder here is its copy, and is what every process works in: `remote.json` in it names the URL.
What is asked for and is not here is fetched; what is stored here is sent. There as here, an entry
is a folder of plain files whose manifest comes last, so one without a manifest does not exist, and
a fetched entry is used only after every checksum of its manifest was found to be right.

The listing is asked for once a process. Where the other side cannot be reached, one line says so,
nothing is asked of it again in this process, and the names in `unpushed/` remain for a later one.
"""

from __future__ import annotations

import errno
import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from repro.errors import ReproError, StoreError, told
from repro.folders import cache_folder
from repro.store.atomic import make_directory, store_errors, write_json
from repro.store.bundle import LARGEST as LARGEST_BUNDLE
from repro.store.bundle import LARGEST_RECORD, RECORD, SUFFIX, PackedFiles
from repro.store.entry import (
    MANIFEST,
    RESULT,
    FolderFiles,
    Manifest,
    Staged,
    StoredRun,
    discard,
    read_file,
)
from repro.store.reading import Corrupt, Foreign, checked_manifest, read_entry
from repro.store.strict_json import parse_json
from repro.store.temporary import unfinished_name

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

FILE = "remote.json"
"""In a folder that is the copy of a remote store: {"url": URL}."""
URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/+(.*)", re.DOTALL)
"""A URL, also as a path makes one slash of two."""
NO_PLACE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/*")
"""A URL without a place, also as a path makes one of it."""
ENTRY = re.compile(rf"([0-9a-f]{{2}})/(\1[0-9a-f]{{62}})/{re.escape(MANIFEST)}")
KEEPING = (
    "s3", "s3a", "hf", "gs", "gcs", "az", "abfs", "abfss", "adl", "oss", "sftp", "ssh", "smb",
    "ftp", "webdav", "hdfs", "webhdfs", "file", "local",
)  # fmt: skip
"""Protocols under which a store can be kept: they take what is written, and it outlives a process.
"""
EXTRAS = {"s3": "repro[s3]", "s3a": "repro[s3]"}
"""Protocol -> what to install for it, where this project names it."""
S3_ACCESS = (
    "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or write both into ~/.aws/credentials "
    "(AWS_PROFILE chooses a section of it); AWS_ENDPOINT_URL names a server that is not Amazon's."
)
ACCESS = {
    "s3": S3_ACCESS,
    "s3a": S3_ACCESS,
    "hf": "Set HF_TOKEN to a token that may read and write there, or give `hf auth login`.",
}
"""Protocol -> how a user says who they are."""
DENIED = re.compile("credential|token|unauthori|forbidden|access ?denied|permission|40[13]", re.I)
"""What errors say that want to know who asks, or that know and refuse."""
LARGEST_MANIFEST = 1 << 20
"""Bytes of one that is fetched."""
FULL = (errno.ENOSPC, errno.EDQUOT)


class Unreachable(Exception):
    """The other side does not answer, or refuses; it was said why."""


def url_of(given: str | Path) -> str | None:
    """The URL of a remote store, None for a folder. Raises ReproError for a bare protocol, and for
    one under which nothing can be kept.
    """
    found = URL.fullmatch(str(given))
    if found is None or not found[2].strip("/"):
        if NO_PLACE.fullmatch(str(given)):
            raise ReproError(
                f"--store {given} names a protocol and no place: {given}//BUCKET/PATH."
            )
        return None
    protocol = found[1].lower()
    if protocol not in KEEPING:
        raise ReproError(
            f"--store {protocol}://{found[2]}: no store can be kept under {protocol}://. Name a "
            f"folder, or a URL of one of these: {', '.join(f'{one}://' for one in KEEPING)}."
        )
    root = "/" if protocol in ("file", "local") else ""
    return f"{protocol}://{root}{found[2].rstrip('/')}"


def copy_of(url: str) -> Path:
    """The folder here that is the copy of the store at `url`, made if it is missing.

    Raises ReproError where nothing here opens such URLs, StoreError.
    """
    opened(url)
    slug = re.sub(r"[^A-Za-z0-9.-]+", "-", url.partition("://")[2]).strip("-.")[-60:]
    name = f"{slug}-{hashlib.sha256(url.encode()).hexdigest()[:8]}"
    folder = cache_folder() / "stores" / name
    if named_in(folder) != url:
        write_json(folder / FILE, {"url": url})
    return folder


def named_in(folder: Path) -> str | None:
    """The URL of the remote store that a folder is the copy of; None where it is its own."""
    try:
        found = parse_json(read_file(folder / FILE))
    except (OSError, ValueError, RecursionError):
        return None
    url = found.get("url") if isinstance(found, dict) else None
    return url if isinstance(url, str) else None


def opened(url: str) -> tuple[AbstractFileSystem, str]:
    """What opens the URL, and the path that it names there; asks the other side nothing.

    Raises ReproError.
    """
    from fsspec.core import url_to_fs

    protocol = url.partition("://")[0]
    try:
        system, path = url_to_fs(url, **({"auto_mkdir": True} if protocol == "file" else {}))
    except ImportError as error:
        mend = f" (pip install '{EXTRAS[protocol]}')" if protocol in EXTRAS else ""
        raise ReproError(f"The store {url} cannot be opened: {error}{mend}.") from error
    except Exception as error:  # some connect here; their libraries share no class of error
        raise ReproError(
            f"The store {url} cannot be opened: {told(error)}.{access(url, error)}"
        ) from error
    return system, str(path).rstrip("/")


def access(url: str, error: Exception) -> str:
    """How to say who one is, where that is what the other side wants to know; else ""."""
    mend = ACCESS.get(url.partition("://")[0])
    return f" {mend}" if mend and DENIED.search(f"{type(error).__name__}: {error}") else ""


class Remote:
    """The store at `url`; `say` gets one line about what cannot be reached or trusted."""

    def __init__(self, url: str, copy: Path, say: Callable[[str], None]) -> None:
        self.url = url
        self.copy = copy
        self.say = say
        self.down = ""
        """Why it cannot be reached or read; "" where it can, as far as it was asked."""
        self.refuses = False
        """It can be read, but not be written."""
        self._tried: set[str] = set()
        self._damaged: set[str] = set()

    @cached_property
    def _place(self) -> tuple[AbstractFileSystem, str]:
        return opened(self.url)

    @property
    def is_new(self) -> bool:
        """Whether nothing of it was read here yet: its copy holds no more than the URL."""
        return all(path.name == FILE for path in self.copy.iterdir())

    def check(self) -> None:
        """Raises ReproError where it cannot be reached and nothing of it was read here yet."""
        probe = Remote(self.url, self.copy, lambda line: None)
        if self.is_new and not probe.sizes and probe.down:
            raise ReproError(
                f"{probe.down} Nothing of it was read here before, so that there is no copy to go "
                "on with: mend that, or name another store with --store."
            )

    def _path(self, name: str) -> str:
        return f"{self._place[1]}/{name}"

    @cached_property
    def sizes(self) -> dict[str, int]:
        """Bytes of every file there by its name in the store; none where it cannot be reached."""
        system, root = self._place
        try:
            with self._reaching():
                system.invalidate_cache()  # of this process, which may have listed it before
                found: Mapping[str, Any] = system.find(root, detail=True)
        except (Unreachable, FileNotFoundError):
            return {}
        return {
            path[len(root) :].lstrip("/"): int(about.get("size") or 0)
            for path, about in found.items()
        }

    @cached_property
    def keys(self) -> set[str]:
        """The keys of the entries there, unchecked."""
        return {found[2] for found in map(ENTRY.fullmatch, self.sizes) if found}

    def fetch(self, key: str) -> Staged | None:
        """The entry of `key`, checked, in a new folder below the copy that the caller publishes.

        None where there is no good one, and where it was asked for before. Raises StoreError where
        it cannot be written.
        """
        if key in self._tried or key not in self.keys:
            return None
        self._tried.add(key)
        return self._download(key)

    def _download(self, key: str) -> Staged | None:
        folder = self.copy / unfinished_name(".staging")
        with store_errors(self.copy):
            make_directory(self.copy)
            folder.mkdir()
        try:
            with self._reaching():
                return Staged(folder, self._checked(key, folder))
        except Corrupt as damage:
            self._damaged.add(key)
            self.say(f"Run {key[:12]} in {self.url} is damaged and counts as missing: {damage}.")
        except Foreign as problem:
            self.say(f"Run {key[:12]} in {self.url} is ignored: {problem}.")
        except (Unreachable, FileNotFoundError):
            pass
        except BaseException:
            discard(folder)
            raise
        discard(folder)
        return None

    def _checked(self, key: str, folder: Path) -> Manifest:
        """Downloads the files that the manifest names. Raises Corrupt, Foreign."""
        system, prefix = self._place[0], f"{key[:2]}/{key}"
        if self.sizes[f"{prefix}/{MANIFEST}"] > LARGEST_MANIFEST:
            raise Corrupt(f"{MANIFEST} is larger than {LARGEST_MANIFEST >> 20} MiB")
        (folder / MANIFEST).write_bytes(system.cat_file(self._path(f"{prefix}/{MANIFEST}")))
        files = checked_manifest(FolderFiles(folder), key).files
        for name, entry in files.items():
            if self.sizes.get(f"{prefix}/{name}") != entry.size:
                raise Corrupt(f"{name} has another size than {MANIFEST} says")
        there = [self._path(f"{prefix}/{name}") for name in files]
        system.get(there, [str(folder / name) for name in files])
        run = read_entry(FolderFiles(folder), key, verify=True)
        if run is None:
            raise Corrupt("it vanished")
        return Manifest(key=key, partial=run.partial, files=dict(run.files))

    def send(self, run: StoredRun) -> Staged | None:
        """Puts an entry there, its manifest last, unless there is a good one.

        Returns the one that is there where its result is another. Raises Unreachable.
        """
        prefix, system = f"{run.key[:2]}/{run.key}", self._place[0]
        with self._reaching():
            system.invalidate_cache()
            theirs = self._manifest(run.key)
            if theirs is not None and theirs.files[RESULT] != run.files[RESULT]:
                self._list([f"{prefix}/{name}" for name in (*theirs.files, MANIFEST)])
                return self._download(run.key)
        if theirs is None or set(theirs.files) < set(run.files):
            with self._reaching(writing=True):
                self._upload(run, prefix)
        return None

    def _manifest(self, key: str) -> Manifest | None:
        """The manifest there now; None where there is none, or where its entry is damaged."""
        if key in self._damaged:
            return None
        folder = f"{key[:2]}/{key}"
        try:
            data = self._place[0].cat_file(self._path(f"{folder}/{MANIFEST}"))
            return checked_manifest(PackedFiles({f"{folder}/{MANIFEST}": data}, folder), key)
        except (FileNotFoundError, Corrupt):
            return None

    def _list(self, names: Iterable[str]) -> None:
        """Notes the sizes of files that came after the listing."""
        for name in names:
            self.sizes[name] = int(self._place[0].size(self._path(name)) or 0)

    def _upload(self, run: StoredRun, prefix: str) -> None:
        system = self._place[0]
        if "hf" in ((system.protocol,) if isinstance(system.protocol, str) else system.protocol):
            _commit(system, self._path(prefix), run.path)
        else:
            for name in (*run.files, MANIFEST):
                system.put_file(str(run.path / name), self._path(f"{prefix}/{name}"))
        self._list([f"{prefix}/{name}" for name in (*run.files, MANIFEST)])
        self.keys.add(run.key)

    def records(self) -> dict[str, bytes]:
        """Name -> content of the requests, counts, server scores and external numbers there."""
        names = [
            name
            for name, size in self.sizes.items()
            if RECORD.fullmatch(name) and size <= LARGEST_RECORD
        ]
        if not names or self.down:
            return {}
        try:
            with self._reaching():
                found = self._place[0].cat([self._path(name) for name in names])
        except (Unreachable, FileNotFoundError):
            return {}
        contents = found if isinstance(found, dict) else {self._path(names[0]): found}
        named = {self._path(name): name for name in names}
        return {named[path]: data for path, data in contents.items() if path in named}

    def bundles(self) -> dict[str, int]:
        """Bytes of the bundles there by name."""
        return {
            name: size
            for name, size in self.sizes.items()
            if name.endswith(SUFFIX) and not name.startswith(".") and not set(name) & set("/\\\0")
            and size <= LARGEST_BUNDLE
        }  # fmt: skip

    def read(self, name: str) -> bytes | None:
        """The content of a file; None where it cannot be had."""
        try:
            with self._reaching():
                return bytes(self._place[0].cat_file(self._path(name)))
        except (Unreachable, FileNotFoundError):
            return None

    def write(self, name: str, data: bytes) -> None:
        """Puts a small file there, in place of another. Raises Unreachable."""
        with self._reaching(writing=True):
            self._place[0].pipe_file(self._path(name), data)

    def remove(self, name: str) -> None:
        """Removes a record, or the entry of a key, its manifest first.

        Raises StoreError where the other side does not do it: it would come back from there.
        """
        prefix = f"{name[:2]}/{name}/"
        inside = [one for one in self.sizes if one.startswith(prefix)]
        names = sorted(inside, key=lambda one: not one.endswith(f"/{MANIFEST}")) or [name]
        try:
            for one in names:
                with suppress(FileNotFoundError), self._reaching(writing=True):
                    self._place[0].rm_file(self._path(one))
                self.sizes.pop(one, None)
        except Unreachable as problem:
            raise StoreError(
                f"Nothing was removed: {self.url} cannot be reached or written, and it would come "
                "back from there. Give the command again when it can."
            ) from problem
        self.keys.discard(name)

    @contextmanager
    def _reaching(self, *, writing: bool = False) -> Iterator[None]:
        """Asks the other side. Raises Unreachable for whatever goes wrong there."""
        if self.down or (writing and self.refuses):
            raise Unreachable
        try:
            yield
        except (Corrupt, Foreign, ReproError, FileNotFoundError):
            raise
        except Exception as error:  # the libraries behind fsspec share no class of error
            if isinstance(error, OSError) and error.errno in FULL:
                with store_errors(self.copy):
                    raise
            why = f"{type(error).__name__}: {told(error)}"
            if writing:
                self.refuses = True
                self.say(
                    f"The store {self.url} cannot be written ({why}).{access(self.url, error)} "
                    f"What is stored in its copy in {self.copy} is sent by the next command that "
                    "can write there."
                )
            else:
                self.down = f"The store {self.url} cannot be reached ({why})."
                self.down += access(self.url, error)
                self.say(
                    f"{self.down} Its copy in {self.copy} is used; what is stored meanwhile is "
                    "sent by the next command that can reach it."
                )
            raise Unreachable from error


def _commit(system: AbstractFileSystem, path: str, folder: Path) -> None:
    """A repository of the hub gets the whole entry as one commit."""
    from huggingface_hub import HfApi

    where = system.resolve_path(path)
    HfApi(endpoint=system.endpoint, token=system.token).upload_folder(
        repo_id=where.repo_id,
        repo_type=where.repo_type,
        revision=where.revision,
        path_in_repo=where.path_in_repo,
        folder_path=folder,
        commit_message=f"Add run {folder.name[:12]}",
    )
