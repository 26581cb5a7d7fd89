"""How much runs of one column scatter: one deviation for its cells, where they are alike."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from repro.stats.summary import Summary

UNEVEN = 0.01
"""Below this p-value a column's cells are not alike, and each keeps its own deviation."""


@dataclass(frozen=True, slots=True)
class Spread:
    """A standard deviation of single runs, the degrees of freedom behind it, and of how many cells.

    `cells` above 1: pooled over that many cells of a column.
    """

    sd: float
    freedom: int
    cells: int = 1


def pooled(cells: Sequence[Summary]) -> Spread | None:
    """The common deviation of a column's cells; None where no cell has two runs, or where the
    cells are uneven (Brown and Forsythe, p < 0.01): then each has its own.
    """
    several = [cell for cell in cells if cell.sd is not None]
    freedom = sum(cell.n - 1 for cell in several)
    if not several or (len(several) > 1 and uneven([cell.values for cell in several])):
        return None
    squares = math.fsum((cell.n - 1) * (cell.sd or 0.0) ** 2 for cell in several)
    return Spread(math.sqrt(squares / freedom), freedom, len(several))


def own(cell: Summary) -> Spread | None:
    """The cell's own deviation; None for one run."""
    return None if cell.sd is None else Spread(cell.sd, cell.n - 1)


def uneven(groups: Sequence[Sequence[float]]) -> bool:
    """Whether the groups' spreads differ: an analysis of variance of the distances from each
    group's median (Brown and Forsythe 1974).
    """
    from scipy.special import fdtrc

    distances = [[abs(value - statistics.median(group)) for value in group] for group in groups]
    total, k = sum(len(group) for group in distances), len(distances)
    centre = statistics.fmean([value for group in distances for value in group])
    means = [statistics.fmean(group) for group in distances]
    between = math.fsum(
        len(group) * (mean - centre) ** 2 for group, mean in zip(distances, means, strict=True)
    )
    within = math.fsum(
        (value - mean) ** 2 for group, mean in zip(distances, means, strict=True) for value in group
    )
    if within == 0:
        return between > 0
    statistic = (between / (k - 1)) / (within / (total - k))
    return float(fdtrc(k - 1, total - k, statistic)) < UNEVEN
