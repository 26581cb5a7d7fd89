"""Rows and files of GLUE tasks, and the real ones, for the tests."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from repro.spec import GlueTask
from repro.spec.glue import GLUE
from repro.spec.tasks import GlueName

ROOT = Path(__file__).parents[1]


def row(name: GlueName, idx: int, **changes: Any) -> dict[str, Any]:
    """A row as published; labels go round by idx."""
    glue = GLUE[name]
    texts = {field: f"Text {idx} of the {field}." for field in glue.texts}
    label = idx % len(glue.labels) if glue.labels else idx % 6 * 1.0
    return {**texts, "label": label, "idx": idx} | changes


def rows(name: GlueName, count: int) -> list[dict[str, Any]]:
    """So many rows with idx 0, 1, ..."""
    return [row(name, idx) for idx in range(count)]


def write_lines(root: Path, name: str, split: str, lines: Sequence[bytes], gz: bool = True) -> Path:
    """Writes a split under the data folder `root`, as the local source expects it."""
    folder = root / f"glue_{name}"
    folder.mkdir(parents=True, exist_ok=True)
    content = b"".join(line + b"\n" for line in lines)
    path = folder / f"{split}.jsonl{'.gz' if gz else ''}"
    path.write_bytes(gzip.compress(content) if gz else content)
    return path


def write_split(
    root: Path, name: str, split: str, found: Sequence[dict[str, Any]], gz: bool = True
) -> Path:
    """The same for rows."""
    return write_lines(root, name, split, [json.dumps(row).encode() for row in found], gz)


def task(name: GlueName, **changes: Any) -> GlueTask:
    """A task on real rows, without caps."""
    return GlueTask(**({"name": name, "source": "glue", "revision": None} | changes))


def glue_folder(name: str) -> Path:
    """The folder of real data sets; skips where it has not the task."""
    folder = Path(os.environ.get("REPRO_DATA") or ROOT.parent / "shared" / "data")
    if not (folder / f"glue_{name}").is_dir():
        pytest.skip(f"needs glue_{name} under REPRO_DATA (default ../shared/data)")
    return folder
