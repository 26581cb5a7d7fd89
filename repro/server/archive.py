"""A submission as bytes: the files, the zip, and the manifest beside it. Torch-free."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError

from repro.errors import ReproError
from repro.server.layout import BY_NAME, HEADER, ServerFile
from repro.store.entry import StoredRun, digest_of, first_problem
from repro.store.result import Hex, Stored

EARLIEST = (1980, 1, 1, 0, 0, 0)
"""The oldest time that a zip can hold: the same predictions are the same bytes."""


class SubmittedFile(Stored):
    """One file of a submission."""

    file: str = Field(description="its name in the archive")
    rows: int = Field(description="predictions in it", ge=1)
    sha256: str = Field(description="digest of the file", pattern=Hex)
    source: Literal["predicted", "filled"]
    run: str | None = Field(description="key of the run that predicted it", pattern=Hex)
    result: str | None = Field(description="digest of that run's result", pattern=Hex)
    constant: str | None = Field(description="what stands on every row of a filled file")
    reason: str = Field("", description="why it is filled")


class Manifest(Stored):
    """`<archive>.json`: whose predictions a submission holds."""

    format: Literal[1] = 1
    table: str
    row: str
    seed: int | None = Field(description="of a row's runs; None: chosen on validation", ge=0)
    scale: str
    command: str = Field(description="lays out the table that the runs are of")
    archive: str = Field(description="the zip's name")
    sha256: str = Field(description="digest of the zip", pattern=Hex)
    files: list[SubmittedFile]


def tsv(predictions: Sequence[str]) -> bytes:
    """A file of the archive: a header, then idx and prediction; item n is of the row of idx n."""
    lines = [HEADER, *(f"{index}\t{said}" for index, said in enumerate(predictions))]
    return ("\n".join(lines) + "\n").encode()


def zipped(files: Mapping[str, bytes]) -> bytes:
    """The archive: these files and nothing else, the same bytes for the same content."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name, EARLIEST)
            entry.compress_type, entry.create_system = zipfile.ZIP_DEFLATED, 3
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, content)
    return out.getvalue()


def submitted(file: ServerFile, content: bytes, run: StoredRun | None, why: str) -> SubmittedFile:
    """The manifest's entry of a file that `run` predicted, or that was filled, and why."""
    return SubmittedFile(
        file=file.name,
        rows=content.count(b"\n") - 1,
        sha256=digest_of(content),
        source="filled" if run is None else "predicted",
        run=run.key if run is not None else None,
        result=run.digest if run is not None else None,
        constant=file.constant if run is None else None,
        reason=why,
    )


def read_manifest(path: Path) -> Manifest:
    """The manifest at `path`. Raises ReproError where there is none, or it is damaged."""
    mend = "Name the .json file that `export glue` wrote beside the archive."
    try:
        manifest = Manifest.model_validate_json(path.read_bytes(), strict=True)
    except OSError as problem:
        raise ReproError(f"{path} cannot be read ({problem.strerror}). {mend}") from problem
    except ValidationError as problem:
        raise ReproError(f"{path} is no manifest ({first_problem(problem)}). {mend}") from problem
    unknown = [entry.file for entry in manifest.files if entry.file not in BY_NAME]
    if unknown:
        raise ReproError(f"{path} names {unknown[0]}, which no submission has. {mend}")
    return manifest
