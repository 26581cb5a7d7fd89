"""Intervals, p-values and needed seeds: by hand, against scipy and statsmodels."""

from __future__ import annotations

import math
from dataclasses import replace
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.weightstats import DescrStatsW

from repro.stats.summary import Summary, summarise
from repro.stats.verdicts import Evidence, Target, holm, judge, typical_sd, weigh

OURS = [71.2, 70.4, 70.9, 71.6, 70.1]
TINY = 1e-9
"""A step of the last printed digit that plays no part."""


def verdict(values: list[float], target: Target, margin: float) -> str:
    return judge(weigh(summarise(values), target, margin))[0]


EXACT = Target(70.5, TINY, sem=0.0)
"""A published number without an error of its own."""


def test_the_interval_against_an_exact_number_is_the_one_sample_t_interval() -> None:
    found = weigh(summarise(OURS), EXACT, 1.0)
    low, high = DescrStatsW([value - 70.5 for value in OURS]).tconfint_mean(0.05)
    assert (found.low_95, found.high_95) == pytest.approx((low, high))
    low, high = DescrStatsW([value - 70.5 for value in OURS]).tconfint_mean(0.10)
    assert (found.low_90, found.high_90) == pytest.approx((low, high))
    assert found.difference == pytest.approx(70.84 - 70.5)


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
        exact = Target(printed, TINY, sem=0.0)
        assert (verdict(values, exact, margin) == "MATCH") == (p < 0.05)


@given(
    st.lists(st.floats(60, 80), min_size=2, max_size=8),
    st.floats(65, 75),
    st.floats(0.2, 5),
)
def test_lower_is_statsmodels_one_sided_test_against_the_margin(
    values: list[float], printed: float, margin: float
) -> None:
    """At 2.5 % either way."""
    ours = summarise(values)
    if ours.sd is None or ours.sd < 1e-3:
        return
    sample = DescrStatsW([value - printed for value in values])
    p = sample.ttest_mean(-margin, alternative="smaller")[1]
    if abs(p - 0.025) > 1e-6:
        exact = Target(printed, TINY, sem=0.0)
        assert (verdict(values, exact, margin) == "LOWER") == (p < 0.025)


@pytest.mark.parametrize("n_p", [2, 5])
def test_runs_of_unknown_deviation_scatter_like_ours(n_p: int) -> None:
    ours = summarise(OURS)
    found = weigh(ours, Target(70.5, TINY, n=n_p), 1.0)
    assert ours.sd is not None
    half = stats.t.ppf(0.95, 4) * ours.sd * math.sqrt(1 / 5 + 1 / n_p)
    assert (found.low_90, found.high_90) == pytest.approx((0.34 - half, 0.34 + half))


@pytest.mark.parametrize(("n_p", "freedom"), [(2, 1), (4, 3), (9, 4)])
def test_a_printed_deviation_stands_for_the_papers_runs(n_p: int, freedom: int) -> None:
    """With the degrees of freedom of the smaller sample (Mickey and Brown 1966)."""
    ours = summarise(OURS)
    found = weigh(ours, Target(70.5, TINY, n=n_p, sd=2.0), 1.0)
    assert ours.sd is not None
    half = stats.t.ppf(0.975, freedom) * math.sqrt(ours.sd**2 / 5 + 2.0**2 / n_p)
    assert (found.low_95, found.high_95) == pytest.approx((0.34 - half, 0.34 + half))
    assert found.freedom == freedom


def test_a_printed_standard_error_is_taken_as_it_is() -> None:
    ours = summarise(OURS)
    found = weigh(ours, Target(70.5, TINY, sem=0.3), 1.0)
    assert ours.sd is not None
    half = stats.t.ppf(0.975, 4) * math.sqrt(ours.sd**2 / 5 + 0.3**2)
    assert (found.low_95, found.high_95) == pytest.approx((0.34 - half, 0.34 + half))


@pytest.mark.parametrize("n", [None, 1])
def test_a_number_of_one_or_unknown_runs_scatters_like_one_more_run(n: int | None) -> None:
    ours = summarise(OURS)
    found = weigh(ours, Target(75.0, TINY, n=n), 1.0)
    assert ours.sd is not None
    error = ours.sd * math.sqrt(1 / 5 + 1)
    assert found.p == pytest.approx(2 * stats.t.sf((75.0 - 70.84 - 1.0) / error, 4))
    half = stats.t.ppf(0.95, 4) * error
    assert (found.low_90, found.high_90) == pytest.approx((-4.16 - half, -4.16 + half))


def test_the_typical_deviation_is_the_median_of_the_rows() -> None:
    def cell(sd: float | None) -> Summary:
        return Summary(50.0, sd, (50.0, 50.0))

    assert typical_sd([cell(0.5), cell(40.0), cell(0.7)]) == 0.7
    assert typical_sd([cell(0.5), cell(None), cell(0.7)]) == pytest.approx(0.6)
    assert typical_sd([cell(None)]) == 0.0


def test_a_larger_deviation_of_the_column_widens_the_test_but_no_interval() -> None:
    ours = summarise(OURS)
    target = Target(75.0, TINY, n=1)
    plain, wide = weigh(ours, target, 1.0), weigh(ours, target, 1.0, column_sd=2.0)
    assert wide.p == pytest.approx(2 * stats.t.sf(3.16 / (2.0 * math.sqrt(1 / 5 + 1)), 4))
    assert (wide.high_90, wide.high_95) == (plain.high_90, plain.high_95)
    assert weigh(ours, target, 1.0, column_sd=0.1).p == plain.p


