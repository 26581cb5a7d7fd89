"""Mean, best of k, coefficient of variation and shares, against arithmetic by hand and scipy."""

from __future__ import annotations

import itertools
import math
import statistics

import pytest
from scipy.stats import binomtest

from repro.stats.summary import expected_best, expected_maximum, share_interval, variation


def test_the_best_of_k_is_the_mean_over_all_subsets() -> None:
    values = [60.0, 52.5, 71.0, 52.5, 66.0]
    for k in range(1, 6):
        subsets = [max(subset) for subset in itertools.combinations(values, k)]
        assert expected_maximum(values, k) == pytest.approx(statistics.fmean(subsets))


def test_the_best_of_one_is_the_mean_and_of_all_the_best() -> None:
    assert expected_maximum([1.0, 2.0, 6.0], 1) == pytest.approx(3.0)
    assert expected_maximum([1.0, 2.0, 6.0], 3) == 6.0


@pytest.mark.parametrize("k", [0, 4])
def test_no_best_of_more_than_there_are(k: int) -> None:
    with pytest.raises(ValueError, match=f"best of {k} among 3"):
        expected_maximum([1.0, 2.0, 3.0], k)


def test_the_expected_best_of_k_draws_is_the_mean_over_all_draws_with_replacement() -> None:
    values = [60.0, 52.5, 71.0, 52.5]
    for k in range(1, 6):
        draws = [max(draw) for draw in itertools.product(values, repeat=k)]
        assert expected_best(values, k) == pytest.approx(statistics.fmean(draws))
    # By hand: of the 9 pairs of 1, 2 and 4 the largest is 1 once, 2 three times, 4 five times.
    assert expected_best([4.0, 1.0, 2.0], 2) == pytest.approx((1 + 3 * 2 + 5 * 4) / 9)
    with pytest.raises(ValueError, match="no best of 0 draws"):
        expected_best(values, 0)


def test_variation_of_two_numbers_by_hand() -> None:
    # Mean 50; sd of 49 and 51 is sqrt 2, unbiased sqrt 2 / 0.79788 (c4 of two); times 1 + 1/8.
    expected = 100 * (1 + 1 / 8) * math.sqrt(2) / math.sqrt(2 / math.pi) / 50
    assert variation([49.0, 51.0]) == pytest.approx(expected)
    assert variation([50.0, 50.0]) == 0


@pytest.mark.parametrize("values", [[50.0], [-1.0, 1.0], [-5.0, -6.0]])
def test_no_variation_without_a_mean_above_zero(values: list[float]) -> None:
    assert variation(values) is None


@pytest.mark.parametrize(("count", "total"), [(0, 3), (1, 3), (3, 3), (2, 5), (7, 20)])
def test_the_share_interval_is_the_exact_one(count: int, total: int) -> None:
    exact = binomtest(count, total).proportion_ci(0.95, method="exact")
    assert share_interval(count, total) == pytest.approx((exact.low, exact.high))
