"""Tables of few rows: where no training rows are here, validation rows are divided."""

from __future__ import annotations

from pathlib import Path

import pytest
from glue_samples import rows, write_split

from repro.cli.requests import make_request
from repro.papers.registry import TABLES
from repro.papers.request import Request
from repro.spec import GlueTask
from repro.tasks.catalogue import data_revision


@pytest.fixture(autouse=True)
def _data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with QNLI's validation rows alone, CoLA and QQP."""
    monkeypatch.setenv("REPRO_DATA", str(tmp_path))
    write_split(tmp_path, "qnli", "validation", rows("qnli", 4))
    for name in ("cola", "qqp"):
        for split in ("train", "validation"):
            write_split(tmp_path, name, split, rows(name, 4))


def asked(table: str, tasks: str) -> Request:
    return make_request(TABLES[table], "reduced", tasks=tasks)


def test_a_table_of_low_data_divides_validation_rows() -> None:
    request = asked("AA-4", "qnli,cola")
    assert request.pools == {"qnli": "validation"}
    assert request.unavailable == {}
    assert request.data_revisions["qnli"] == data_revision("reduced", "qnli", "validation")
    drawn = {run.task.name: run.task for run in TABLES["AA-4"].matrix(request).runs.values()}
    assert {name: getattr(task, "drawn_from", "") for name, task in drawn.items()} == {
        "qnli": "validation",
        "cola": "train",
    }
    tasks = [run.task for run in [*TABLES["AA-4"].matrix(request).runs.values()]]
    assert all(isinstance(task, GlueTask) and task.revision is not None for task in tasks)


def test_in_other_tables_such_a_task_is_a_gap() -> None:
    request = asked("3-shared-2", "qnli,cola")
    assert request.pools == {}
    assert request.unavailable == {"qnli": "glue_qnli/train is not in $REPRO_DATA"}


def test_the_data_of_a_tasks_parents_are_looked_up_too() -> None:
    """AA-focused^uni takes the layers that AA selects on QQP, whatever task is asked for."""
    request = asked("AA-2", "cola")
    assert request.data_revisions["qqp"] == data_revision("reduced", "qqp")
    tasks = [
        run.task
        for run in [*TABLES["AA-2"].matrix(request).runs.values()]
        if run.task.name == "qqp"
    ]
    found = {task.revision for task in tasks if isinstance(task, GlueTask)}
    assert found == {request.data_revisions["qqp"]}
