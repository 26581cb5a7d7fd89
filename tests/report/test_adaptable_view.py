"""Tables of Adaptable Adapters as they are laid out: layers, gains, notes, readings."""

from __future__ import annotations

import statistics
from typing import Any

import fake_glue
import pytest

from repro.papers.adaptable_adapters.runs import AA, BASELINE, DROP_13, SPEC, UNI
from repro.papers.adaptable_adapters.setting import LOW
from repro.papers.registry import TABLES
from repro.report.cells import Cell
from repro.report.notes import notes
from repro.report.view import TableView, view_table
from repro.spec import RunSpec, run_key
from repro.store import Store

BLOCK = LOW[100]


def shown(store: Store, **asked: Any) -> TableView:
    request = fake_glue.request("AA-2", sections=(BLOCK,), **asked)
    return view_table(TABLES["AA-2"], request, store)


def cell(view: TableView, model: str, column: str) -> Cell:
    row = next(row for row in view.rows if row.row.name == f"{BLOCK} / {model}")
    return next(cell for cell in row.cells if cell.column.name == column)


def by_key(spec: RunSpec, *_: object) -> float:
    return 40 + int(run_key(spec)[:4], 16) % 1000 / 100


def test_rows_of_layers_count_what_runs_use(store: Store) -> None:
    request = fake_glue.request("AA-2", sections=(BLOCK,), seeds=2, tasks=("cola",))
    fake_glue.store_table(store, request, by_key)
    view = shown(store, seeds=2, tasks=("cola",))
    aa = cell(view, f"{AA}, layers", "CoLA")
    specs = view.table.cell_runs(view.rows[3].row, aa.column, request)
    counts = [float(len(fake_glue.layers_of(spec) or [])) for spec in specs]
    assert aa.reproduced is not None
    assert list(aa.reproduced.values) == counts
    assert aa.published is not None
    assert aa.published.metric == "number of adapter layers"
    baseline = cell(view, f"{BASELINE}, layers", "CoLA").reproduced
    assert baseline is not None
    assert baseline.values == (6.0, 6.0)


def test_the_gain_is_the_difference_of_two_rows_seed_by_seed(store: Store) -> None:
    request = fake_glue.request("AA-2", sections=(BLOCK,), seeds=2)
    fake_glue.store_table(store, request, by_key)
    view = shown(store, seeds=2)
    one, other = (cell(view, model, "Avg").reproduced for model in (UNI, BASELINE))
    gain = cell(view, f"{UNI} minus {BASELINE}", "Avg")
    assert one is not None
    assert other is not None
    assert gain.reproduced is not None
    assert gain.published is not None
    assert gain.reproduced.mean == pytest.approx(one.mean - other.mean)
    assert gain.published.metric == "difference of the two averages"
    values = [cell(view, UNI, column.name).reproduced for column in view.table.scores]
    assert one.mean == pytest.approx(statistics.fmean(v.mean for v in values if v is not None))


def test_a_run_that_only_scores_another_is_read_at_that_ones_epoch(store: Store) -> None:
    request = fake_glue.request("AA-2", sections=(BLOCK,), tasks=("rte",))
    fake_glue.store_table(store, request, by_key)
    assert cell(shown(store, tasks=("rte",)), DROP_13, "RTE").complete


def test_trained_parameters_of_a_selected_architecture_come_from_its_run(store: Store) -> None:
    view = shown(store, tasks=("cola",))
    rows = {row.row.name: row.parameters for row in view.rows}
    assert rows[f"{BLOCK} / {SPEC}"] is None
    assert rows[f"{BLOCK} / {DROP_13}"] is None
    assert rows[f"{BLOCK} / {BASELINE}"] is not None


def test_rows_drawn_from_validation_are_marked(store: Store) -> None:
    said = notes(shown(store, pools={"qnli": "validation"}))
    assert sum(note.startswith("QNLI: no training rows are here.") for note in said) == 1
    assert not any("no training rows" in note for note in notes(shown(store)))


def test_the_caption_says_how_many_rows_are_drawn_and_which_reading_is_shown(store: Store) -> None:
    from repro.report.captions import caption

    request = fake_glue.request("AA-2", "paper", seeds=5)
    text = caption(view_table(TABLES["AA-2"], request, store))
    assert "all, 100, 300 or 500 of each task's published training rows, of which 25%" in text
    assert "MRPC by the mean of both its metrics" in text


def test_the_mean_of_the_other_runs_is_said_once_a_row(store: Store) -> None:
    request = fake_glue.request("AA-2", sections=(BLOCK,), seeds=2, tasks=("cola", "rte"))
    for spec in TABLES["AA-2"].runs(request):
        fake_glue.store_run(store, spec, by_key, collapsed=spec.seed == 92)
    found = notes(shown(store, seeds=2, tasks=("cola", "rte")))
    said = [note for note in found if "the mean of the other" in note]
    assert len(said) == len({note.partition(", ")[0] for note in said}) == 7
    assert said[0].count("1 of 2 runs collapsed") == 2
