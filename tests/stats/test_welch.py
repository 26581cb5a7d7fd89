"""The difference of two rows against published examples, scipy and hand arithmetic."""

from __future__ import annotations

import math

import pytest
from scipy import stats

from repro.stats.pairs import Sample, over_tasks, welch


def test_welch_by_hand() -> None:
    """Variance / n is 1 on both sides, so the error is the root of 2; t quantiles of a table."""
    found = welch(Sample(63.0, 2.0, 4), Sample(60.0, 2.0, 4))
    assert found is not None
    assert (found.value, found.freedom) == pytest.approx((3, 6))
    assert found.high - found.value == pytest.approx(2.447 * math.sqrt(2), abs=0.001)
    assert 0.05 < found.p < 0.10  # t = 2.121 lies between 1.943 (10 %) and 2.447 (5 %)
    uneven = welch(Sample(63.0, 3.0, 9), Sample(60.0, 4.0, 16))
    assert uneven is not None
    assert uneven.freedom == pytest.approx(2**2 / (1 / 8 + 1 / 15))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ([60.1, 61.3], [58.0, 58.9, 57.2, 59.9, 58.1]),
        ([0.1, 0.3], [97.0, 97.5]),
        ([5.0, 5.1, 5.2], [6.0, 7.0]),
    ],
)
def test_welch_of_runs_is_scipys(first: list[float], second: list[float]) -> None:
    samples = [Sample(float(stats.tmean(v)), float(stats.tstd(v)), len(v)) for v in (first, second)]
    found, theirs = welch(*samples), stats.ttest_ind(first, second, equal_var=False)
    assert found is not None
    assert (found.freedom, found.p) == pytest.approx((theirs.df, theirs.pvalue))
    assert (found.low, found.high) == pytest.approx(tuple(theirs.confidence_interval()))
    from_stats = stats.ttest_ind_from_stats(
        *(x for s in samples for x in (s.mean, s.sd, s.n)), equal_var=False
    )
    assert found.p == pytest.approx(from_stats.pvalue)


@pytest.mark.parametrize(
    "lacking", [Sample(60.0), Sample(60.0, n=3), Sample(60.0, 1.0), Sample(60.0, n=1)]
)
def test_one_number_without_a_deviation_has_no_interval(lacking: Sample) -> None:
    known = Sample(61.0, 1.0, 5)
    assert (welch(lacking, known), welch(known, lacking)) == (None, None)


def test_runs_that_are_all_alike_give_no_interval() -> None:
    assert welch(Sample(60.0, 0.0, 3), Sample(61.0, 0.0, 3)) is None


def test_over_tasks_is_the_paired_t_and_wilcoxons_test() -> None:
    ours, theirs = [60.0, 88.1, 70.3, 91.0, 85.5, 66.0], [58.0, 88.4, 69.0, 90.6, 85.0, 66.9]
    found = over_tasks([a - b for a, b in zip(ours, theirs, strict=True)])
    expected = stats.ttest_rel(ours, theirs)
    assert found is not None
    assert found.t is not None
    assert found.t.p == pytest.approx(expected.pvalue)
    assert (found.t.low, found.t.high) == pytest.approx(tuple(expected.confidence_interval()))
    # |differences| in order 0.3 0.4 0.5 0.9 1.3 2.0: the negative ones, 0.3 and 0.9, have rank sum
    # 5. Of the 2**6 signs, 10 sets of the ranks 1..6 have a sum of at most 5: p = 2 x 10 / 64.
    assert found.wilcoxon == pytest.approx(20 / 64)


def test_few_tasks_and_equal_differences_have_no_interval() -> None:
    assert over_tasks([]) is None
    for differences in ([1.5], [1.5, 1.5], [0.0, 0.0, 0.0]):
        found = over_tasks(differences)
        assert found is not None
        assert (found.tasks, found.t, found.wilcoxon) == (len(differences), None, None)
    assert over_tasks([1.0, 2.0, 3.0]).wilcoxon == 0.25  # type: ignore[union-attr]
