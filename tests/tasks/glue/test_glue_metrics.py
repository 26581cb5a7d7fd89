"""GLUE's metrics equal scikit-learn's, scipy's and the definitions, on edge cases too."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from repro.tasks.sentences.metrics import accuracy, f1, majority_share, matthews, pearson, spearman

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


@pytest.mark.parametrize("pairs", CASES)
def test_two_classes_follow_the_definitions(pairs: Pairs) -> None:
    tp, fp, fn, tn = confusion(pairs)
    predicted, gold = split(pairs)
    assert accuracy(predicted, gold) == (tp + tn) / len(pairs)
    precision = tp / (tp + fp) if tp + fp else 0.0
    recall = tp / (tp + fn) if tp + fn else 0.0
    expected = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    assert f1(predicted, gold) == pytest.approx(expected)
    below = (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)
    expected = (tp * tn - fp * fn) / math.sqrt(below) if below else 0.0
    assert matthews(predicted, gold) == pytest.approx(expected)


def sklearn_agrees(predicted: list[int], gold: list[int], *, binary: bool) -> None:
    from sklearn import metrics

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns of one class only
        assert accuracy(predicted, gold) == pytest.approx(metrics.accuracy_score(gold, predicted))
        expected = metrics.matthews_corrcoef(gold, predicted)
        assert matthews(predicted, gold) == pytest.approx(expected)
        if binary:
            assert f1(predicted, gold) == pytest.approx(metrics.f1_score(gold, predicted))


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), min_size=1, max_size=40))
def test_two_classes_equal_scikit_learn(pairs: Pairs) -> None:
    sklearn_agrees(*split(pairs), binary=True)


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=40))
def test_three_classes_equal_scikit_learn(pairs: Pairs) -> None:
    sklearn_agrees(*split(pairs), binary=False)


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


@pytest.mark.parametrize("metric", [accuracy, f1, matthews, pearson, spearman])
def test_as_many_predictions_as_labels_are_needed(metric: object) -> None:
    assert callable(metric)
    with pytest.raises(ValueError, match=r"predictions|zip"):
        metric([1, 0, 1], [1, 0])


@pytest.mark.parametrize(
    ("predicted", "share"), [([0, 0, 0], 1.0), ([0, 1, 1, 2], 0.5), ([2], 1.0), ([0, 1], 0.5)]
)
def test_the_majority_share_is_that_of_the_commonest_prediction(
    predicted: list[int], share: float
) -> None:
    assert majority_share(predicted) == share
