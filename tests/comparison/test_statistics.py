"""All cells of a table together: mean difference and order of rows, by hand and by scipy."""

from __future__ import annotations

import statistics
from dataclasses import replace

import fake_glue
import numpy as np
import pytest
from fake_results import request, store_all
from scipy.stats import bootstrap, kendalltau

from repro.comparison.statistics import over_groups, table_statistics
from repro.methods.untrained import AlwaysNull
from repro.papers.registry import TABLES
from repro.report.view import TableView, view_table
from repro.spec import RunSpec, run_key
from repro.store import Store

PRINTED_F1 = [31.6, 46.1, 40.0, 49.0, 51.4]
"""ResAdapters, Table 1, F1 of all questions."""


def view(store: Store, scale: str, shift: float) -> TableView:
    """Every cell is the printed one plus `shift`, but for two rows that change places."""
    asked = request(scale=scale, epochs=1)  # type: ignore[arg-type]
    table = TABLES[asked.id]
    empty = view_table(table, asked, store)
    printed = {
        (row.row.name, cell.column.name): cell.published.value
        for row in empty.rows
        for cell in row.cells
        if cell.published
    }
    other = {"Adapter": "Attention", "Attention": "Adapter"}
    rows = {
        run_key(table.matrix(asked).of(row.name, table.columns[0].name)[0]): row.name
        for row in table.rows
    }

    def value(spec: RunSpec, epoch: int, metric: str, group: str) -> float:
        if isinstance(spec.method, AlwaysNull):
            return 50.0
        name = rows[run_key(spec)]
        found = printed[other.get(name, name), f"{group} {metric.upper()}"]
        assert found is not None
        return found + shift

    store_all(store, asked, value)
    return view_table(table, asked, store)


def test_the_mean_difference_and_the_columns_that_are_off_together(store: Store) -> None:
    offset, order = table_statistics(view(store, "reduced", 20.0).records)
    # Two rows change places, so the mean of all differences is the shift alone.
    assert offset.startswith("Mean difference of 30 cells +20.0 (95 % over 5 sets of runs ")
    assert "every model on one side in ALL EM +20.0" in offset
    tau = kendalltau(PRINTED_F1, [40.0, 46.1, 31.6, 49.0, 51.4]).statistic
    assert f"ALL F1 {tau:.2f}" in order


def test_cells_that_lack_a_seed_are_left_out(store: Store) -> None:
    """What is left of runs that failed is no sample of them."""
    whole = view(store, "reduced", 20.0)
    assert table_statistics(whole.records)
    more = replace(whole.request, seeds=2)
    assert table_statistics(view_table(TABLES[more.id], more, store).records) == []


def test_made_up_data_say_nothing_of_the_paper(store: Store) -> None:
    assert table_statistics(view(store, "smoke", 1.0).records) == []


def test_an_empty_table_says_nothing(store: Store) -> None:
    asked = request(scale="reduced")
    assert table_statistics(view_table(TABLES[asked.id], asked, store).records) == []


def test_the_interval_over_cells_is_the_percentile_bootstrap() -> None:
    found = [-8.1, -3.0, -2.2, 0.4, -5.5, -4.1, 1.2, -6.3]
    low, high = over_groups([[value] for value in found], "a table")
    theirs = bootstrap(
        (found,), np.mean, method="percentile", n_resamples=9_999, rng=np.random.default_rng(0)
    ).confidence_interval
    assert (low, high) == pytest.approx((theirs.low, theirs.high), abs=0.15)
    assert low < statistics.fmean(found) < high
    assert over_groups([[value] for value in found], "a table") == (low, high)


def test_cells_of_the_same_runs_are_drawn_together() -> None:
    """Six copies of each number are no more numbers than one."""
    found = [-8.1, -3.0, -2.2, 0.4, -5.5]
    alone = over_groups([[value] for value in found], "a table")
    assert over_groups([[value] * 6 for value in found], "a table") == pytest.approx(alone)


def test_a_means_cell_is_no_further_number_beside_its_scores(store: Store) -> None:
    """3-shared-2 prints nine scores a row and their mean."""
    asked = fake_glue.request(scale="reduced", seeds=2)
    fake_glue.store_table(store, asked)
    offset, *_ = table_statistics(view_table(TABLES["3-shared-2"], asked, store).records)
    rows = [row for row in TABLES["3-shared-2"].rows if row.scored]
    assert offset.startswith(f"Mean difference of {9 * len(rows)} cells ")


def test_epochs_of_the_same_runs_are_no_separate_evidence(store: Store) -> None:
    """ResAdapters-2: eight epochs of one model and a fine-tuned one, so 54 cells of two models.

    Every score lies 100 points above any printed one.
    """
    asked = request(table="ResAdapters-2", scale="reduced", seeds=2)
    store_all(store, asked, lambda *_: 200.0)
    found = table_statistics(view_table(TABLES["ResAdapters-2"], asked, store).records)
    assert found[0].startswith("Mean difference of 54 cells +")
    assert "(95 %" not in found[0]
    assert "every model" not in found[0]