@pytest.mark.parametrize(
    ("values", "printed", "expected"),
    [
        ([70.0, 70.1, 69.9, 70.0], 70.0, "MATCH"),
        ([70.0, 70.1, 69.9, 70.0], 71.1, "UNDECIDED"),  # outside the margin, but not surely
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


def test_equal_runs_scatter_by_one_printed_digit() -> None:
    assert weigh(summarise([70.0, 70.0, 70.0]), Target(70.0, 0.1), 1.0).run_sd == 0.1


def around(mean: float, sd: float, n: int) -> Summary:
    """Runs of exactly this mean and deviation."""
    step = sd * math.sqrt(12 * (n - 1) / (n * (n**2 - 1)))
    return summarise([mean + step * (i - (n - 1) / 2) for i in range(n)])


@pytest.mark.parametrize("n_p", [None, 1, 2, 5])
@pytest.mark.parametrize("printed_sd", [None, 0.3])
@pytest.mark.parametrize("tests", [1, 30])
@pytest.mark.parametrize(("mean", "sd"), [(70.0, 0.4), (70.5, 0.2), (71.4, 0.3), (75.0, 1.5)])
def test_so_many_seeds_settle_it_and_one_fewer_does_not(
    n_p: int | None, printed_sd: float | None, tests: int, mean: float, sd: float
) -> None:
    """Alone, or with the smallest p-value of so many that are tested."""
    target = Target(70.0, TINY, n=n_p, sd=printed_sd if n_p != 1 else None)

    def settled(n: int) -> bool:
        found = weigh(around(mean, sd, n), target, 1.0, tests=tests)
        assert found.p is not None
        first = replace(found, p_adjusted=holm([found.p] + [1.0] * (tests - 1))[0])
        return judge(first)[0] != "UNDECIDED"

    seeds = weigh(around(mean, sd, 2), target, 1.0, tests=tests).seeds_to_settle
    if seeds is None:
        assert not settled(1000)
    else:
        assert settled(seeds)
        assert seeds == 2 or not settled(seeds - 1)


def test_a_papers_single_noisy_run_is_a_limit() -> None:
    """With s = 1.5 margins no number of seeds of ours gets the printed run's noise inside."""
    evidence = weigh(summarise([68.5, 71.5]), Target(70.0, TINY, n=1), 1.0)
    assert evidence.seeds_to_settle is None
    assert judge(evidence) == (
        "UNDECIDED",
        "within the margin of 1.00; no number of seeds settles it with the paper's single run that "
        "is taken to scatter like ours",
    )


def test_undecided_says_how_many_seeds_settle_it() -> None:
    evidence = weigh(around(70.0, 0.4, 2), Target(70.0, TINY, n=5), 1.0)
    # half = t(0.95, n - 1) x 0.4 x sqrt(1 / n + 1 / 5): 2.11 for 2, 0.85 for 3
    assert judge(evidence) == (
        "UNDECIDED", "within the margin of 1.00; about 3 seeds would settle it",
    )  # fmt: skip


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_holm_is_statsmodels_holm(values: list[float]) -> None:
    with patch("gc.collect"):  # which it calls at every use, for seconds in a large process
        expected = list(multipletests(values, method="holm")[1])
    assert holm(values) == pytest.approx(expected)


def test_a_table_of_many_cells_needs_a_smaller_p() -> None:
    found = Evidence(-3.0, 1.0, -5.0, -1.0, p=0.04, p_adjusted=0.2, seeds_to_settle=7)
    assert judge(found) == (
        "UNDECIDED", "outside the margin of 1.00; about 7 seeds would settle it",
    )  # fmt: skip


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


# -- medians -----------------------------------------------------------------------------------


def test_the_error_of_a_median_is_that_of_uniform_runs() -> None:
    """The median of n uniform numbers is Beta((n + 1) / 2, (n + 1) / 2), a run's variance 1/12."""
    for n in (3, 5, 9):
        values = [50.0 + i for i in range(n)]
        exact = Target(50.0 + n // 2, TINY, sem=0.0, statistic="median")
        found = weigh(summarise(values, "median"), exact, 1.0)
        of_median = stats.beta((n + 1) / 2, (n + 1) / 2).var() * 12
        sd = summarise(values).sd
        assert sd is not None
        error = math.sqrt(of_median) * sd
        assert found.difference == 0.0
        assert found.high_90 == pytest.approx(stats.t.ppf(0.95, n - 1) * error)


def test_a_printed_median_of_known_runs_scatters_as_such() -> None:
    ours = summarise([70.0, 70.5, 71.0, 71.5, 74.0], "median")
    assert ours.mean == 71.0
    found = weigh(ours, Target(71.2, 0.1, 5, statistic="median"), 1.0)
    assert ours.sd is not None
    error = ours.sd * math.sqrt(3 / 7 + 3 / 7)
    assert found.difference == pytest.approx(-0.2)
    assert found.low_95 == pytest.approx(-0.2 - stats.t.ppf(0.975, 4) * error)
    assert (
        found.basis == "with the median of the paper's 5 runs that are taken to scatter like ours"
    )
    unknown = weigh(ours, Target(71.2, 0.1, statistic="median"), 1.0)
    assert unknown.basis is not None
    assert "as a single run" in unknown.basis
