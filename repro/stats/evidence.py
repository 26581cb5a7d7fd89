"""What runs say about a published number: intervals, a p-value, and how many runs would settle it.

The rule is fixed before any result exists: see docs/verdicts.md. In the units of the table.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from repro.stats.spread import Spread
from repro.stats.summary import Summary, variation

MOST_SEEDS = 1000
"""More seeds than this settle nothing in practice."""


@dataclass(frozen=True, slots=True)
class Target:
    """A published number: `unit` is one step of its last printed digit, `n` the runs behind it.

    `sd` is the deviation of those runs, `sem` the standard error where the paper prints that
    instead; each is None where it is not printed.
    """

    value: float
    unit: float
    n: int | None = None
    sd: float | None = None
    sem: float | None = None


@dataclass(frozen=True, slots=True)
class Evidence:
    """A reproduced mean beside a published number.

    `difference` is reproduced minus published, `margin` the largest one that changes no conclusion
    of the paper's (half a unit of the last printed digit is in it). `equivalence` (90 %) and
    `interval` (95 %) are t intervals of the difference, None for one run. `p` is two-sided, of the
    published number among further results of ours; `adjusted` the same after Holm over the table.
    `seeds` of ours would settle it, if the difference stays; None: no number of ours does.
    """

    difference: float
    margin: float
    n: int
    paper_n: int | None
    spread: Spread | None = None
    equivalence: tuple[float, float] | None = None
    interval: tuple[float, float] | None = None
    p: float | None = None
    adjusted: float | None = None
    variation: float | None = None
    seeds: int | None = None
    basis: str = ""


def weigh(ours: Summary, target: Target, margin: float, spread: Spread | None) -> Evidence:
    """The evidence of a cell; `margin` without the rounding of the printed number."""
    difference, margin = ours.mean - target.value, margin + target.unit / 2
    values = variation([target.value, *ours.values])
    bare = Evidence(difference, margin, ours.n, target.n, variation=values)
    if spread is None or ours.n < 2:
        return bare
    spread = replace(spread, sd=max(spread.sd, target.unit))
    error = _error(spread, ours.n, target, known=True)
    return replace(
        bare,
        spread=spread,
        equivalence=_around(difference, _quantile(0.95, spread.freedom) * error),
        interval=_around(difference, _quantile(0.975, spread.freedom) * error),
        p=_two_sided(difference / _error(spread, ours.n, target, known=False), spread.freedom),
        seeds=_seeds(difference, margin, spread, target),
        basis=_basis(target),
    )


def _around(centre: float, half: float) -> tuple[float, float]:
    return centre - half, centre + half


def _error(spread: Spread, n: int, target: Target, known: bool) -> float:
    """The standard error of the difference from the paper's expected score (`known`), or of the
    printed number as one more result: it then scatters like a single run where nothing is told.
    """
    return math.sqrt(spread.sd**2 / n + _paper_variance(spread, target, known))


def _paper_variance(spread: Spread, target: Target, known: bool) -> float:
    if target.sem is not None:
        return target.sem**2
    if target.n is not None:
        return (spread.sd if target.sd is None else target.sd) ** 2 / target.n
    return 0.0 if known else spread.sd**2


def _basis(target: Target) -> str:
    if target.sem is not None:
        return "with the paper's own standard error"
    if target.n is None:
        return "against the printed number: the paper does not say of how many runs"
    runs = "1 run" if target.n == 1 else f"{target.n} runs"
    whose = "whose deviation is printed" if target.sd is not None else "that scatter like ours"
    return f"with the paper's {runs}, {whose}"


def _seeds(difference: float, margin: float, spread: Spread, target: Target) -> int | None:
    """The fewest seeds at which the cell is a MATCH, LOWER or HIGHER, if its mean and deviation
    stay as they are; None where even `MOST_SEEDS` are too few.
    """

    def settles(n: int) -> bool:
        freedom = spread.cells * (n - 1)
        if abs(difference) < margin:
            half = _quantile(0.95, freedom) * _error(spread, n, target, known=True)
            return half < margin - abs(difference)
        statistic = difference / _error(spread, n, target, known=False)
        return _two_sided(statistic, freedom) < 0.05

    low, high = 1, MOST_SEEDS
    if not settles(high):
        return None
    while high - low > 1:  # more seeds never unsettle: both errors fall with n
        middle = (low + high) // 2
        low, high = (low, middle) if settles(middle) else (middle, high)
    return high


def _quantile(p: float, freedom: int) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(freedom, p))


def _two_sided(statistic: float, freedom: int) -> float:
    from scipy.special import stdtr

    return 2 * float(stdtr(freedom, -abs(statistic)))


def holm(values: Sequence[float]) -> list[float]:
    """These p-values, each adjusted for being one of so many (Holm 1979)."""
    order = sorted(range(len(values)), key=lambda index: values[index])
    adjusted, least = [0.0] * len(values), 0.0
    for rank, index in enumerate(order):
        least = max(least, min(1.0, (len(values) - rank) * values[index]))
        adjusted[index] = least
    return adjusted
