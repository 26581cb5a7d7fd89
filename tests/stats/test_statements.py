"""Statements on runs and on printed numbers, against scipy's tests and cases by hand."""

from __future__ import annotations

import math
import statistics
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from repro.stats.claims import (
    Gap,
    Outcome,
    conclude,
    direction,
    gap_between,
    gap_to,
    judge,
    judge_counted,
    judge_printed,
    superiority,
)

SCORES = st.lists(
    st.floats(0, 100).map(lambda value: round(value, 2)), min_size=2, max_size=6
).filter(lambda values: statistics.variance(values) > 1e-3)
LEFT, RIGHT = [61.2, 63.4, 60.9], [58.0, 59.1, 57.2, 58.8]


def around(value: float, error: float, freedom: int, statements: int = 1) -> Any:
    """The interval of two one-sided t tests at 5 % over so many statements."""
    half = stats.t.ppf(1 - 0.05 / statements, freedom) * error
    return pytest.approx((value - half, value + half))


@settings(max_examples=50, deadline=None)
@given(SCORES, SCORES)
def test_the_intervals_have_welchs_error_and_the_smaller_sides_freedom(
    left: list[float], right: list[float]
) -> None:
    gap, test = (
        gap_between(left, right, statements=4),
        stats.ttest_ind(left, right, equal_var=False),
    )
    low, high = test.confidence_interval(0.5)
    error = (high - low) / 2 / stats.t.ppf(0.75, test.df)
    freedom, value = (
        min(len(left), len(right)) - 1,
        statistics.fmean(left) - statistics.fmean(right),
    )
    assert gap.value == pytest.approx(value)
    assert gap.interval == around(value, error, freedom)
    assert gap.adjusted == around(value, error, freedom, statements=4)
    assert gap.runs == (len(left), len(right))


@settings(max_examples=50, deadline=None)
@given(SCORES)
def test_runs_of_the_same_models_are_compared_within_each(left: list[float]) -> None:
    right = [value - 1 - index / 7 for index, value in enumerate(left)]
    gap = gap_between(left, right, paired=True)
    test = stats.ttest_rel(left, right)
    assert gap.interval == pytest.approx(tuple(test.confidence_interval(0.90)))
    assert gap.probability == 1.0


def test_a_plain_number_is_compared_with_the_mean() -> None:
    test = stats.ttest_1samp(LEFT, 60)
    gap = gap_to(LEFT, 60, statements=2)
    for found, level in ((gap.interval, 0.90), (gap.adjusted, 0.95)):
        assert found == pytest.approx(
            tuple(bound - 60 for bound in test.confidence_interval(level))
        )


@settings(max_examples=50, deadline=None)
@given(SCORES, SCORES)
def test_superiority_is_mann_and_whitneys_share(left: list[float], right: list[float]) -> None:
    u = stats.mannwhitneyu(left, right, method="asymptotic").statistic
    assert superiority(left, right) == pytest.approx(u / (len(left) * len(right)))


def test_ties_count_half() -> None:
    assert superiority([1.0, 2.0], [2.0, 3.0]) == 0.5 / 4


def test_one_run_has_no_interval_and_settles_nothing() -> None:
    for gap in (gap_between([60.0], RIGHT), gap_between([60.0], [58.0]), gap_to([60.0], 58)):
        assert gap.interval is None
        assert judge(gap, "more") == judge(gap, "within", 5) == "open"
        assert direction(gap) == "confirmed"


def test_runs_that_score_the_same_have_the_floors_deviation() -> None:
    gap = gap_between([50.0] * 3, [50.0] * 3, floor=0.1)
    assert gap.interval == around(0, math.sqrt(0.01 / 3 + 0.01 / 3), 2)
    assert judge(gap, "within", 1) == "confirmed"
    assert judge(gap, "more") == "open"


@pytest.mark.parametrize(
    ("interval", "adjusted", "outcome"),
    [
        ((0.1, 2.0), (-0.5, 2.5), "confirmed"),
        ((-2.0, -0.1), (-2.5, -0.1), "reversed"),
        ((-2.0, -0.1), (-2.5, 0.1), "open"),  # one of several statements
        ((-0.1, 2.0), (-0.5, 2.5), "open"),
    ],
)
def test_more_asks_for_the_whole_interval(
    interval: tuple[float, float], adjusted: tuple[float, float], outcome: str
) -> None:
    assert judge(Gap(1, (3, 3), 0.5, interval, adjusted), "more") == outcome


@pytest.mark.parametrize(
    ("interval", "adjusted", "outcome"),
    [
        ((-0.39, 0.35), (-0.5, 0.45), "confirmed"),
        ((-0.41, 0.35), (-0.5, 0.45), "open"),
        ((0.6, 1.8), (0.41, 2.0), "reversed"),
        ((-1.8, -0.6), (-2.0, -0.41), "reversed"),
        ((0.6, 1.8), (0.39, 2.0), "open"),
    ],
)
def test_within_asks_for_two_one_sided_tests(
    interval: tuple[float, float], adjusted: tuple[float, float], outcome: str
) -> None:
    assert judge(Gap(0, (3, 3), 0.5, interval, adjusted), "within", 0.4) == outcome


@pytest.mark.parametrize(
    ("outcomes", "outcome"),
    [
        (["confirmed", "confirmed"], "confirmed"),
        (["confirmed", "open"], "open"),
        (["confirmed", "reversed", "open"], "reversed"),
    ],
)
def test_a_claim_needs_all_its_statements_and_one_reversed_is_enough(
    outcomes: list[Outcome], outcome: str
) -> None:
    assert conclude(outcomes) == outcome


@pytest.mark.parametrize(
    ("difference", "rounding", "outcome"),
    [
        (0.1, 0.1, "holds"),  # 80.1 against 80.0: one digit apart
        (0.05, 0.1, "ties"),  # a mean of several: less than the rounding of its numbers
        (0.0, 0.0, "ties"),
        (-0.1, 0.1, "fails"),
        (-0.05, 0.1, "ties"),
        (1.0, 0.0, "holds"),
    ],
)
def test_what_is_less_than_rounding_is_a_tie(
    difference: float, rounding: float, outcome: str
) -> None:
    assert judge_printed(difference, rounding, "more") == outcome


@pytest.mark.parametrize(
    ("difference", "outcome"),
    [(80.4 - 80.0, "holds"), (0.5, "fails"), (-0.4, "holds"), (-0.5, "fails"), (0.45, "holds")],
)
def test_rounding_is_allowed_beyond_a_bound(difference: float, outcome: str) -> None:
    assert judge_printed(difference, 0.1, "within", 0.4) == outcome


def test_what_is_counted_is_compared_exactly() -> None:
    assert judge_counted(396_544 - 1_189_632 / 3, 0.5, "within") == "confirmed"
    assert judge_counted(1.0, 0.5, "within") == "reversed"


def test_nothing_cannot_be_compared() -> None:
    with pytest.raises(ValueError, match="no runs"):
        gap_between([], RIGHT)
    with pytest.raises(ValueError, match="no runs"):
        gap_to([], 1)
