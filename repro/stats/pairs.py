"""What the numbers of two models say about their difference, column by column and over tasks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from repro.stats.verdicts import LEVEL, below, quantile


@dataclass(frozen=True, slots=True)
class Sample:
    """The mean of some runs; `sd` and `n` are None where they are not known."""

    mean: float
    sd: float | None = None
    n: int | None = None

    @property
    def scatters(self) -> bool:
        """Whether a deviation of several runs is known."""
        return self.sd is not None and self.n is not None and self.n > 1


@dataclass(frozen=True, slots=True)
class Difference:
    """A mean difference with its 95 % interval; `p` is two-sided, of no difference."""

    value: float
    low: float
    high: float
    freedom: float
    p: float


@dataclass(frozen=True, slots=True)
class Effect:
    """The mean over tasks of the difference on each; `t` and `wilcoxon` (its p-value) are None
    where the tasks are too few or all alike.
    """

    tasks: int
    value: float
    t: Difference | None
    wilcoxon: float | None

    @property
    def least_wilcoxon(self) -> float:
        """The smallest two-sided p-value that so many tasks can give."""
        return 2.0 ** (1 - self.tasks)


def welch(first: Sample, second: Sample) -> Difference | None:
    """First minus second by Welch's t, of runs that may scatter differently on both sides.

    None where the deviation of a side is not known, and where no run of either side differs from
    the others, so that nothing measures how much the means would.
    """
    if not (first.scatters and second.scatters):
        return None
    parts = [(one.sd or 0.0) ** 2 / (one.n or 1) for one in (first, second)]
    total = math.fsum(parts)
    if total == 0:
        return None
    weights = [(part / total) ** 2 for part in parts]
    freedom = 1 / math.fsum(
        weight / ((one.n or 2) - 1) for weight, one in zip(weights, (first, second), strict=True)
    )
    return _by_t(first.mean - second.mean, math.sqrt(total), freedom)


def over_tasks(differences: Sequence[float]) -> Effect | None:
    """Whether the differences on several tasks point one way: paired t, and Wilcoxon's signed
    ranks. None without any.
    """
    if not differences:
        return None
    n, value = len(differences), fmean(differences)
    spread = stdev(differences) if n > 1 else 0.0
    if spread == 0:
        return Effect(n, value, None, None)
    from scipy.stats import wilcoxon

    t = _by_t(value, spread / math.sqrt(n), n - 1)
    return Effect(n, value, t, float(wilcoxon(differences).pvalue))


def _by_t(value: float, error: float, freedom: float) -> Difference:
    half = quantile(1 - LEVEL / 2, freedom) * error
    p = min(1.0, 2 * below(-abs(value) / error, freedom))
    return Difference(value, value - half, value + half, freedom, p)
