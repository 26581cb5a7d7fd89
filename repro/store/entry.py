"""One finished run on disk: the files of `<root>/<key[:2]>/<key>/`, what is read from them, and how
they are put beside the store, complete with their manifest, before they get their name.
"""

from __future__ import annotations

import errno
import hashlib
import io
import os
import shutil
import stat
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, Field, ValidationError, field_validator

from repro.spec import RunSpec, run_key
from repro.spec.contents import file_digest
from repro.spec.identity import identity_document
from repro.store.atomic import make_directory, store_errors, write_all
from repro.store.result import Coordinates, Hex, Result, Score, Stored, parse
from repro.store.strict_json import json_bytes, parse_json
from repro.store.temporary import unfinished_name
from repro.strict import why_refused

FORMAT = 1
"""Bumped when the files of an entry change shape; entries of another format are left alone."""

MANIFEST = "MANIFEST.json"
SPEC = "spec.json"
RESULT = "result.json"
ENVIRONMENT = "environment.json"
UNKNOWN = ("extra_forbidden", "literal_error", "union_tag_invalid")
"""What pydantic calls a field, a choice or a kind that this version does not have."""
ADAPTER = "adapter.safetensors"
"""The weights of a run, where they are kept."""
CHUNK = 1 << 20
Document = TypeVar("Document", bound=BaseModel)


class FileEntry(Stored):
    """One line of a manifest."""

    sha256: str = Field(description="digest of the content", pattern=Hex)
    size: int = Field(description="bytes", ge=0)


class Manifest(Stored):
    """`MANIFEST.json`, written last: every other file of the entry, and a checksum of itself."""

    format: int = FORMAT
    key: str = Field(pattern=Hex)
    partial: bool = Field(description="a copy in a bundle: spec, result and environment only")
    files: dict[str, FileEntry]

    @field_validator("files")
    @classmethod
    def _inside_the_folder(cls, files: dict[str, FileEntry]) -> dict[str, FileEntry]:
        for name in files:
            if not is_plain(name):
                raise ValueError(f"'{name}' is not a file name")
        return files


class Files(ABC):
    """The files of an entry by name. All but `exists` raise OSError where there is no such file."""

    @abstractmethod
    def exists(self) -> bool:
        """Whether there is an entry."""

    @abstractmethod
    def read(self, name: str) -> bytes:
        """The content of a file."""

    def size(self, name: str) -> int:
        """Bytes of a file."""
        return len(self.read(name))

    def digest(self, name: str) -> str:
        """SHA-256 of a file's content."""
        return digest_of(self.read(name))


@dataclass(frozen=True)
class FolderFiles(Files):
    """The files of an entry in a folder."""

    path: Path

    def exists(self) -> bool:
        """See `Files`."""
        return self.path.exists()

    def read(self, name: str) -> bytes:
        """See `Files`."""
        return read_file(self.path / name)

    def size(self, name: str) -> int:
        """See `Files`."""
        return (self.path / name).stat().st_size

    def digest(self, name: str) -> str:
        """See `Files`."""
        return file_digest(checked_file(self.path / name))


@dataclass(frozen=True)
class StoredRun:
    """A verified entry."""

    key: str
    source: Files = field(repr=False)
    spec: RunSpec
    result: Result = field(repr=False)
    digest: str  # SHA-256 of result.json; what a child stores of its parent
    partial: bool  # a copy in a bundle: spec, result and environment only
    files: Mapping[str, FileEntry] = field(repr=False)

    @cached_property
    def identity(self) -> Mapping[str, Any]:
        """The document that the key is the hash of."""
        document: dict[str, Any] = parse_json(self.source.read(SPEC))["identity"]
        return document

    @cached_property
    def _scores(self) -> dict[Coordinates, Score]:
        return {score.coordinates: score for score in self.result.scores}

    @cached_property
    def tasks(self) -> tuple[str, ...]:
        """The names of the tasks that were scored, sorted."""
        return tuple(sorted({score.task for score in self.result.scores}))

    @property
    def path(self) -> Path:
        """The entry's folder. Raises ValueError for a run in a bundle, which has none."""
        if not isinstance(self.source, FolderFiles):
            raise ValueError(f"the run {self.key} lies in a bundle")
        return self.source.path

    @property
    def last_epoch(self) -> int:
        """The latest epoch that was scored; 0, the untrained model, where nothing was."""
        return max((score.epoch for score in self.result.scores), default=0)

    @cached_property
    def outdated(self) -> bool:
        """Whether the code's revisions have moved on since: today's key for this spec differs."""
        return run_key(self.spec) != self.key

    def score(
        self,
        split: str,
        protocol: str,
        metric: str,
        group: str,
        epoch: int,
        *,
        task: str | None = None,
    ) -> Score | None:
        """The score at those coordinates, None where there is none.

        `task` may be left out where the run has one task. Raises ValueError where it has several.
        """
        if task is None:
            if len(self.tasks) > 1:
                raise ValueError(f"say which task: run {self.key} has {', '.join(self.tasks)}")
            task = self.tasks[0] if self.tasks else ""
        return self._scores.get((epoch, task, split, protocol, metric, group))

    def environment(self) -> dict[str, Any]:
        """`environment.json`: versions, hardware, timings; empty where the entry has none."""
        if ENVIRONMENT not in self.files:
            return {}
        document: dict[str, Any] = parse_json(self.source.read(ENVIRONMENT))
        return document


def read_file(path: Path) -> bytes:
    """The content of a file of a store. Raises OSError."""
    return checked_file(path).read_bytes()


