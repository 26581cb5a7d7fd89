"""Rows and files of the further text tasks, and the real ones, for the tests."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from repro.spec import TextTask
from repro.spec.tasks import TextName
from repro.spec.texts import TEXTS

ROOT = Path(__file__).parents[1]


def text_row(name: TextName, number: int, **changes: Any) -> dict[str, Any]:
    """A row as the local format has it; labels go round by number."""
    facts = TEXTS[name]
    said = {field: f"Text {number} of the {field}." for field in facts.texts}
    label = number % len(facts.labels) if facts.labels else 1 + number % 5 * 1.0
    return {**said, facts.label: label} | changes


def text_rows(name: TextName, count: int) -> list[dict[str, Any]]:
    """So many rows, numbered from 0."""
    return [text_row(name, number) for number in range(count)]


def write_text_lines(root: Path, name: TextName, split: str, lines: Sequence[bytes]) -> Path:
    """Writes a file of a set under the data folder `root`."""
    folder = root / TEXTS[name].folder
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{split}.jsonl.gz"
    path.write_bytes(gzip.compress(b"".join(line + b"\n" for line in lines)))
    return path


def write_texts(root: Path, name: TextName, split: str, rows: Sequence[dict[str, Any]]) -> Path:
    """The same for rows."""
    return write_text_lines(root, name, split, [json.dumps(row).encode() for row in rows])


def text_task(name: TextName, **changes: Any) -> TextTask:
    """A task on local rows, without caps."""
    return TextTask(**({"name": name, "source": "local", "revision": None} | changes))


def text_folder(name: TextName) -> Path:
    """The folder of real data sets; skips where it has not the task's."""
    folder = Path(os.environ.get("REPRO_DATA") or ROOT.parent / "shared" / "data")
    if not (folder / TEXTS[name].folder).is_dir():
        pytest.skip(f"needs {TEXTS[name].folder} under REPRO_DATA (default ../shared/data)")
    return folder
