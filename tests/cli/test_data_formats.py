"""Local rows of any format are planned without `datasets`, and give a run the same key."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from format_samples import WRITERS
from glue_samples import rows

Call = Callable[..., Any]
PLAN = ("plan", "3-shared-2", "--scale", "reduced", "--tasks", "rte", "--json")


def data(root: Path, form: str) -> Path:
    (root / "glue_rte").mkdir(parents=True)
    for split in ("train", "validation"):
        WRITERS[form](root / "glue_rte", split, rows("rte", 12))
    return root


def test_a_plan_gives_the_same_keys_for_every_format(
    cli: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    for form in ("jsonl", "parquet", "saved"):
        monkeypatch.setenv("REPRO_DATA", str(data(tmp_path / form, form)))
        answer = cli(*PLAN)
        assert answer.code == 0, answer.err
        found.append([one["key"] for one in json.loads(answer.out)["runs"]])
    assert found[0]
    assert found == [found[0]] * 3


def test_what_trains_nothing_imports_no_datasets(without_torch: Call, tmp_path: Path) -> None:
    where = {"REPRO_DATA": str(data(tmp_path, "saved"))}
    table = ("table", "3-shared-2", "--scale", "reduced", "--no-run")
    answers = without_torch(("list",), ("status",), table, PLAN, at=tmp_path, **where)
    assert [answer.code for answer in answers] == [0, 0, 3, 0], answers
    assert not any("Traceback" in answer.err for answer in answers)
