"""GLUE's metrics follow the definitions, on edge cases too."""

from __future__ import annotations

import math
import warnings
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from repro.spec.glue import DIAGNOSTIC, GLUE
from repro.tasks.metrics.glue_scores import (
    CONFIGURATIONS,
    METRICS,
    accuracy,
    f1,
    matthews,
    pearson,
    scores,
    spearman,
)

Pairs = list[tuple[int, int]]
CASES: list[Pairs] = [
    [(1, 1), (0, 0), (1, 0), (0, 1), (1, 1)],
    [(1, 1), (1, 0), (1, 1), (1, 0)],  # constant prediction
    [(1, 1), (0, 1), (1, 1)],  # one gold class
    [(0, 0), (0, 0)],  # one class in both
    [(1, 0), (1, 0)],  # all wrong, both constant
    [(1, 1)],
    [(0, 0)],
    [(1, 0)],
    [(1, 0), (0, 1)],  # wrong everywhere
]


def split(pairs: Pairs) -> tuple[list[int], list[int]]:
    return [p for p, _ in pairs], [g for _, g in pairs]


def confusion(pairs: Pairs) -> tuple[int, int, int, int]:
    """True positives, false positives, false negatives, true negatives."""
    counts = [sum(pair == cell for pair in pairs) for cell in ((1, 1), (1, 0), (0, 1), (0, 0))]
    return counts[0], counts[1], counts[2], counts[3]


def two_classes_follow_the_definitions(pairs: Pairs) -> None:
    tp, fp, fn, tn = confusion(pairs)
    predicted, gold = split(pairs)
    assert accuracy(predicted, gold) == (tp + tn) / len(pairs)
    assert f1(predicted, gold) == (2 * tp / (2 * tp + fp + fn) if tp + fp + fn else 0.0)
    below = (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)
    expected = (tp * tn - fp * fn) / math.sqrt(below) if below else 0.0
    assert matthews(predicted, gold) == pytest.approx(expected)


@pytest.mark.filterwarnings("ignore:A single label was found")
@pytest.mark.parametrize("pairs", CASES)
def test_two_classes_follow_the_definitions(pairs: Pairs) -> None:
    two_classes_follow_the_definitions(pairs)


@pytest.mark.filterwarnings("ignore:A single label was found")
@settings(max_examples=40)
@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), min_size=1, max_size=40))
def test_any_two_classes_follow_the_definitions(pairs: Pairs) -> None:
    two_classes_follow_the_definitions(pairs)


@pytest.mark.filterwarnings("ignore:A single label was found")
@settings(max_examples=40)
@given(st.lists(st.tuples(st.integers(-1, 2), st.integers(0, 2)), min_size=1, max_size=40))
def test_more_classes_follow_gorodkins_definition(pairs: Pairs) -> None:
    predicted, gold = split(pairs)
    right, rows = sum(p == g for p, g in pairs), len(pairs)
    assert accuracy(predicted, gold) == right / rows
    called, real = Counter(predicted), Counter(gold)
    covariance = right * rows - sum(called[k] * real[k] for k in called)
    spread = [rows**2 - sum(count**2 for count in side.values()) for side in (called, real)]
    expected = covariance / math.sqrt(spread[0] * spread[1]) if all(spread) else 0.0
    assert matthews(predicted, gold) == expected


def test_matthews_of_a_large_set_does_not_overflow() -> None:
    """A product of four counts near 10^5 needs more than 64 bits."""
    gold = np.arange(400_000) % 2
    predicted = gold.copy()
    predicted[:100_000] ^= 1  # a quarter of either class is wrong: (0.75 - 0.25)
    assert matthews(predicted, gold) == pytest.approx(0.5)
    assert matthews(gold, gold) == 1.0


@pytest.mark.parametrize(
    ("predicted", "gold", "expected"),
    [
        ([1.0, 2.0, 3.0], [10.0, 20.0, 30.0], (1.0, 1.0)),
        ([1.0, 2.0, 3.0], [3.0, 2.0, 1.0], (-1.0, -1.0)),
        # deviations (-1, 0, 1) and (-7, -1, 8) / 3: 5 / sqrt(2 * 38 / 3); ranks agree
        ([1.0, 2.0, 3.0], [1.0, 3.0, 6.0], (5 / math.sqrt(2 * 38 / 3), 1.0)),
        # a tie: ranks (1.5, 1.5, 3) against (1, 2, 3): 1.5 / sqrt(1.5 * 2)
        ([2.0, 2.0, 5.0], [1.0, 2.0, 3.0], (math.sqrt(3) / 2, math.sqrt(3) / 2)),
    ],
)
def test_correlations_by_hand(
    predicted: list[float], gold: list[float], expected: tuple[float, float]
) -> None:
    assert pearson(predicted, gold) == pytest.approx(expected[0])
    assert spearman(predicted, gold) == pytest.approx(expected[1])


