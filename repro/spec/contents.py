"""What models and data sets hold, by digest: as a run has read them, and as the lock file has them.

The lock file is committed: for each hub id its resolved revision and the SHA-256 of its files, for
each data set the SHA-256 of its rows. `python -m repro prepare --lock` writes it. A folder that
`prepare --to` made has a file of the same form: where its content was downloaded from.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from repro.errors import ReproError
from repro.spec.identity import canonical_json

LOCK = Path(__file__).parent / "lock.json"
RECORD = "lock.json"
"""The same of a prepared folder, in it."""
SUMS = "SHA256SUMS"
"""The checksums of the files in a prepared folder, as `sha256sum -c` reads them."""
Kind = Literal["models", "data"]
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
    return _read(LOCK, f"Restore it: git checkout {LOCK.name}.")


def record_of(folder: Path) -> Contents:
    """What the hub had of the data sets or models that `prepare` put into a folder.

    Nothing for any other folder. Raises ReproError for a damaged record.
    """
    path = folder / RECORD
    if not path.exists():
        return Contents()
    return _read(path, "Delete it, and give the command again that made the folder.")


def recorded(folder: Path, kind: Kind, name: str, digests: Mapping[str, str]) -> str | None:
    """The commit that content in a prepared folder was downloaded at.

    None where the folder's record has no such model or data set, or other digests.
    """
    known: Content | None = getattr(record_of(folder), kind).get(name)
    return known.revision if known and digests.items() <= known.digests.items() else None


def sums_of(folder: Path) -> dict[str, str]:
    """File below a prepared folder -> the SHA-256 that it was put there with; {} for any other."""
    try:
        lines = (folder / SUMS).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return {}
    pairs = (line.partition("  ") for line in lines)
    return {name: digest for digest, _, name in pairs if name}


def changed(folder: Path, files: Iterable[Path]) -> list[Path]:
    """The files below a prepared folder that are not what was put there; none of any other."""
    sums = {folder / name: digest for name, digest in sums_of(folder).items()}
    return [path for path in files if path in sums and file_digest(path) != sums[path]]


def is_of_hub(folder: Path, name: str, files: Mapping[str, Path]) -> bool:
    """Whether the files (by split) of a data set are those that `prepare` downloaded, unchanged."""
    known, sums = record_of(folder).data.get(name), sums_of(folder)
    if known is None or known.revision is None or not files.keys() <= known.digests.keys():
        return False
    listed = {folder / one for one in sums}
    return listed.issuperset(files.values()) and not changed(folder, files.values())


def _read(path: Path, mend: str) -> Contents:
    try:
        return Contents.model_validate_json(path.read_bytes(), strict=True)
    except (OSError, ValidationError) as problem:
        raise ReproError(
            f"The lock file {path} cannot be read ({str(problem).splitlines()[0]}). {mend}"
        ) from problem


def lock_text(contents: Contents) -> str:
    """The lock file's text: sorted, one digest a line."""
    document = contents.model_dump(mode="json", exclude_defaults=True)
    return json.dumps(document, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def file_digest(path: Path) -> str:
    """SHA-256 of a file's content, which need not fit in memory. Raises OSError."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def rows_digest(rows: Iterable[Sequence[Any]]) -> str:
    """SHA-256 over the values of rows in order, whatever file format they were read from."""
    digest = hashlib.sha256()
    for values in rows:
        digest.update(canonical_json(values).encode())
        digest.update(b"\n")
    return digest.hexdigest()


def unknown(read: Content | None, known: Content | None, *, whole: bool) -> str:
    """Why what was read is not known to be the published content; "" where it is known.

    It is known if all its digests are the locked ones; where the lock has none, if it came from the
    hub at a commit, which names its content. `whole`: nothing locked may be absent, but for files
    that were not downloaded of the same commit.
    """
    if read is None or not read.digests:
        return "no digest was stored"
    if known is None:
        return "" if read.revision is not None else "not in the lock file"
    same_commit = read.revision is not None and read.revision == known.revision
    absent_counts = whole and not same_commit
    names = read.digests.keys() | (known.digests.keys() if absent_counts else set())
    for name in sorted(names):
        if read.digests.get(name) != known.digests.get(name):
            return f"{name} is not the locked one"
    return ""
