"""Puts a run's files and their manifest beside the store, complete, before they get their name."""

from __future__ import annotations

import hashlib
import io
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from repro.store.atomic import make_directory, store_errors, write_all
from repro.store.entry import (
    ENVIRONMENT,
    MANIFEST,
    RESULT,
    SPEC,
    FileEntry,
    Manifest,
    manifest_bytes,
    plain,
)
from repro.store.result import parse
from repro.store.strict_json import parse_json
from repro.store.temporary import unfinished_name

CHUNK = 1 << 20


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
