"""GLUE's metrics (Wang et al. 2018, Table 1) as fractions, computed by scikit-learn and scipy.

The configuration is a task of GLUE or the name of one metric.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from statistics import fmean
from typing import Any

import datasets
import evaluate
import numpy as np
from numpy.typing import NDArray
from scipy.stats import pearsonr, rankdata
from sklearn.metrics import accuracy_score, f1_score, matthews_corrcoef

from .in_memory import InMemory

Values = Sequence[int] | Sequence[float] | NDArray[Any]

COMBINED = "combined"
DESCRIPTION = """\
GLUE's metrics, as fractions: accuracy, F1 of class 1, Matthews' correlation, and the correlations
of Pearson and Spearman. With two metrics, "combined" is their mean. F1 and Matthews' correlation
are 0 where they are undefined; a correlation of numbers is None where either side is constant.
"""
CITATION = """\
@inproceedings{wang2019glue,
  title={{GLUE}: A Multi-Task Benchmark and Analysis Platform for Natural Language Understanding},
  author={Wang, Alex and Singh, Amanpreet and Michael, Julian and Hill, Felix and Levy, Omer and
    Bowman, Samuel R.},
  booktitle={International Conference on Learning Representations},
  year={2019}
}
"""
INPUTS = """
Args:
    predictions: predicted classes, or numbers for stsb, pearson and spearman.
    references: the right ones, in the same order.
Returns:
    a dictionary of the configuration's metrics, and of their mean, "combined", if there are two.
Examples:
    >>> metric = evaluate.load("repro/tasks/metrics/glue.py", "mrpc")
    >>> metric.compute(predictions=[1, 0, 1, 1], references=[1, 0, 0, 1])
    {'f1': 0.8, 'accuracy': 0.75, 'combined': 0.775}
    >>> metric = evaluate.load("repro/tasks/metrics/glue.py", "pearson")
    >>> metric.compute(predictions=[2.0, 2.0], references=[1.0, 2.0])
    {'pearson': None}
"""


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


class Glue(InMemory, evaluate.Metric):  # type: ignore[misc]
    """The module of `evaluate`."""

    def _info(self) -> evaluate.MetricInfo:
        if self.config_name not in CONFIGURATIONS:
            raise ValueError(
                f"There is no configuration '{self.config_name}'. Name one of "
                f"{', '.join(CONFIGURATIONS)}."
            )
        numbers = {"pearson", "spearman"} & set(CONFIGURATIONS[self.config_name])
        value = datasets.Value("float64" if numbers else "int64")
        return evaluate.MetricInfo(
            description=DESCRIPTION,
            citation=CITATION,
            inputs_description=INPUTS,
            features=datasets.Features({"predictions": value, "references": value}),
            reference_urls=[
                "https://gluebenchmark.com",
                "https://openreview.net/forum?id=rJ4km2R5t7",
                "https://scikit-learn.org/stable/modules/model_evaluation.html",
                "https://docs.scipy.org/doc/scipy/reference/stats.html",
            ],
        )

    def _compute(self, predictions: Values, references: Values) -> dict[str, float | None]:
        names = CONFIGURATIONS[self.config_name]
        return scores(names, predictions, references, combined=len(names) > 1)


def _finite(numbers: Values) -> NDArray[np.float64]:
    values = np.asarray(numbers, dtype=np.float64)
    if not np.isfinite(values).all():
        raise FloatingPointError("a prediction or a label is not finite")
    return values
