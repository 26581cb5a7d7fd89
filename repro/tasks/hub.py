"""The published rows of a data set from the hub: parquet files, no code of the hub.

A split is one parquet file of the repository, fetched by its name. That needs the one file, not the
hub's listings: it works with any mirror, continues a broken download, and a file that is here is
read without network. (`datasets.load_dataset` of an id asks for the listing, and writes a second
copy as Arrow.) Which commit is read: the one that is asked for, else that of
the lock file, else the one that the first download pinned (`repro.hub`).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from repro import hub
from repro.errors import MissingData, told
from repro.hub import Heard, Repo
from repro.spec.contents import locked
from repro.spec.facts import Facts

FOLDER_VARIABLE = "REPRO_DATA"


def or_hub(facts: Facts) -> str:
    """The other mend of an error about local files: ", or unset ... from the hub", if any."""
    unset = f", or unset {FOLDER_VARIABLE} to use {facts.hub_id} from the hub"
    return unset if facts.hub_id else ""


def file_name(facts: Facts, split: str) -> str:
    """The split's file in the hub's repository."""
    return f"{facts.hub_folder}/{split}-00000-of-00001.parquet"


def place(facts: Facts, split: str) -> str:
    """The same for a reader."""
    return f"{facts.hub_id} {file_name(facts, split)}"


def fetch(
    facts: Facts,
    splits: Sequence[str],
    revision: str | None = None,
    heard: Heard = hub.unheard,
) -> dict[str, Path]:
    """Downloads the splits that are not in the hub's cache; split -> file. `heard`: see `hub`.

    Raises MissingData, which says where the data may be put, for a file that cannot be had.
    """
    found = {}
    for split in splits:
        name = file_name(facts, split)
        try:
            path = hub.fetch(_repo(facts), name, _pin(facts, revision), heard)
        except Exception as error:  # network, HTTP, cache and disk errors share no base class
            raise _missing(facts, split, revision, told(error)) from error
        if path is None:
            raise _missing(facts, split, revision, "the repository has no such file")
        found[split] = path
    return found


def look(facts: Facts, split: str) -> hub.Remote | None:
    """What the hub says of a split's file: commit, checksum, size. Raises what `hub.look` does."""
    return hub.look(_repo(facts), file_name(facts, split), _pin(facts, None))


def cached(facts: Facts, split: str, revision: str | None = None) -> Path | None:
    """The split's file in the hub's cache, if it is there."""
    return hub.cached(_repo(facts), file_name(facts, split), _pin(facts, revision))


def commit(facts: Facts, split: str, revision: str | None) -> str | None:
    """The commit that a split's file was downloaded at; None where it is not in the hub's cache."""
    path = cached(facts, split, revision)
    return None if path is None else hub.commit_of(path)


def _repo(facts: Facts) -> Repo:
    return Repo(facts.hub_id, "dataset")


def _pin(facts: Facts, revision: str | None) -> str | None:
    known = locked().data.get(facts.folder)
    return revision or (None if known is None else known.revision)


def _missing(facts: Facts, split: str, revision: str | None, why: str) -> MissingData:
    at = f" at revision {revision}" if revision else ""
    return MissingData(
        f"{facts.title}'s {split} set is missing. Looked for {split}.jsonl.gz or another "
        f"format in the folder {facts.folder} under ${FOLDER_VARIABLE} "
        f"({os.environ.get(FOLDER_VARIABLE) or 'not set'}), then for {file_name(facts, split)} of "
        f"the hub's data set {facts.hub_id}{at}, which failed: {why.rstrip('.')}. Either set "
        f"{FOLDER_VARIABLE} to a folder that holds {facts.folder}/{split}.jsonl.gz, or give the "
        "command once where the hub can be reached (HF_ENDPOINT names a mirror, HF_HOME the "
        "cache)."
    )
