"""Tasks of text to text, their rows and files, and the real ones, for the tests."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from repro.spec import TextToText
from repro.spec.text_to_text import TEXT_TO_TEXT
from repro.tasks.sentences.rows import Row

ROOT = Path(__file__).parents[1]
SMALL = "seed=0,train=60,validation=20"


def made(*tasks: str, revision: str = SMALL, **changes: Any) -> TextToText:
    """A task on generated rows."""
    revisions = dict.fromkeys(tasks, revision)
    fields = {"tasks": tasks, "source": "generated", "revisions": revisions}
    return TextToText.model_validate(fields | changes)


def real(name: str, revision: str | None = None, **changes: Any) -> TextToText:
    """A task on real rows."""
    fields = {"tasks": (name,), "source": "published", "revisions": {name: revision}}
    return TextToText.model_validate(fields | changes)


def numbered(count: int, label: int = 0) -> list[Row]:
    """Rows 0, 1, ... with a text each."""
    return [Row(idx, (f"text {idx}",), label) for idx in range(count)]


def hub_row(name: str, number: int, **changes: Any) -> dict[str, Any]:
    """A row of a few-shot set with the fields of the hub; labels go round by number."""
    facts = TEXT_TO_TEXT[name].facts  # type: ignore[index]
    texts = {field: f"Text {number} of the {field}." for field in facts.texts}
    label: Any = number % len(facts.labels)
    return {**texts, "label": facts.labels[label] if name == "scitail" else label} | changes


def write_set(root: Path, name: str, split: str, rows: Sequence[dict[str, Any]]) -> Path:
    """Writes a split of a few-shot set below the data folder `root`."""
    folder = root / TEXT_TO_TEXT[name].facts.folder  # type: ignore[index]
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{split}.jsonl.gz"
    path.write_bytes(gzip.compress("".join(json.dumps(row) + "\n" for row in rows).encode()))
    return path


def real_folder(folder: str) -> Path:
    """The folder of real data sets; skips where it has not that one."""
    found = Path(os.environ.get("REPRO_DATA") or ROOT.parent / "shared" / "data")
    if not (found / folder).is_dir():
        pytest.skip(f"needs {folder} under REPRO_DATA (default ../shared/data)")
    return found
