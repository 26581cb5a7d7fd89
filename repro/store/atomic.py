"""Writing so that a reader, a kill -9 or a power cut sees the old content or the new, never a part.

Every write goes to a new name in the same folder, is synced, then renamed; a rename inside one file
system is atomic (POSIX), and the folder is synced because the rename itself lives there. The price
is two syncs a write, some milliseconds on a disk: a store writes a few small files an hour.
"""

from __future__ import annotations

import errno
import filecmp
import itertools
import os
import shutil
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from repro.errors import StoreError
from repro.store.strict_json import json_bytes
from repro.store.temporary import unfinished_name

ELSEWHERE = "name another store with --store"
REASONS: dict[int, tuple[str, str]] = {
    errno.ENOSPC: ("the disk is full", "free some space there or "),
    errno.EDQUOT: ("the disk quota is used up", "free some space there or "),
    errno.EACCES: ("permission denied", "allow this user to write there or "),
    errno.EPERM: ("permission denied", "allow this user to write there or "),
    errno.EROFS: ("the file system is read-only", ""),
    errno.ENOTDIR: ("a part of that path is a file, not a folder", ""),
    errno.EEXIST: ("a part of that path is a file, not a folder", ""),
}
"""Error number -> what it means, and what to do before or instead of naming another place."""


@contextmanager
def store_errors(path: Path, elsewhere: str = ELSEWHERE) -> Iterator[None]:
    """Turns the system's refusal to write `path` into a StoreError that names the mend.

    `elsewhere`: how another place is named.
    """
    try:
        yield
    except OSError as error:
        text = error.strerror or str(error)
        reason, mend = REASONS.get(error.errno or 0, (text, "mend that or "))
        mend = f"{mend}{elsewhere}"
        raise StoreError(
            f"Cannot write {path}: {reason}. {mend[0].upper()}{mend[1:]}; nothing stored before "
            "was lost."
        ) from error


def write_bytes(path: Path, data: bytes, elsewhere: str = ELSEWHERE) -> None:
    """Puts `data` at `path`; see `write_parts`."""
    write_parts(path, [data], elsewhere)


def write_parts(
    path: Path, parts: Iterable[bytes | memoryview], elsewhere: str = ELSEWHERE
) -> None:
    """Puts these bytes, one after the other, at `path`, whole or not at all; makes missing folders.
    `elsewhere`: see `store_errors`.

    Raises StoreError where the system refuses; what stood at `path` is then intact and no temporary
    file is left.
    """
    with store_errors(path, elsewhere):
        make_directory(path.parent)
        temporary = path.with_name(unfinished_name(".tmp"))
        try:
            write_new(temporary, parts)
            os.replace(temporary, path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        sync_directory(path.parent)


def write_text(path: Path, text: str, elsewhere: str = ELSEWHERE) -> None:
    """`write_bytes` in UTF-8; what UTF-8 cannot say (lone surrogates in a log) is escaped."""
    write_bytes(path, text.encode(errors="backslashreplace"), elsewhere)


def write_json(path: Path, value: Any) -> None:
    """`write_bytes` of `json_bytes`. Raises ValueError for NaN or infinity, before any write."""
    write_bytes(path, json_bytes(value))


def write_new(path: Path, parts: Iterable[bytes | memoryview]) -> None:
    """Writes and syncs a file that must not exist yet. Raises OSError."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        for part in parts:
            write_all(descriptor, part)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_all(descriptor: int, data: bytes | memoryview) -> None:
    """Writes all of `data`: the system may take less than it is given. Raises OSError."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def sync(path: Path) -> None:
    """Makes a file's content durable. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_directory(path: Path) -> None:
    """Makes a folder's entries durable. Raises OSError."""
    try:
        sync(path)
    except OSError as error:
        # Some network file systems cannot sync a folder (EINVAL): their rename is as durable as
        # it gets, and refusing to work there would help nobody.
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise


def make_directory(path: Path) -> None:
    """Makes `path` and what is missing above it, each durable. Raises OSError."""
    if not path.is_dir():
        make_directory(path.parent)
        path.mkdir(exist_ok=True)
        sync_directory(path.parent)


def publish_directory(
    staging: Path, target: Path, quarantine: Path, ignore: Collection[str] = ()
) -> Path | None:
    """Renames a complete staging folder to `target`, durable, unless another process was first.

    Then the two are compared, but for the file names in `ignore`. Other content moves to
    `<quarantine>/<target's name>-<n>`, which is returned; equal content is removed. Raises
    StoreError; the staging is then still where it was.
    """
    with store_errors(target):
        for item in sorted(staging.rglob("*")):
            sync(item)
        sync_directory(staging)
        make_directory(target.parent)
        while not rename_folder(staging, target):
            if _brings_nothing(staging, target, ignore):
                remove_tree(staging)
                return None
            if target.exists():  # else another process has just moved it away: try again
                return move_aside(staging, quarantine, target.name)
    return None


def rename_folder(source: Path, target: Path) -> bool:
    """Renames a folder, durable; False where `target` exists and is not empty. Raises OSError."""
    try:
        os.rename(source, target)
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
            return False
        raise
    sync_directory(target.parent)
    return True


def move_aside(path: Path, quarantine: Path, name: str) -> Path:
    """Moves a folder to `<quarantine>/<name>-<n>`, a file into it. Returns where it lies now.

    Raises FileNotFoundError where `path` is gone, StoreError where the system refuses.
    """
    path.lstat()
    with store_errors(quarantine):
        make_directory(quarantine)
        place = new_place(quarantine, name)
        target = place if path.is_dir() else place / path.name
        try:
            os.rename(path, target)  # a folder may be renamed onto an empty one
        except BaseException:
            place.rmdir()
            raise
        sync_directory(quarantine)
        return target


def new_place(quarantine: Path, name: str) -> Path:
    """Makes the first `<name>-<n>` that no other process has."""
    for number in itertools.count(1):
        place = quarantine / f"{name}-{number}"
        try:
            place.mkdir()
        except FileExistsError:
            continue
        return place
    raise AssertionError("counting ended")


def remove_tree(path: Path) -> None:
    """Removes an unfinished file or folder that may be another sweeper's target as well.

    It is first renamed to a name of this process, so exactly one of two sweepers removes it.
    """
    mine = path.with_name(unfinished_name(".staging"))
    try:
        os.rename(path, mine)
    except FileNotFoundError:
        return
    if mine.is_dir() and not mine.is_symlink():
        shutil.rmtree(mine)
    else:
        mine.unlink()


def _brings_nothing(staging: Path, target: Path, ignore: Collection[str]) -> bool:
    """Whether every file of `staging` stands in `target` with the same bytes."""
    files = [item for item in staging.rglob("*") if item.is_file() and item.name not in ignore]
    pairs = [(item, target / item.relative_to(staging)) for item in files]
    return all(
        theirs.is_file() and filecmp.cmp(ours, theirs, shallow=False) for ours, theirs in pairs
    )
