"""Kendall's τ between the published and the reproduced order of methods."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kendalltau

from repro.comparison.statistics import kendall, ranking

PUBLISHED = {"A": 70.0, "B": 72.0, "C": 75.0, "not run": 80.0}
APART = {"A": [60.0, 61.0], "B": [65.0, 66.0], "C": [69.0, 70.0]}
MIXED = {"A": [60.0, 66.0], "B": [61.0, 66.0], "C": [62.0, 66.0]}


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=2, max_size=8))
def test_tau_is_scipys(pairs: list[tuple[int, int]]) -> None:
    one, other = zip(*pairs, strict=True)
    theirs = float(kendalltau(one, other).statistic)
    ours = kendall(one, other)
    if math.isnan(theirs):
        assert ours is None
    else:
        assert ours == pytest.approx(theirs)


def test_methods_that_are_apart_keep_their_order_in_every_draw() -> None:
    assert ranking(PUBLISHED, APART, "table, column") == (1.0, (1.0, 1.0))


def test_one_swap_of_three_is_a_third() -> None:
    swapped = APART | {"B": [59.0, 59.5]}
    tau, _ = ranking(PUBLISHED, swapped, "table, column")
    assert tau == pytest.approx(1 / 3)  # two pairs agree, one does not


def test_the_interval_is_wide_where_runs_overlap_and_always_the_same() -> None:
    tau, interval = ranking(PUBLISHED, MIXED, "table, column")
    assert interval is not None
    low, high = interval
    assert -1 <= low < 0 < high <= 1
    assert ranking(PUBLISHED, MIXED, "table, column") == (tau, interval)


def test_single_runs_have_an_order_but_no_interval() -> None:
    single = {"A": [60.0], "B": [65.0], "C": [64.0]}
    tau, interval = ranking(PUBLISHED, single, "table, column")
    assert tau == pytest.approx(1 / 3)
    assert interval is None


def test_one_method_has_no_order() -> None:
    assert ranking(PUBLISHED, {"A": [1.0, 2.0]}, "table, column") == (None, None)


def test_epochs_of_the_same_runs_are_drawn_together() -> None:
    """Every run improves by a point an epoch, so no draw of runs can change the order."""
    epochs = {"A": [60.0, 66.0, 63.0], "B": [61.0, 67.0, 64.0], "C": [62.0, 68.0, 65.0]}
    same = dict.fromkeys(epochs, ("run 1", "run 2", "run 3"))
    assert ranking(PUBLISHED, epochs, "table, column", same) == (1.0, (1.0, 1.0))
    _, apart = ranking(PUBLISHED, epochs, "table, column")
    assert apart is not None
    assert apart[0] < 1
