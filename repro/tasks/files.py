"""Where a data set's published rows are: files of a local folder, else the hub's.

Local: `$REPRO_DATA/<folder>/<split>.jsonl.gz` or `.jsonl`, one row a line. Hub:
`repro.tasks.hub`. Torch-free.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from repro.errors import MissingData
from repro.folders import named_by
from repro.spec.contents import Content, is_of_hub, recorded, rows_digest
from repro.strict import no_constant, unique_keys

FOLDER_VARIABLE = "REPRO_DATA"
SUFFIXES = (".jsonl.gz", ".jsonl")
DIGEST = "sha256:"
STRICT: dict[str, Any] = {"object_pairs_hook": unique_keys, "parse_constant": no_constant}
"""How `json.loads` reads a row."""


@dataclass(frozen=True, slots=True)
class DataSet:
    """A published data set: its name, its folder under $REPRO_DATA, its files on the hub.

    One that comes as local files only has no `hub_id`.
    """

    title: str
    folder: str
    hub_id: str = ""
    hub_folder: str = ""

    @property
    def or_hub(self) -> str:
        """The other mend of an error about local files: ", or unset ... from the hub", if any."""
        unset = f", or unset {FOLDER_VARIABLE} to use {self.hub_id} from the hub"
        return unset if self.hub_id else ""


def local_folder(data: DataSet) -> Path | None:
    """$REPRO_DATA, if it is set.

    Raises MissingData where it is no folder: a mistyped one is not the hub's data.
    """
    folder = named_by(FOLDER_VARIABLE)
    if folder is None:
        return None
    if not folder.is_dir():
        raise MissingData(
            f"{FOLDER_VARIABLE} is {folder}, and there is no such folder. Set it to the folder "
            f"that holds {data.folder}{data.or_hub}."
        )
    return folder


def local_file(data: DataSet, split: str) -> Path | None:
    """The split's file under $REPRO_DATA, if there is one.

    Raises MissingData where $REPRO_DATA is no folder, and for two files of one split, as either may
    be the one that was meant.
    """
    folder = local_folder(data)
    if folder is None:
        return None
    names = (folder / data.folder / f"{split}{suffix}" for suffix in SUFFIXES)
    found = [path for path in names if path.is_file()]
    if len(found) > 1:
        both = " and ".join(path.name for path in found)
        raise MissingData(
            f"{found[0].parent} holds both {both} for one split. Remove the one that is not meant."
        )
    return found[0] if found else None


def absent_splits(data: DataSet, splits: Sequence[str]) -> list[str]:
    """The splits that a local folder lacks while it has others of them; empty where it has none."""
    absent = [split for split in splits if local_file(data, split) is None]
    return absent if len(absent) < len(splits) else []


def local_paths(data: DataSet, splits: Sequence[str]) -> dict[str, Path]:
    """The local file of every split; empty where the folder has none of them.

    Raises MissingData for a folder that holds only some of the splits, or that is none.
    """
    found = {split: local_file(data, split) for split in splits}
    paths = {split: path for split, path in found.items() if path is not None}
    missing = absent_splits(data, splits)
    if missing:
        # half from a folder and half from the hub would be data that nothing identifies
        folder = next(iter(paths.values())).parent
        every = "both" if len(splits) == 2 else "all of them"
        raise MissingData(
            f"{folder} holds {', '.join(path.name for path in paths.values())} but not "
            f"{' or '.join(f'{name}.jsonl.gz' for name in missing)}. Add what is missing"
            f"{data.or_hub} for {every}."
        )
    return paths


def local_content(data: DataSet, path: Path) -> bytes:
    """The file's decompressed bytes; raises MissingData for a damaged or unreadable file."""
    try:
        content = path.read_bytes()
        return gzip.decompress(content) if path.suffix == ".gz" else content
    except (OSError, EOFError, zlib.error) as error:
        raise MissingData(
            f"{path} cannot be read ({error}). Copy the file again{data.or_hub}."
        ) from error


