"""GLUE's metrics (Wang et al. 2018, Table 1) as fractions, computed by scikit-learn and scipy.

What training calls; it does not import `evaluate`, which takes seconds. `glue.py` is the module.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import pearsonr, rankdata
from sklearn.metrics import accuracy_score, f1_score, matthews_corrcoef

Values = Sequence[int] | Sequence[float] | NDArray[Any]
COMBINED = "combined"


def accuracy(predicted: Values, gold: Values) -> float:
    """The share of rows that are right."""
    return float(accuracy_score(gold, predicted))


def f1(predicted: Values, gold: Values) -> float:
    """F1 of class 1; 0 if no row is or is predicted as 1."""
    return float(f1_score(gold, predicted, labels=[1], average="micro", zero_division=0))


def matthews(predicted: Values, gold: Values) -> float:
    """Matthews' correlation of two or more classes (Gorodkin 2004).

    0 by convention if all predictions, or all labels, are one class.
    """
    return float(matthews_corrcoef(gold, predicted))


def pearson(predicted: Values, gold: Values) -> float | None:
    """Pearson's correlation; None if it is undefined: either side has one value only.

    Raises FloatingPointError for a number that is not finite.
    """
    x, y = _finite(predicted), _finite(gold)
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        return None
    value = float(pearsonr(x, y).statistic)
    return None if math.isnan(value) else value


def spearman(predicted: Values, gold: Values) -> float | None:
    """Pearson's correlation of the ranks, ties sharing their mean rank; otherwise as `pearson`."""
    return pearson(rankdata(_finite(predicted)), rankdata(_finite(gold)))


METRICS: dict[str, Callable[[Values, Values], float | None]] = {
    "accuracy": accuracy,
    "f1": f1,
    "matthews": matthews,
    "pearson": pearson,
    "spearman": spearman,
}
CONFIGURATIONS: dict[str, tuple[str, ...]] = {name: (name,) for name in METRICS} | {
    "cola": ("matthews",),
    "sst2": ("accuracy",),
    "mrpc": ("f1", "accuracy"),
    "stsb": ("spearman", "pearson"),
    "qqp": ("f1", "accuracy"),
    "mnli": ("accuracy",),
    "qnli": ("accuracy",),
    "rte": ("accuracy",),
    "wnli": ("accuracy",),
    "ax": ("matthews",),
}
"""Name of a task or a metric -> what is computed (Wang et al. 2018, Table 1)."""


def scores(
    names: Sequence[str], predicted: Values, gold: Values, *, combined: bool = False
) -> dict[str, float | None]:
    """The named metrics, and with `combined` their mean; None for what is undefined.

    Raises ValueError for no rows or for sides of unequal length, FloatingPointError for numbers
    that are not finite.
    """
    if not len(predicted) or len(predicted) != len(gold):
        raise ValueError(f"{len(predicted)} predictions for {len(gold)} labels")
    predicted, gold = np.asarray(predicted), np.asarray(gold)
    with warnings.catch_warnings():
        # scikit-learn and scipy warn of many classes and of nearly constant numbers
        warnings.simplefilter("ignore")
        values = {name: METRICS[name](predicted, gold) for name in names}
    # a zero has no sign: -0.0 + 0.0 is 0.0
    found = {name: None if value is None else value + 0.0 for name, value in values.items()}
    if combined:
        defined = [value for value in found.values() if value is not None]
        found[COMBINED] = fmean(defined) if len(defined) == len(found) else None
    return found


def _finite(numbers: Values) -> NDArray[np.float64]:
    values = np.asarray(numbers, dtype=np.float64)
    if not np.isfinite(values).all():
        raise FloatingPointError("a prediction or a label is not finite")
    return values
