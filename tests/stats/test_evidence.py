"""Intervals, p-values and needed seeds: by hand, against scipy and statsmodels."""

from __future__ import annotations

import math
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.weightstats import DescrStatsW, ttost_ind

from repro.stats.evidence import Evidence, Target, holm, weigh
from repro.stats.spread import Spread, own
from repro.stats.summary import summarise
from repro.stats.verdicts import judge

OURS = [71.2, 70.4, 70.9, 71.6, 70.1]
THEIRS = [70.9, 71.3, 70.2, 70.8, 71.0]
TINY = 1e-9
"""A step of the last printed digit that plays no part."""


def verdict(values: list[float], target: Target, margin: float) -> str:
    ours = summarise(values)
    return judge(weigh(ours, target, margin, own(ours)))[0]


def test_the_interval_against_an_exact_number_is_the_one_sample_t_interval() -> None:
    ours = summarise(OURS)
    found = weigh(ours, Target(70.5, TINY), 1.0, own(ours))
    low, high = DescrStatsW([value - 70.5 for value in OURS]).tconfint_mean(0.05)
    assert found.interval == pytest.approx((low, high))
    low, high = DescrStatsW([value - 70.5 for value in OURS]).tconfint_mean(0.10)
    assert found.equivalence == pytest.approx((low, high))
    assert found.difference == pytest.approx(70.84 - 70.5)


def test_two_equal_samples_give_statsmodels_equivalence_test() -> None:
    """With the pooled deviation of both samples and its degrees of freedom, as that test has."""
    ours, theirs = summarise(OURS), summarise(THEIRS)
    assert ours.sd is not None
    assert theirs.sd is not None
    both = Spread(math.sqrt((ours.sd**2 + theirs.sd**2) / 2), 8)
    for margin in (0.2, 0.4, 0.6, 0.8, 1.0, 1.5):
        p = ttost_ind(OURS, THEIRS, -margin, margin, usevar="pooled")[0]
        found = weigh(ours, Target(theirs.mean, TINY, n=5), margin, both)
        assert (judge(found)[0] == "MATCH") == (p < 0.05)


@given(
    st.lists(st.floats(60, 80), min_size=2, max_size=8),
    st.floats(65, 75),
    st.floats(0.2, 5),
)
def test_match_is_statsmodels_one_sample_equivalence_test(
    values: list[float], printed: float, margin: float
) -> None:
    ours = summarise(values)
    if ours.sd is None or ours.sd < 1e-3:
        return  # the second implementation divides by zero
    sample = DescrStatsW([value - printed for value in values])
    p = sample.ttost_mean(-margin, margin)[0]
    if abs(p - 0.05) > 1e-6:
        assert (verdict(values, Target(printed, TINY), margin) == "MATCH") == (p < 0.05)


def test_a_printed_deviation_stands_for_the_papers_runs() -> None:
    ours = summarise(OURS)
    found = weigh(ours, Target(70.5, TINY, n=4, sd=2.0), 1.0, own(ours))
    assert ours.sd is not None
    assert found.interval is not None
    half = stats.t.ppf(0.975, 4) * math.sqrt(ours.sd**2 / 5 + 2.0**2 / 4)
    assert found.interval == pytest.approx((0.34 - half, 0.34 + half))


def test_a_printed_standard_error_is_taken_as_it_is() -> None:
    ours = summarise(OURS)
    found = weigh(ours, Target(70.5, TINY, sem=0.3), 1.0, own(ours))
    assert ours.sd is not None
    assert found.interval is not None
    half = stats.t.ppf(0.975, 4) * math.sqrt(ours.sd**2 / 5 + 0.3**2)
    assert found.interval == pytest.approx((0.34 - half, 0.34 + half))


@pytest.mark.parametrize("n", [None, 1])
def test_a_number_of_one_or_unknown_runs_is_predicted_as_one_more_run(n: int | None) -> None:
    ours = summarise(OURS)
    found = weigh(ours, Target(75.0, TINY, n=n), 1.0, own(ours))
    assert ours.sd is not None
    statistic = (70.84 - 75.0) / (ours.sd * math.sqrt(1 / 5 + 1))
    assert found.p == pytest.approx(2 * stats.t.sf(abs(statistic), 4))


@pytest.mark.parametrize(
    ("values", "printed", "expected"),
    [
        ([70.0, 70.1, 69.9, 70.0], 70.0, "MATCH"),
        ([70.0, 70.1, 69.9, 70.0], 75.0, "LOWER"),
        ([70.0, 70.1, 69.9, 70.0], 65.0, "HIGHER"),
        ([68.0, 72.0, 66.0, 74.0], 70.0, "UNDECIDED"),
        ([70.0], 70.0, "SINGLE"),
        ([70.0], 90.0, "SINGLE"),
        ([70.0, 70.0, 70.0], 70.0, "MATCH"),  # no spread: one printed digit is the floor
    ],
)
def test_plain_cases(values: list[float], printed: float, expected: str) -> None:
    assert verdict(values, Target(printed, 0.1), 1.0) == expected


def test_half_a_unit_of_the_last_digit_is_in_the_margin() -> None:
    assert weigh(summarise([70.0]), Target(70.0, 0.1), 1.0, None).margin == pytest.approx(1.05)


