"""The common deviation of a column, against scipy and arithmetic by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import levene

from repro.stats.spread import UNEVEN, own, pooled, uneven
from repro.stats.summary import summarise


def test_squares_are_added_and_divided_by_all_degrees_of_freedom() -> None:
    # 50 and 53: squares 4.5, one degree; 1, 2 and 6: squares 14, two degrees.
    found = pooled([summarise([50.0, 53.0]), summarise([1.0, 2.0, 6.0]), summarise([7.0])])
    assert found is not None
    assert found.sd == pytest.approx(math.sqrt((4.5 + 14) / 3))
    assert (found.freedom, found.cells) == (3, 2)


def test_single_runs_have_no_deviation() -> None:
    assert pooled([summarise([1.0]), summarise([2.0])]) is None
    assert own(summarise([1.0])) is None


def test_a_cell_that_scatters_far_more_keeps_its_own() -> None:
    calm = [summarise([50.0 + 0.01 * i, 50.0 - 0.01 * i, 50.0, 50.01, 49.99]) for i in range(1, 5)]
    wild = summarise([20.0, 80.0, 35.0, 66.0, 50.0])
    assert pooled([*calm, wild]) is None


@pytest.mark.parametrize("seed", range(30))
def test_uneven_is_levenes_test_about_the_median(seed: int) -> None:
    random = np.random.default_rng(seed)
    groups = [
        random.normal(0, scale, size).tolist()
        for scale, size in zip([0.5, 1.0, 1.0 + seed / 4], [4, 5, 6], strict=True)
    ]
    assert uneven(groups) == (levene(*groups, center="median").pvalue < UNEVEN)


def test_equal_values_are_even() -> None:
    assert not uneven([[1.0, 1.0], [2.0, 2.0]])
