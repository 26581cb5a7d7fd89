"""GLUE's metrics (Wang et al. 2018, Table 1) as fractions, from predictions and gold labels.

Classes are ints, numbers are floats, both (rows,) and in the same order. The numbers are those of
scikit-learn and scipy; where a correlation is undefined the answer is None, never NaN.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Classes = Sequence[int] | NDArray[np.integer]
Numbers = Sequence[float] | NDArray[np.floating]


def accuracy(predicted: Classes, gold: Classes) -> float:
    """The share of rows that are right."""
    pairs = list(zip(predicted, gold, strict=True))
    return sum(int(p) == int(g) for p, g in pairs) / len(pairs)


def f1(predicted: Classes, gold: Classes) -> float:
    """F1 of class 1; 0 where no row is or is called 1."""
    cells = Counter((int(p), int(g)) for p, g in zip(predicted, gold, strict=True))
    called = sum(count for (p, _), count in cells.items() if p == 1)
    right = sum(count for (_, g), count in cells.items() if g == 1)
    return 2 * cells[1, 1] / (called + right) if called + right else 0.0


def matthews(predicted: Classes, gold: Classes) -> float:
    """Matthews' correlation of two or more classes (Gorodkin 2004).

    0 by convention where all predictions, or all labels, are one class.
    """
    pairs = [(int(p), int(g)) for p, g in zip(predicted, gold, strict=True)]
    called, real = Counter(p for p, _ in pairs), Counter(g for _, g in pairs)
    rows, right = len(pairs), sum(p == g for p, g in pairs)
    covariance = right * rows - sum(called[k] * real[k] for k in called)
    spread = [rows**2 - sum(count**2 for count in side.values()) for side in (called, real)]
    return covariance / math.sqrt(spread[0] * spread[1]) if all(spread) else 0.0


def pearson(predicted: Numbers, gold: Numbers) -> float | None:
    """Pearson's correlation; None where either side has one value only.

    Raises FloatingPointError for a number that is not finite.
    """
    x, y = _finite(predicted), _finite(gold)
    if len(x) != len(y):
        raise ValueError(f"{len(x)} predictions for {len(y)} labels")
    # asked before the means, whose rounding would leave noise to correlate
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        return None
    x, y = _unit(x), _unit(y)
    return float(np.clip(x @ y, -1, 1))


def spearman(predicted: Numbers, gold: Numbers) -> float | None:
    """Pearson's correlation of the ranks, ties sharing their mean rank; otherwise as `pearson`."""
    return pearson(_ranks(_finite(predicted)), _ranks(_finite(gold)))


def majority_share(predicted: Classes) -> float:
    """The share of rows that got the commonest prediction: 1 for a constant one."""
    return max(Counter(map(int, predicted)).values()) / len(predicted)


def _finite(numbers: Numbers) -> NDArray[np.float64]:
    values = np.asarray(numbers, dtype=np.float64)
    if not np.isfinite(values).all():
        raise FloatingPointError("a prediction or a label is not finite")
    return values


def _unit(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Centred and of length 1; scaled first, so that no square overflows or vanishes."""
    x = x - x.mean()
    x = x / np.abs(x).max()
    return x / np.sqrt(x @ x)


def _ranks(x: NDArray[np.float64]) -> NDArray[np.float64]:
    _, place, counts = np.unique(x, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    mean: NDArray[np.float64] = last - (counts - 1) / 2
    return mean[place]
