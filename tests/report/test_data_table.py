"""AA-1: rows counted in the data itself, kept in the store, and what is said where none is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from glue_samples import rows, write_split

from repro.cli.requests import make_request
from repro.errors import MissingData
from repro.papers.adaptable_adapters.tables import ONE, SHOWN, TASKS
from repro.papers.request import Request
from repro.report.captions import caption
from repro.report.counted import count_files, count_missing, read_count, to_count
from repro.report.notes import notes
from repro.report.view import TableView, view_table
from repro.spec import GlueTask
from repro.store import Store

COUNTS = ("Training rows", "Development rows", "Test rows")


def asked(scale: Any = "smoke", **options: Any) -> Request:
    return make_request(ONE, scale, **options)


def cells(view: TableView, task: str) -> dict[str, Any]:
    """Column -> what is reproduced: a number, words, or the reason of a gap."""
    (row,) = [row for row in view.rows if row.row.name == task]
    return {
        cell.column.name: cell.reproduced.mean if cell.reproduced else cell.text or cell.reason
        for cell in row.cells
    }


def counts(view: TableView, task: str) -> list[Any]:
    found = cells(view, task)
    return [found[name] for name in COUNTS]


def test_generated_rows_are_counted_and_nothing_is_trained(store: Store) -> None:
    """100 rows, of which a quarter is set aside, and 40 to score, as the setting says."""
    request = asked()
    assert [*ONE.matrix(request).runs.values()] == []
    assert count_missing(ONE, request, store) == []
    view = view_table(ONE, request, store)
    assert view.complete
    for task in TASKS:
        assert counts(view, task) == [75, 25, 40]
    assert not any("official" in note for note in notes(view))
    assert "Scale: smoke. Of the data found here; nothing is trained." in caption(view)


def test_metrics_stand_beside_those_of_the_released_code(store: Store) -> None:
    view = view_table(ONE, asked(), store)
    assert cells(view, "MRPC")["Metric shown"] == "mean of F1 and accuracy"
    assert cells(view, "MRPC")["Selects the epoch"] == "F1"
    assert cells(view, "CoLA")["Metric shown"] == "Matthews correlation"
    assert {task for task, metric in SHOWN.items() if metric == "combined"} == {
        "qqp", "stsb", "mrpc",
    }  # fmt: skip
    printed = {row.row.name: row.cells[-1].published for row in view.rows}
    said = {name: cell.text if cell else None for name, cell in printed.items()}
    assert said["MNLI"] == "accuracy (matched)"
    assert said["STS-B"] == "Spearman per task list; code also computes Pearson and their mean"
    for name, words in said.items():  # what selects is what the code's task list names
        first = str(words).partition(" ")[0]
        assert cells(view, name)["Selects the epoch"].startswith(first)


def test_without_counting_there_are_gaps_and_no_data_is_read(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("repro.tasks.sentences.rows.task_rows", lambda task: pytest.fail("read"))
    view = view_table(ONE, asked(), store)
    assert counts(view, "RTE") == ["not counted"] * 3
    assert not view.complete


def test_counts_are_kept_and_packed(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = asked()
    count_missing(ONE, request, store)
    monkeypatch.setattr("repro.tasks.sentences.rows.task_rows", lambda task: pytest.fail("read"))
    assert count_missing(ONE, request, store) == []
    store.pack([], tmp_path / "copy" / "one.jsonl.xz", count_files(ONE, request, store))
    copied = view_table(ONE, request, Store(tmp_path / "copy"))
    assert counts(copied, "QQP") == [75, 25, 40]


@pytest.fixture
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """CoLA whole, of QNLI validation rows alone, of RTE training rows alone."""
    data = tmp_path / "data"
    data.mkdir()
    monkeypatch.setenv("REPRO_DATA", str(data))
    write_split(data, "cola", "train", rows("cola", 10))
    write_split(data, "cola", "validation", rows("cola", 3))
    write_split(data, "qnli", "validation", rows("qnli", 9))
    write_split(data, "rte", "train", rows("rte", 6))


@pytest.mark.usefixtures("_folder")
def test_rows_of_a_folder_are_counted_and_what_lacks_is_a_gap(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """10 rows: 7 and 3. Of 9 validation rows 4 are divided, 3 and 1, and 5 scored."""
    request = asked("reduced")
    tasks = [spec.task.name for _, spec in to_count(ONE, request)]
    assert "rte" not in tasks
    from repro.tasks.sentences import rows as sentences

    whole = sentences.task_rows

    def here(task: Any) -> Any:
        if task.name in ("cola", "qnli"):
            return whole(task)
        raise MissingData(f"{task.name} is not here.")

    monkeypatch.setattr(sentences, "task_rows", here)
    problems = count_missing(ONE, request, store)
    assert sorted(problems) == sorted(f"{n} is not here." for n in set(tasks) - {"cola", "qnli"})
    view = view_table(ONE, request, store)
    assert counts(view, "CoLA") == [7, 3, 3]
    assert counts(view, "QNLI") == [3, 1, 5]
    assert cells(view, "QNLI")["Divided"] == "half of the validation rows"
    assert counts(view, "RTE") == ["glue_rte/validation is not in $REPRO_DATA"] * 3
    # GLUE has 8,551 training and 1,043 validation rows of CoLA, 5,463 validation rows of QNLI.
    assert "Only a part of the official rows is here: QNLI (9 of 5,463), CoLA (13 of 9,594)." in (
        notes(view)
    )
    assert counts(view, "MRPC") == ["not counted"] * 3
    assert not view.complete


@pytest.mark.usefixtures("_folder")
def test_other_rows_are_counted_anew(store: Store, tmp_path: Path) -> None:
    request = asked("reduced")
    (_, spec), *_ = [pair for pair in to_count(ONE, request) if pair[1].task.name == "cola"]
    folder = view_only(store, request, "cola")
    assert read_count(folder, "rows", spec) == {"train": 7, "development": 3, "validation": 3}
    write_split(tmp_path / "data", "cola", "train", rows("cola", 20))
    (_, other), *_ = [p for p in to_count(ONE, asked("reduced")) if p[1].task.name == "cola"]
    assert read_count(store, "rows", other) is None


@pytest.mark.usefixtures("_folder")
@pytest.mark.parametrize("part", ["task/glue", "task/generated-glue"])
def test_rows_are_counted_anew_where_the_code_that_reads_or_makes_them_changed(
    store: Store, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    """Counts of the earlier code stood for those of today's."""
    request = asked("reduced")
    (_, spec), *_ = [pair for pair in to_count(ONE, request) if pair[1].task.name == "cola"]
    folder = view_only(store, request, "cola")
    monkeypatch.setitem(GlueTask.code, part, GlueTask.code[part] + 1)
    assert read_count(folder, "rows", spec) is None


def view_only(store: Store, request: Request, task: str) -> Store:
    """The store, after the rows of one task were counted."""
    others: dict[str, str] = {name: "left out" for name in TASKS.values() if name != task}
    only = replace(request, unavailable=others)
    assert count_missing(ONE, only, store) == []
    return store