NUMBERS = st.one_of(
    st.sampled_from([0.0, 1.25, 2.5, 5.0]),  # ties
    st.floats(-1e3, 1e3, width=32, allow_subnormal=False),
)


@settings(max_examples=40)
@given(st.lists(st.tuples(NUMBERS, NUMBERS), min_size=2, max_size=30))
def test_correlations_equal_scipy(pairs: list[tuple[float, float]]) -> None:
    from scipy import stats

    x, y = (np.array(side) for side in zip(*pairs, strict=True))
    constant = len(set(x)) == 1 or len(set(y)) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns of constant and of nearly constant input
        expected = {pearson: stats.pearsonr, spearman: stats.spearmanr}
        for ours, theirs in expected.items():
            found = ours(x, y)
            assert (found is None) == constant
            if found is not None:
                assert found == pytest.approx(theirs(x, y).statistic, abs=1e-6)


@pytest.mark.parametrize("metric", [pearson, spearman])
def test_a_correlation_that_is_undefined_is_none(metric: object) -> None:
    assert callable(metric)
    for predicted, gold in (
        ([0.1] * 7, [1.0, 2.0, 3.0, 4.0, 5.0, 0.0, 2.0]),  # the mean of 0.1s is not 0.1 exactly
        ([1.0, 2.0], [3.0, 3.0]),
        ([1.0], [2.0]),
    ):
        assert metric(predicted, gold) is None


@pytest.mark.parametrize("metric", [pearson, spearman])
@pytest.mark.parametrize("broken", [math.nan, math.inf, -math.inf])
def test_numbers_that_are_not_finite_are_refused(metric: object, broken: float) -> None:
    assert callable(metric)
    for predicted, gold in (([1.0, broken], [1.0, 2.0]), ([1.0, 2.0], [broken, 2.0])):
        with pytest.raises(FloatingPointError):
            metric(predicted, gold)


@pytest.mark.parametrize("name", METRICS)
def test_as_many_predictions_as_labels_are_needed_and_at_least_one(name: str) -> None:
    with pytest.raises(ValueError, match="3 predictions for 2 labels"):
        scores([name], [1, 0, 1], [1, 0])
    with pytest.raises(ValueError, match="0 predictions for 0 labels"):
        scores([name], [], [])


def test_the_combined_score_is_the_mean_and_undefined_if_a_metric_is() -> None:
    # tp, fp, fn, tn = 2, 1, 0, 1
    found = scores(["f1", "accuracy"], [1, 0, 1, 1], [1, 0, 0, 1], combined=True)
    assert found == {"f1": 0.8, "accuracy": 0.75, "combined": pytest.approx(0.775)}
    none = dict.fromkeys(["spearman", "pearson", "combined"])
    assert scores(["spearman", "pearson"], [2.0, 2.0], [1.0, 2.0], combined=True) == none


def test_a_zero_has_no_sign() -> None:
    # deviations (-1, 1, 1, -1) and (-1, -1, 1, 1), either way round
    for predicted in ([0, 1, 1, 0], [1, 0, 0, 1]):
        found = scores(["matthews", "pearson", "spearman"], predicted, [0, 0, 1, 1])
        assert [math.copysign(1, value or 0.0) for value in found.values()] == [1, 1, 1]
        assert list(found.values()) == [0, 0, 0]


@pytest.mark.filterwarnings("error")
def test_nothing_is_said_of_constant_classes_or_nearly_constant_numbers() -> None:
    scores(["accuracy", "f1", "matthews"], [0] * 30, [0] * 30)
    scores(["accuracy", "matthews"], list(range(30)), list(range(30)))
    scores(["pearson", "spearman"], [1.0, 1.0, 1.0 + 1e-15], [1.0, 2.0, 3.0])


def test_a_mean_too_large_for_a_double_leaves_the_correlation_undefined() -> None:
    assert scores(["pearson", "spearman"], [1.7e308, 1.6e308, 0.0], [2.0, 1.0, 0.0]) == {
        "pearson": None, "spearman": pytest.approx(1.0),
    }  # fmt: skip


def test_a_task_has_the_metrics_that_the_program_scores() -> None:
    for name, facts in GLUE.items():
        assert set(CONFIGURATIONS[name]) <= set(facts.metrics)
        assert facts.monitor in CONFIGURATIONS[name]
    assert CONFIGURATIONS["ax"] == DIAGNOSTIC.metrics
