"""Every run key, every cell of the committed results and every generated row is what it was."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from typing import Any

import golden_files
import pytest


@pytest.fixture(autouse=True)
def without_data(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys depend on no data that is found here."""
    for name in ("REPRO_DATA", "REPRO_MODELS", "REPRO_STORE"):
        monkeypatch.delenv(name, raising=False)
    assert "REPRO_DATA" not in os.environ


def same(found: Iterable[dict[str, Any]], golden: list[dict[str, Any]]) -> None:
    """Line by line, so that the first one that differs is shown."""
    known = [json.loads(json.dumps(line)) for line in found]
    for one, other in zip(known, golden, strict=False):
        assert one == other
    assert len(known) == len(golden)


def test_every_artefact_has_the_run_keys_that_it_had() -> None:
    golden = golden_files.read(golden_files.KEYS)
    assert sum(line.get("runs", 0) for line in golden) > 20_000
    same(golden_files.keys(), golden)


def test_every_committed_cell_is_what_it_was() -> None:
    golden = golden_files.read(golden_files.CELLS)
    assert len(golden) > 1_000
    same(golden_files.cells(), golden)


def test_every_generated_row_is_what_it_was() -> None:
    golden = golden_files.read(golden_files.ROWS)
    assert sum(sum(line.get("rows", {}).values()) for line in golden) > 100_000
    same(golden_files.rows(), golden)