def read_document(path: Path, kind: type[Document]) -> Document | None:
    """The JSON document in a file; None where there is none of this kind that can be read."""
    try:
        return kind.model_validate_json(read_file(path))
    except (OSError, ValidationError):
        return None


def read_small(path: Path, say: Callable[[str], None]) -> bytes | None:
    """The same of a small file; None where there is none, or it cannot be read, which is said."""
    try:
        return read_file(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        say(f"{path} is ignored: it cannot be read ({error.strerror}).")
        return None


def checked_file(path: Path) -> Path:
    """The path, unless a pipe, a socket or a device lies there, which may never end: to a store,
    that is no file. Raises FileNotFoundError.
    """
    mode = path.stat().st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise FileNotFoundError(errno.ENOENT, "no regular file", str(path))
    return path


def digest_of(data: bytes) -> str:
    """SHA-256 in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def file_stamp(path: Path) -> int:
    """Another number for another file or other content at `path`; 0 where there is none."""
    try:
        found = path.stat()
    except OSError:
        return 0
    return hash((found.st_dev, found.st_ino, found.st_mtime_ns, found.st_size))


def lies(path: str) -> bool:
    """Whether something has this path, perhaps out of sight of this user. A tenth of the cost of
    reading it: most runs of a large plan have nothing.
    """
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True


def is_plain(name: str) -> bool:
    """Whether `name` names a file of an entry's own folder and not the manifest."""
    return name not in (MANIFEST, ".", "..", "") and not any(part in name for part in "/\\\0")


def plain(name: str) -> str:
    """`name`, if it can be a file's name in a store. Raises ValueError."""
    if not is_plain(name) or name.startswith("."):
        raise ValueError(f"'{name}' cannot be the name of a file in a store")
    return name


def spec_bytes(spec: RunSpec) -> bytes:
    """`spec.json`: the whole spec, and the identity document that its key is the hash of."""
    return json_bytes({"identity": identity_document(spec), "spec": spec.model_dump(mode="json")})


def manifest_bytes(manifest: Manifest) -> bytes:
    """`MANIFEST.json`, with a checksum over the rest of itself."""
    return with_checksum(manifest.model_dump(mode="json"))


def with_checksum(document: dict[str, Any]) -> bytes:
    """A JSON object, with the checksum of the rest as one more member."""
    return json_bytes({**document, "checksum": digest_of(json_bytes(document))})


def first_problem(error: ValidationError) -> str:
    """The first thing that pydantic found wrong with a document, in one line."""
    problem = error.errors(include_url=False, include_input=False)[0]
    is_object = problem["type"] in {"model_type", "dataclass_type"}
    said = "expected a JSON object" if is_object else why_refused(problem)
    return ": ".join(filter(None, (".".join(map(str, problem["loc"])), said)))


def written_later(error: ValidationError) -> str | None:
    """The field whose name or value this version does not know; None where the error is another.

    A document with a right checksum that has one is not damaged: a newer version wrote it.
    """
    for problem in error.errors(include_url=False, include_input=False):
        if problem["type"] in UNKNOWN:
            return ".".join(map(str, problem["loc"]))
    return None


# -- before an entry gets its name ----------------------------------------------------------------


@dataclass(frozen=True)
class Staged:
    """A complete entry that is not published yet."""

    folder: Path
    manifest: Manifest


def stage(
    root: Path,
    key: str,
    files: Mapping[str, bytes | Path],
    *,
    partial: bool = False,
) -> Staged:
    """Writes `files` (name -> content, or a file to copy) to a new folder under `root`.

    `partial`: they are a copy of what a bundle holds of a run.

    Raises StoreError where the system refuses; nothing is left then. Not synced: publishing does
    that.
    """
    folder = root / unfinished_name(".staging")
    try:
        with store_errors(root):
            make_directory(root)
            folder.mkdir()
        entries = {name: _put(folder / name, content) for name, content in sorted(files.items())}
        manifest = Manifest(key=key, partial=partial, files=entries)
        _put(folder / MANIFEST, manifest_bytes(manifest))
    except BaseException:
        discard(folder)
        raise
    return Staged(folder, manifest)


def check_files(key: str, files: Mapping[str, bytes | Path]) -> None:
    """Raises ValueError where `files` cannot become the entry of `key`."""
    for name in files:
        if name == SPEC or plain(name) != name:
            raise ValueError(f"{name} is written by the store")
    if RESULT not in files:
        raise ValueError(f"a run without {RESULT} is not finished")
    result = parse(content_of(files[RESULT]))
    if result.key != key:
        raise ValueError(f"{RESULT} is of the run {result.key}, not of {key}")
    if ENVIRONMENT in files and not isinstance(parse_json(content_of(files[ENVIRONMENT])), dict):
        raise ValueError(f"{ENVIRONMENT} is not an object")


def content_of(file: bytes | Path) -> bytes:
    """The bytes given, or those of the file named."""
    return file if isinstance(file, bytes) else file.read_bytes()


def discard(folder: Path) -> None:
    """Removes a staging folder after a failure, as far as the disk lets it.

    What cannot be removed is a later sweep's; the failure that led here is what must be reported.
    """
    shutil.rmtree(folder, ignore_errors=True)


def _put(path: Path, content: bytes | Path) -> FileEntry:
    """Writes one new file, hashing what goes by, so that a large one is read once."""
    digest, size = hashlib.sha256(), 0
    source = io.BytesIO(content) if isinstance(content, bytes) else content.open("rb")
    with source, store_errors(path):
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        try:
            while chunk := source.read(CHUNK):
                write_all(descriptor, chunk)
                digest.update(chunk)
                size += len(chunk)
        finally:
            os.close(descriptor)
    return FileEntry(sha256=digest.hexdigest(), size=size)