def test_equal_runs_scatter_by_one_printed_digit() -> None:
    ours = summarise([70.0, 70.0, 70.0])
    found = weigh(ours, Target(70.0, 0.1), 1.0, own(ours))
    assert found.spread is not None
    assert found.spread.sd == 0.1


@pytest.mark.parametrize(
    ("ratio", "n_p", "expected"),
    [(0.25, 1, 2), (0.5, 3, 3), (0.5, 5, 3), (0.5, None, 3), (0.75, None, 5), (1.5, None, 20)],
)
def test_seeds_that_settle_are_of_the_simulated_size(
    ratio: float, n_p: int | None, expected: int
) -> None:
    """The simulation asks for an 80 % chance, this for a difference that stays at 0: fewer."""
    ours = summarise([70.0 - ratio / math.sqrt(2), 70.0 + ratio / math.sqrt(2)])
    found = weigh(ours, Target(70.0, TINY, n=n_p), 1.0, own(ours))
    assert found.seeds is not None
    assert 2 <= found.seeds <= 1.5 * expected + 1


def test_needed_seeds_are_the_fewest() -> None:
    ours = summarise([69.0, 71.0])
    found = weigh(ours, Target(70.0, TINY), 1.0, own(ours))
    assert found.seeds is not None
    sd = math.sqrt(2)

    def half(n: int) -> float:
        return float(stats.t.ppf(0.95, n - 1)) * sd / math.sqrt(n)

    assert half(found.seeds) < 1.0 <= half(found.seeds - 1)


def test_a_papers_single_noisy_run_is_a_limit() -> None:
    """With s = 1.5 margins no number of seeds of ours gets the printed run's noise inside."""
    ours = summarise([68.5, 71.5])
    evidence = weigh(ours, Target(70.0, TINY, n=1), 1.0, own(ours))
    assert evidence.seeds is None
    assert judge(evidence) == (
        "UNDECIDED", "within the margin of 1.00; limited by the paper's own single run",
    )  # fmt: skip


def test_undecided_says_how_many_seeds_settle_it() -> None:
    ours = summarise([69.0, 71.0])
    evidence = weigh(ours, Target(70.0, TINY), 1.0, own(ours))
    assert judge(evidence)[1] == (
        f"within the margin of 1.00; about {evidence.seeds} seeds would settle it"
    )


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_holm_is_statsmodels_holm(values: list[float]) -> None:
    with patch("gc.collect"):  # which it calls at every use, for seconds in a large process
        expected = list(multipletests(values, method="holm")[1])
    assert holm(values) == pytest.approx(expected)


def test_a_table_of_many_cells_needs_a_smaller_p() -> None:
    found = Evidence(-3.0, 1.0, 5, None, equivalence=(-5.0, -1.0), p=0.04, adjusted=0.2, seeds=3)
    assert judge(found)[0] == "UNDECIDED"
    assert "adjustment over the table" in judge(found)[1]


def test_a_column_whose_other_rows_have_fewer_seeds_needs_those() -> None:
    """Pooled over three rows of five seeds the interval would be narrow enough; two have one."""
    ours = summarise([69.0, 69.5, 70.0, 70.5, 71.0])
    evidence = weigh(ours, Target(70.0, TINY), 0.7, Spread(0.79, 4, cells=3))
    assert evidence.seeds is not None
    assert evidence.seeds <= ours.n
    assert judge(evidence) == (
        "UNDECIDED",
        "within the margin of 0.70; as many seeds of the column's other rows would settle it",
    )


RUNS = st.lists(st.floats(40, 60), min_size=2, max_size=6)


@given(RUNS, st.floats(45, 55), st.floats(0.5, 3), st.sampled_from([0.25, 8.0, 100.0]))
def test_scale_changes_no_verdict(
    values: list[float], printed: float, margin: float, scale: float
) -> None:
    moved = [value * scale for value in values]
    assert verdict(values, Target(printed, 0.125), margin) == verdict(
        moved, Target(printed * scale, 0.125 * scale), margin * scale
    )


@given(RUNS, st.floats(45, 55), st.floats(0.5, 3), st.randoms())
def test_order_changes_no_verdict(
    values: list[float], printed: float, margin: float, random: object
) -> None:
    assert verdict(values, Target(printed, 0.1), margin) == verdict(
        sorted(values), Target(printed, 0.1), margin
    )


@given(RUNS, st.floats(45, 55), st.floats(0.5, 3), st.floats(0.1, 5))
def test_a_wider_margin_never_removes_a_match(
    values: list[float], printed: float, margin: float, more: float
) -> None:
    if verdict(values, Target(printed, 0.1), margin) == "MATCH":
        assert verdict(values, Target(printed, 0.1), margin + more) == "MATCH"


@given(RUNS, RUNS, st.floats(45, 55))
def test_more_runs_never_give_less_than_a_verdict(
    values: list[float], more: list[float], printed: float
) -> None:
    first = verdict(values, Target(printed, 0.1), 1.0)
    second = verdict([*values, *more], Target(printed, 0.1), 1.0)
    assert {first, second} <= {"MATCH", "LOWER", "HIGHER", "UNDECIDED"}
