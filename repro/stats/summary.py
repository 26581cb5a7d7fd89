"""What runs say in few numbers: mean or median, spread, the best of k, the share that collapsed."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Statistic = Literal["mean", "median"]
"""What a table prints of the runs of a cell."""


@dataclass(frozen=True, slots=True)
class Summary:
    """What is shown of the runs of a cell: `mean` is their mean or, in a table of medians, their
    median; `sd` their sample standard deviation, None for one run.
    """

    mean: float
    sd: float | None
    values: tuple[float, ...]

    @property
    def sem(self) -> float | None:
        """Standard error of the mean; None for one run."""
        return None if self.sd is None else self.sd / math.sqrt(self.n)

    def __str__(self) -> str:
        """7.1 ± 0.3."""
        return f"{self.mean:.1f}" + (f" ± {self.sd:.1f}" if self.sd is not None else "")

    @property
    def n(self) -> int:
        """Number of runs."""
        return len(self.values)


def summarise(values: Sequence[float], statistic: Statistic = "mean") -> Summary:
    """The summary of one or more finite values. Raises ValueError for none or a non-finite one."""
    if not values or not all(math.isfinite(value) for value in values):
        raise ValueError(f"no finite values to summarise in {list(values)}")
    sd = statistics.stdev(values) if len(values) > 1 else None
    centre = statistics.fmean(values) if statistic == "mean" else statistics.median(values)
    return Summary(centre, sd, tuple(values))


def expected_maximum(values: Sequence[float], k: int) -> float:
    """The mean, over all subsets of `k` of these values, of the largest one in the subset.

    What a paper's "best of k" is to be compared with. Raises ValueError for k below 1 or above the
    number of values.
    """
    if not 1 <= k <= len(values):
        raise ValueError(f"no best of {k} among {len(values)} values")
    subsets = math.comb(len(values), k)
    # The i-th smallest (from 0) is the largest of the subsets that take k - 1 of the i below it.
    parts = (value * math.comb(i, k - 1) for i, value in enumerate(sorted(values)))
    return math.fsum(parts) / subsets


def expected_best(values: Sequence[float], k: int) -> float:
    """The expected largest of `k` values drawn at random, with replacement, from these.

    With v_1 <= ... <= v_n: the sum of v_i ((i / n)^k - ((i - 1) / n)^k), what a search of `k`
    random settings is expected to find (Dodge et al. 2019, "Show Your Work"). Raises ValueError for
    k below 1 or no values.
    """
    if k < 1 or not values:
        raise ValueError(f"no best of {k} draws from {len(values)} values")
    n = len(values)
    parts = (
        value * ((i / n) ** k - ((i - 1) / n) ** k) for i, value in enumerate(sorted(values), 1)
    )
    return math.fsum(parts)


def variation(values: Sequence[float]) -> float | None:
    """CV*, the coefficient of variation for small samples, in percent (Belz et al. 2022).

    Of the published number and the reproduced ones together; None for one value or a mean that is
    not above 0, as the measure depends on where the scale has its zero.
    """
    n, mean = len(values), statistics.fmean(values)
    if n < 2 or mean <= 0:
        return None
    unbiased = math.sqrt(2 / (n - 1)) * math.exp(math.lgamma(n / 2) - math.lgamma((n - 1) / 2))
    return 100 * (1 + 1 / (4 * n)) * statistics.stdev(values) / unbiased / mean


def share_interval(count: int, total: int) -> tuple[float, float]:
    """The exact 95 % interval of a share of `count` among `total` (Clopper and Pearson)."""
    from scipy.special import betaincinv

    low = 0.0 if count == 0 else float(betaincinv(count, total - count + 1, 0.025))
    high = 1.0 if count == total else float(betaincinv(count + 1, total - count, 0.975))
    return low, high
