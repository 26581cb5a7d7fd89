"""A row whose runs cannot be made is a gap with its reason; the rest of the table is trained."""

from __future__ import annotations

from typing import Any

import pytest
from fake_glue import request, store_run, store_table
from fake_results import request as squad_request

from repro.errors import MissingData, ReproError
from repro.papers.registry import TABLES
from repro.papers.request import Request
from repro.report.render import as_json, markdown
from repro.report.view import TableView, view_table
from repro.spec import RunSpec
from repro.spec.backbones import bert
from repro.store import Store

THREE = TABLES["3-shared-2"]
SHARED = "Ours (3-shared)"


def of_depth(layers: int, **asked: Any) -> Request:
    return request(
        backbone=bert("made-up", f"Made-up-L{layers}", "1", layers=layers, hidden=64), **asked
    )


def row_of(view: TableView, name: str) -> Any:
    return next(row for row in view.rows if row.row.name == name)


@pytest.mark.parametrize("layers", [2, 4, 8, 10])
def test_a_depth_that_one_row_cannot_have_leaves_the_other_rows(store: Store, layers: int) -> None:
    asked = of_depth(layers, tasks=("cola",))
    specs = store_table(store, asked)
    assert len(specs) == 3
    view = view_table(THREE, asked, store)
    gap = row_of(view, SHARED)
    cola = gap.cells[0]
    assert (cola.verdict, cola.reproduced, cola.wanted) == ("GAP", None, False)
    assert "cannot be cut into spans of 3" in cola.reason
    assert row_of(view, "Ours (not shared)").cells[0].reproduced.mean == pytest.approx(50.05)
    assert f"{SHARED}: gap, Made-up-L{layers} has {layers} layers" in markdown(view)
    document = next(row for row in as_json(view)["rows"] if row["name"] == SHARED)
    assert "spans of 3" in document["cells"][0]["reason"]


@pytest.mark.parametrize("layers", [6, 12])
def test_a_depth_that_every_row_can_have_leaves_no_gap(layers: int) -> None:
    assert THREE.matrix(of_depth(layers)).artefact is THREE


def test_a_table_none_of_whose_models_fits_is_refused() -> None:
    """Always null fits any encoder, and is no model of the paper's."""
    asked = squad_request(backbone=of_depth(4).backbone)
    with pytest.raises(ReproError, match="stages of 3, and this encoder has 4 layers"):
        [*TABLES["ResAdapters-1"].matrix(asked).runs.values()]


def test_a_value_set_by_hand_that_no_encoder_can_have_is_refused() -> None:
    with pytest.raises(ReproError, match="cannot be cut into spans of 5"):
        [*THREE.matrix(of_depth(12, settings={"method.span": 5})).runs.values()]


UNI = "Low-data-100 / AA-focused^uni"


def low_data(**asked: Any) -> Request:
    return request("AA-2", "paper", sections=("Low-data-100",), tasks=("rte",), **asked)


def test_rows_made_from_a_task_without_data_are_gaps(store: Store) -> None:
    asked = low_data(unavailable={"qqp": "glue_qqp holds no train.jsonl.gz"})
    table = TABLES["AA-2"]
    rows = {row.name: row for row in table.matrix(asked).artefact.rows}
    gaps = {name: row.gap for name, row in rows.items() if row.gap is not None}
    assert set(gaps) == {UNI, f"{UNI}, layers"}
    for gap in gaps.values():
        assert gap.reason == "it needs a run on qqp: glue_qqp holds no train.jsonl.gz"
        assert gap.wanted
    assert all(spec.task.name == "rte" for spec in table.matrix(asked).runs.values())
    view = view_table(table, asked, store)
    assert not view.settled
    assert row_of(view, UNI).cells[7].reason == gaps[UNI].reason


def test_published_layers_need_no_run_on_another_task() -> None:
    asked = low_data(unavailable={"qqp": "not here"}, published_layers=True)
    assert TABLES["AA-2"].matrix(asked).artefact.rows[4].gap is None


def test_a_table_whose_rows_all_lack_a_parents_data_is_refused() -> None:
    asked = request("Hyperformer-2", "paper", tasks=("cb",), unavailable={"cola": "not here"})
    with pytest.raises(MissingData, match="it needs a run on cola: not here"):
        [*TABLES["Hyperformer-2"].matrix(asked).runs.values()]


def test_an_undefined_score_leaves_nothing_to_train(store: Store) -> None:
    """Of a model that gives every row one number, STS-B's correlations do not exist."""
    asked = request(tasks=("stsb", "cola"))
    for spec in THREE.matrix(asked).runs.values():
        store_run(store, spec, without_spearman, collapsed=spec.task.name == "stsb")
    view = view_table(THREE, asked, store)
    assert (view.complete, view.settled) == (False, True)
    stsb = next(cell for cell in view.rows[0].cells if cell.column.name == "STS-B")
    assert (stsb.verdict, stsb.settled) == ("GAP", True)
    assert stsb.reason == "undefined, as the run predicts one class"
    assert stsb.reason in markdown(view)


def without_spearman(spec: RunSpec, epoch: int, split: str, metric: str) -> float | None:
    return None if metric == "spearman" else 1.0


def test_a_run_that_is_missing_leaves_something_to_train(store: Store) -> None:
    asked = request(tasks=("cola",), seeds=2)
    store_table(store, request(tasks=("cola",)))
    view = view_table(THREE, asked, store)
    assert not view.settled
