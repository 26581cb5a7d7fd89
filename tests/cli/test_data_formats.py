"""Local rows of any format are planned without `datasets`, and give a run the same key."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from format_samples import WRITERS
from glue_samples import rows


@pytest.fixture(scope="module")
def keys(run: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """Format -> the keys that a plan gives, where nothing may import torch or datasets."""
    found = {}
    for form in ("jsonl", "parquet", "saved"):
        root = tmp_path_factory.mktemp("data")
        (root / "glue_rte").mkdir()
        for split in ("train", "validation"):
            WRITERS[form](root / "glue_rte", split, rows("rte", 12))
        words = ("plan", "3-shared-2", "--scale", "reduced", "--tasks", "rte", "--json")
        answer = run(*words, at=root, torch=False, REPRO_DATA=str(root))
        assert answer.code == 0, answer.err
        found[form] = [one["key"] for one in json.loads(answer.out)["runs"]]
    return found


def test_a_plan_gives_the_same_keys_for_every_format(keys: dict[str, list[str]]) -> None:
    assert keys["jsonl"]
    assert all(found == keys["jsonl"] for found in keys.values())


@pytest.mark.parametrize(
    "words",
    [("list",), ("status",), ("table", "3-shared-2", "--scale", "reduced", "--no-run")],
)
def test_what_trains_nothing_imports_no_datasets(
    run: Callable[..., Any], tmp_path: Path, words: tuple[str, ...]
) -> None:
    (tmp_path / "glue_rte").mkdir()
    for split in ("train", "validation"):
        WRITERS["saved"](tmp_path / "glue_rte", split, rows("rte", 12))
    answer = run(*words, at=tmp_path, torch=False, REPRO_DATA=str(tmp_path))
    assert answer.code in (0, 3), answer.err
    assert "Traceback" not in answer.err
