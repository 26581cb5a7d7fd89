"""Any subset of a table's runs: never a 0, a NaN or a wrong mean where something is missing."""

from __future__ import annotations

import math
import random
import re
import statistics

import fake_glue
import fake_results
import fake_written
import pytest

from repro.papers.registry import TABLES
from repro.papers.request import Request
from repro.papers.tables import Mean, Row, Score, Table
from repro.report.cells import Cell
from repro.report.render import as_json, csv_text, json_text, markdown
from repro.report.view import TableView, view_table
from repro.spec import RunSpec, Scale, TextToText, run_key
from repro.spec.tasks import SentenceTask, SquadTask
from repro.store import Store

MANY_RUNS = ("Houlsby-1", "Houlsby-2", "Hyperformer-2", "AA-2", "AA-3", "AA-4", "AA-5")
"""Hundreds of runs at the paper's scale, of the same shape as at smoke scale."""
CASES = [
    (id, scale)
    for id, table in TABLES.items()
    for scale in ("smoke", "paper")
    if table.scores and (scale == "smoke" or id not in MANY_RUNS)
]
WORDS = re.compile(r"\b(nan|inf|None)\b", re.IGNORECASE)


def value_of(spec: RunSpec) -> float:
    """A score of its own for every run, never near 0."""
    return 40 + int(run_key(spec)[:6], 16) % 5000 / 100


def store_some(store: Store, specs: list[RunSpec], seed: int) -> set[str]:
    """Stores about the half of the runs, some of them collapsed; returns their keys."""
    drawn, kept = random.Random(seed), set()
    share = drawn.choice([0.2, 0.5, 0.9])
    for spec in specs:
        if drawn.random() > share:
            continue
        collapsed = drawn.random() < 0.2
        if isinstance(spec.task, SquadTask):
            kept.add(
                fake_results.store_result(
                    store, spec, lambda one, *_: value_of(one), collapsed=collapsed
                )
            )
        elif isinstance(spec.task, SentenceTask):
            kept.add(
                fake_glue.store_run(store, spec, lambda one, *_: value_of(one), collapsed=collapsed)
            )
        elif isinstance(spec.task, TextToText):
            kept.add(
                fake_written.store_run(
                    store, spec, lambda one, *_: value_of(one), collapsed=collapsed
                )
            )
    return kept


def asked(table: Table, scale: Scale) -> Request:
    if scale == "paper":
        return Request(table.id, scale, 2)
    revisions: dict[str, str | None] = {}
    revisions |= fake_written.REVISIONS
    revisions |= dict.fromkeys((*fake_glue.REVISIONS, "conll2003"), "made by hand")
    return Request(table.id, scale, 2, data_revisions={"squad2": "made by hand", **revisions})


@pytest.mark.parametrize(("seed", "id", "scale"), [(n, *case) for n, case in enumerate(CASES)])
def test_what_is_missing_is_a_gap(store: Store, id: str, seed: int, scale: Scale) -> None:
    table = TABLES[id]
    request = asked(table, scale)
    specs = [*table.matrix(request).runs.values()]
    stored = store_some(store, specs, seed)
    found = view_table(table, request, store)
    for row in found.rows:
        for cell in row.cells:
            check(cell, row.row, found, stored)
    texts = markdown(found), csv_text(found), json_text(as_json(found))
    assert [WORDS.findall(text) for text in texts] == [[], [], []]


def check(cell: Cell, row: Row, view: TableView, stored: set[str]) -> None:
    assert set(cell.behind) <= stored
    if cell.reproduced is None:
        assert cell.difference is None
        assert cell.verdict in ("GAP", None) or cell.text is not None
        assert cell.reason or cell.verdict is None
        return
    assert math.isfinite(cell.reproduced.mean)
    if isinstance(cell.column, Score) and row.select == "mean" and row.trained:
        there = [
            spec for spec in view.matrix.of(row.name, cell.column.name) if run_key(spec) in stored
        ]
        values = [value_of(spec) for spec in there]
        if row.measure == "layers":
            values = [float(len(fake_glue.layers_of(spec) or ())) for spec in there]
        assert cell.reproduced.mean == pytest.approx(statistics.fmean(values))
    if isinstance(cell.column, Mean):
        parts = [one for one in cells_of(view, row) if isinstance(one.column, Score)]
        assert all(part.complete for part in parts)
        means = [part.reproduced.mean for part in parts if part.reproduced]
        assert cell.reproduced.mean == pytest.approx(statistics.fmean(means))


def cells_of(view: TableView, row: Row) -> tuple[Cell, ...]:
    return next(found.cells for found in view.rows if found.row.name == row.name)
