"""Tables of Adaptable Adapters as they are laid out: layers, gains, notes, readings."""

from __future__ import annotations

import statistics
from typing import Any

import fake_glue
import pytest

from repro.papers.adaptable_adapters.setting import AA, BASELINE, DROP_13, DROP_AA, LOW, SPEC, UNI
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
    specs = view.matrix.of(view.rows[3].row.name, aa.column.name)
    counts = [float(len(fake_glue.layers_of(spec) or [])) for spec in specs]
    assert aa.reproduced is not None
    assert list(aa.reproduced.values) == counts
    assert aa.published is not None
    assert aa.published.metric == "number of adapter layers"
    baseline = cell(view, f"{BASELINE}, layers", "CoLA").reproduced
    assert baseline is not None
    assert baseline.values == (6.0,)


def test_a_number_of_layers_is_one_value_of_the_run_that_selected_them(store: Store) -> None:
    """Three seeds use the layers of one AA run; AA itself selects once a seed."""
    request = fake_glue.request("AA-2", sections=(BLOCK,), seeds=3, tasks=("cola", "rte"))
    fake_glue.store_table(store, request, by_key)
    view = shown(store, seeds=3, tasks=("cola", "rte"))
    rows = {row.row.name: row.row for row in view.rows}
    for column in ("CoLA", "RTE"):
        aa = cell(view, f"{AA}, layers", column)
        assert aa.reproduced is not None
        assert len(aa.runs) == aa.reproduced.n == 3
        for model in (SPEC, DROP_AA):
            found = cell(view, f"{model}, layers", column)
            specs = view.matrix.of(rows[f"{BLOCK} / {model}, layers"].name, found.column.name)
            assert found.reproduced is not None
            assert found.reproduced.n == 1
            assert found.reproduced.sd is None
            assert found.runs == (specs[0].parents["architecture"],)
            assert found.runs[0] == aa.runs[0]
            assert found.behind == tuple(run_key(spec) for spec in specs)
            assert found.complete
    (chosen,) = {cell(view, f"{UNI}, layers", column).runs for column in ("CoLA", "RTE")}
    assert len(chosen) == 1


def test_the_mean_number_of_selected_layers_is_one_value(store: Store) -> None:
    request = fake_glue.request("AA-2", sections=(BLOCK,), seeds=2)
    fake_glue.store_table(store, request, by_key)
    view = shown(store, seeds=2)
    for model, n in ((AA, 2), (SPEC, 1), (UNI, 1), (DROP_13, 1)):
        found = cell(view, f"{model}, layers", "Avg").reproduced
        assert found is not None
        assert found.n == n, model


def test_layers_that_the_settings_name_are_compared_exactly(store: Store) -> None:
    """24 of 24 layers and the last 13 are no measurement: five runs do not confirm them."""
    asked: dict[str, Any] = {"scale": "paper", "seeds": 5, "tasks": ("cola",)}
    request = fake_glue.request("AA-2", sections=(BLOCK,), **asked)
    fake_glue.store_table(store, request, by_key)
    view = shown(store, **asked)
    for model, number in ((BASELINE, 24.0), (DROP_13, 13.0)):
        found = cell(view, f"{model}, layers", "CoLA")
        assert found.reproduced is not None
        assert found.reproduced.values == (number,)
        assert found.verdict in ("MATCH", "NOT COMPARABLE")  # rows made by hand are no paper's
    assert cell(view, f"{SPEC}, layers", "CoLA").verdict in ("SINGLE", "NOT COMPARABLE")


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
    for spec in TABLES["AA-2"].matrix(request).runs.values():
        fake_glue.store_run(store, spec, by_key, collapsed=spec.seed == 92)
    found = notes(shown(store, seeds=2, tasks=("cola", "rte")))
    said = [note for note in found if "the mean of the other" in note]
    assert len(said) == len({note.partition(", ")[0] for note in said}) == 7
    assert said[0].count("1 of 2 runs collapsed") == 2
