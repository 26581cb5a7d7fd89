"""Rows written to disk in every format that a person may bring."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

Rows = Sequence[dict[str, Any]]


def lines(rows: Rows) -> bytes:
    """As JSON Lines, as the files of the hub's rows are written."""
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def table(rows: Rows, delimiter: str = ",") -> bytes:
    """As a table of texts; a cell that is no text or number is JSON, none is empty."""
    file = io.StringIO(newline="")
    writer = csv.writer(file, delimiter=delimiter)
    writer.writerow(rows[0])
    for row in rows:
        cells = (json.dumps(c) if isinstance(c, (list, dict)) else c for c in row.values())
        writer.writerow(cells)
    return file.getvalue().encode()


def _file(suffix: str, content: Callable[[Rows], bytes]) -> Callable[[Path, str, Rows], Path]:
    def write(folder: Path, split: str, rows: Rows) -> Path:
        path = folder / f"{split}{suffix}"
        path.write_bytes(content(rows))
        return path

    return write


def write_parquet(folder: Path, split: str, rows: Rows, features: Any = None) -> Path:
    """As `Dataset.to_parquet` writes it."""
    from datasets import Dataset

    path = folder / f"{split}.parquet"
    Dataset.from_list(list(rows), features=features).to_parquet(path)
    return path


def save(folder: Path, split: str, rows: Rows, features: Any = None) -> Path:
    """As a folder of `Dataset.save_to_disk`."""
    from datasets import Dataset

    Dataset.from_list(list(rows), features=features).save_to_disk(folder / split)
    return folder / split


WRITERS: dict[str, Callable[[Path, str, Rows], Path]] = {
    "jsonl.gz": _file(".jsonl.gz", lambda rows: gzip.compress(lines(rows))),
    "jsonl": _file(".jsonl", lines),
    "json": _file(".json", lambda rows: json.dumps(list(rows)).encode()),
    "json lines": _file(".json", lines),
    "csv": _file(".csv", table),
    "tsv": _file(".tsv", lambda rows: table(rows, "\t")),
    "parquet": write_parquet,
    "saved": save,
}
