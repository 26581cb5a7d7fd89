"""The published rows of a data set from the hub: parquet files, no code of the hub.

A split is one parquet file of the repository, fetched by its name and read into memory. That needs
the one file, not the hub's listings: it works with any mirror, continues a broken download, and a
file that is here is read without network. (`datasets.load_dataset` of an id asks for the listing,
and writes a second copy as Arrow.) Which commit is read: the one that is asked for, else that of
the lock file, else the one that the first download pinned (`repro.hub`).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from repro import hub
from repro.errors import MissingData, told
from repro.hub import Heard, Repo
from repro.spec.contents import locked
from repro.tasks.files import FOLDER_VARIABLE, DataSet

if TYPE_CHECKING:
    from datasets import Dataset


def file_name(data: DataSet, split: str) -> str:
    """The split's file in the hub's repository."""
    return f"{data.hub_folder}/{split}-00000-of-00001.parquet"


def tables(data: DataSet, splits: Sequence[str], revision: str | None = None) -> dict[str, Dataset]:
    """Splits whole from the hub, or its cache, at a revision, with the features of the files.

    Raises MissingData where a file cannot be had or read.
    """
    import datasets
    import pyarrow
    import pyarrow.parquet

    found = {}
    for split, path in fetch(data, splits, revision).items():
        try:
            table = pyarrow.parquet.read_table(path)
        except (OSError, pyarrow.ArrowException) as error:
            raise MissingData(
                f"{file_name(data, split)} of {data.hub_id} cannot be read ({error}). Delete "
                f"{path.resolve()} and give the command again."
            ) from error
        found[split] = datasets.Dataset(table, split=datasets.NamedSplit(split))
    return found


def rows(
    data: DataSet, split: str, columns: Sequence[str], revision: str | None
) -> Iterator[tuple[Any, str]]:
    """(row, its place for errors) of a split; see `tables`."""
    table = tables(data, (split,), revision)[split]
    kept = table.select_columns([name for name in columns if name in table.column_names])
    for number, row in enumerate(kept.data.to_pylist(), start=1):
        yield row, f"{data.hub_id} {file_name(data, split)}, row {number}"


def fetch(
    data: DataSet,
    splits: Sequence[str],
    revision: str | None = None,
    heard: Heard = hub.unheard,
) -> dict[str, Path]:
    """Downloads the splits that are not in the hub's cache; split -> file. `heard`: see `hub`.

    Raises MissingData, which says where the data may be put, for a file that cannot be had.
    """
    found = {}
    for split in splits:
        name = file_name(data, split)
        try:
            path = hub.fetch(_repo(data), name, _pin(data, revision), heard)
        except Exception as error:  # network, HTTP, cache and disk errors share no base class
            raise _missing(data, split, revision, told(error)) from error
        if path is None:
            raise _missing(data, split, revision, "the repository has no such file")
        found[split] = path
    return found


def look(data: DataSet, split: str) -> hub.Remote | None:
    """What the hub says of a split's file: commit, checksum, size. Raises what `hub.look` does."""
    return hub.look(_repo(data), file_name(data, split), _pin(data, None))


def cached(data: DataSet, split: str, revision: str | None = None) -> Path | None:
    """The split's file in the hub's cache, if it is there."""
    return hub.cached(_repo(data), file_name(data, split), _pin(data, revision))


def commit(data: DataSet, split: str, revision: str | None) -> str | None:
    """The commit that a split's file was downloaded at; None where it is not in the hub's cache."""
    path = cached(data, split, revision)
    return None if path is None else hub.commit_of(path)


def _repo(data: DataSet) -> Repo:
    return Repo(data.hub_id, "dataset")


def _pin(data: DataSet, revision: str | None) -> str | None:
    known = locked().data.get(data.folder)
    return revision or (None if known is None else known.revision)


def _missing(data: DataSet, split: str, revision: str | None, why: str) -> MissingData:
    at = f" at revision {revision}" if revision else ""
    return MissingData(
        f"{data.title}'s {split} set is missing. Looked for {split}.jsonl.gz or {split}.jsonl "
        f"in the folder {data.folder} under ${FOLDER_VARIABLE} "
        f"({os.environ.get(FOLDER_VARIABLE) or 'not set'}), then for {file_name(data, split)} of "
        f"the hub's data set {data.hub_id}{at}, which failed: {why.rstrip('.')}. Either set "
        f"{FOLDER_VARIABLE} to a folder that holds {data.folder}/{split}.jsonl.gz, or give the "
        "command once where the hub can be reached (HF_ENDPOINT names a mirror, HF_HOME the "
        "cache)."
    )