def content_digest(contents: dict[str, bytes]) -> str:
    """'sha256:<64 digits>' over the decompressed content of the given splits, in sorted order."""
    lines = [
        f"{split} {hashlib.sha256(content).hexdigest()}\n"
        for split, content in sorted(contents.items())
    ]
    return f"{DIGEST}{hashlib.sha256(''.join(lines).encode()).hexdigest()}"


def local_revision(
    data: DataSet, contents: dict[str, bytes], paths: Mapping[str, Path]
) -> str | None:
    """What identifies local files below scale "paper": their content's digest.

    None, as of the hub's rows, for those that `prepare` downloaded from there.
    """
    folder = local_folder(data)
    if folder is not None and is_of_hub(folder, data.folder, paths):
        return None
    return content_digest(contents)


def is_digest(revision: str | None) -> bool:
    """Whether a task's revision names a local folder's content."""
    return revision is not None and revision.startswith(DIGEST)


def check_digest(contents: dict[str, bytes], paths: dict[str, Path], revision: str | None) -> None:
    """Raises MissingData unless the contents are those that `revision` was planned with."""
    digest = content_digest(contents)
    if digest != revision:
        names = " and ".join(str(path) for path in paths.values())
        raise MissingData(
            f"The run was planned for data with digest {revision}, but {names} have {digest}. "
            "Put the earlier files back, or plan again to train on these."
        )


def check_hub_revision(data: DataSet, splits: Sequence[str], revision: str | None) -> None:
    """Raises MissingData where a run planned with local data finds no local folder."""
    if is_digest(revision):
        names = " and ".join(f"{split}.jsonl.gz" for split in splits)
        raise MissingData(
            f"The run was planned for local data with digest {revision}, but there is no "
            f"{names} in the folder {data.folder} under ${FOLDER_VARIABLE}. Set "
            f"{FOLDER_VARIABLE} to the folder that was planned with, or plan again to use "
            f"{data.hub_id} from the hub."
        )


_READ: ContextVar[dict[str, Content] | None] = ContextVar("read", default=None)


@contextmanager
def reading() -> Iterator[dict[str, Content]]:
    """Collects what is read within the block: a set's folder -> the digests of its rows."""
    found: dict[str, Content] = {}
    token = _READ.set(found)
    try:
        yield found
    finally:
        _READ.reset(token)


def note_rows(
    data: DataSet, splits: Mapping[str, Sequence[Any]], hub_revision: str | None = None
) -> None:
    """Notes the real rows that were read, whole splits before any draw, for `reading`.

    `hub_revision`: the commit that they were downloaded at, of rows from the hub. A folder that
    `prepare` made records it of its rows.
    """
    found = _READ.get()
    if found is None:
        return
    digests = {split: rows_digest(rows) for split, rows in splits.items()}
    folder = named_by(FOLDER_VARIABLE)
    if hub_revision is None and folder is not None:
        hub_revision = recorded(folder, "data", data.folder, digests)
    before = found.get(data.folder)
    if before is not None:
        digests = {**before.digests, **digests}
        hub_revision = hub_revision if hub_revision == before.revision else None
    found[data.folder] = Content(revision=hub_revision, digests=digests)


def count_lines(content: bytes) -> int:
    """The rows of a .jsonl file, without parsing it."""
    return sum(1 for line in content.split(b"\n") if line.strip())


def json_rows(content: bytes, name: str) -> Iterator[tuple[Any, str]]:
    """(row, its place for errors) of a .jsonl file called `name`.

    Raises MissingData for a line that is not UTF-8, no strict JSON, or gives a key twice.
    """
    for number, line in enumerate(content.split(b"\n"), start=1):
        if not line.strip():
            continue
        place = f"{name}, line {number}"
        try:
            yield json.loads(line.decode("utf-8"), **STRICT), place
        except UnicodeDecodeError as error:
            raise MissingData(
                f"{place}: not UTF-8 (byte {error.start + 1} of the line is "
                f"0x{line[error.start]:02x}). Replace the file by the published one."
            ) from error
        except (ValueError, RecursionError) as error:
            raise MissingData(
                f"{place}: not JSON ({error}). Replace the file by the published one."
            ) from error
