"""What models and data sets hold, by digest: as a run has read them, and as the lock file has them.

The lock file is committed: for each hub id its resolved revision and the SHA-256 of its files, for
each data set the SHA-256 of its rows. `python -m repro prepare --lock` writes it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from repro.errors import ReproError
from repro.spec.identity import canonical_json

LOCK = Path(__file__).parent / "lock.json"
ALL = "all"
"""The split of a set that comes without splits."""
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class Content(BaseModel):
    """One model or data set: digests of the files of a model, or of the rows of each split."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    revision: str | None = Field(None, description="commit of the hub that it was read at")
    digests: dict[str, Digest] = Field(description="file or split -> SHA-256")
    source: str = Field("", description="of a locked one that is not from the hub: where from")


class Contents(BaseModel):
    """Several models by hub id, several data sets by their folder below $REPRO_DATA."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    models: dict[str, Content] = {}
    data: dict[str, Content] = {}


@cache
def locked() -> Contents:
    """The lock file. Raises ReproError for a damaged one."""
    try:
        return Contents.model_validate_json(LOCK.read_bytes(), strict=True)
    except (OSError, ValidationError) as problem:
        raise ReproError(
            f"The lock file {LOCK} cannot be read ({str(problem).splitlines()[0]}). Restore it: "
            f"git checkout {LOCK.name}."
        ) from problem


def lock_text(contents: Contents) -> str:
    """The lock file's text: sorted, one digest a line."""
    document = contents.model_dump(mode="json", exclude_defaults=True)
    return json.dumps(document, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def rows_digest(rows: Iterable[Any]) -> str:
    """SHA-256 over rows (dataclasses) in order, whatever file format they were read from."""
    digest = hashlib.sha256()
    for row in rows:
        values = [getattr(row, field.name) for field in fields(row)]
        digest.update(canonical_json(values).encode())
        digest.update(b"\n")
    return digest.hexdigest()


def unknown(read: Content | None, known: Content | None, *, whole: bool) -> str:
    """Why what was read is not known to be the published content; "" where it is known.

    It is known only if all its digests are the locked ones: a commit alone is not enough, because a
    run has it from a cache folder's name. `whole`: nothing locked may be absent, but for files that
    were not downloaded of the same commit.
    """
    if read is None or not read.digests:
        return "no digest was stored"
    if known is None:
        return "not in the lock file"
    same_commit = read.revision is not None and read.revision == known.revision
    absent_counts = whole and not same_commit
    names = read.digests.keys() | (known.digests.keys() if absent_counts else set())
    for name in sorted(names):
        if read.digests.get(name) != known.digests.get(name):
            return f"{name} is not the locked one"
    return ""
