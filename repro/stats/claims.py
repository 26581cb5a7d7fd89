"""What runs say of a statement "A is more than B", or "A and B differ by at most so much".

Intervals are Welch's t intervals of the gap between two means; where both numbers are of the same
runs, t intervals of the gap within each run. One run has no interval.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Kind = Literal["more", "within"]
Interval = tuple[float, float]
Outcome = Literal["confirmed", "reversed", "open"]
Printed = Literal["holds", "ties", "fails"]
NOISE = 1e-9
"""Of binary fractions; far below any printed digit."""


@dataclass(frozen=True, slots=True)
class Gap:
    """The gap between two means, with what is known of it; intervals are None for a single run.

    `interval` covers 95 %, `equivalence` 90 %. `probability` is P(A > B): the share of pairs of
    runs in which A's is higher, ties half.
    """

    value: float
    runs: tuple[int, int]
    probability: float
    interval: Interval | None = None
    equivalence: Interval | None = None


def gap_between(
    left: Sequence[float], right: Sequence[float], paired: bool = False, floor: float = 0.0
) -> Gap:
    """The gap of `left` over `right`, a value a run; `paired`: of the same runs, in the same order.

    `floor`: the least standard deviation of a side's runs, for runs that all score the same.
    Raises ValueError for no run, or for paired values that are not as many.
    """
    if not left or not right:
        raise ValueError("no runs to compare")
    value = statistics.fmean(left) - statistics.fmean(right)
    if paired:
        differences = [a - b for a, b in zip(left, right, strict=True)]
        error, freedom = _paired_error(differences, floor)
        probability = superiority(differences, [0.0])
    else:
        error, freedom = welch_error(left, right, floor)
        probability = superiority(left, right)
    return _gap(value, (len(left), len(right)), probability, error, freedom)


def gap_to(values: Sequence[float], number: float, floor: float = 0.0) -> Gap:
    """The gap of runs over a plain number. Raises ValueError for no run."""
    if not values:
        raise ValueError("no runs to compare")
    error, freedom = _paired_error(values, floor)
    value = statistics.fmean(values) - number
    return _gap(value, (len(values), 0), superiority(values, [number]), error, freedom)


def welch_error(
    left: Sequence[float], right: Sequence[float], floor: float = 0.0
) -> tuple[float, float]:
    """Standard error of the gap between two means, and its degrees of freedom (Welch 1947); the
    freedom is 0 where a side has one run.
    """
    if len(left) < 2 or len(right) < 2:
        return math.nan, 0.0
    parts = [max(statistics.variance(side), floor**2) / len(side) for side in (left, right)]
    total = math.fsum(parts)
    if total == 0:
        return 0.0, float(len(left) + len(right) - 2)
    shares = (part**2 / (len(side) - 1) for part, side in zip(parts, (left, right), strict=True))
    return math.sqrt(total), total**2 / math.fsum(shares)


def superiority(left: Sequence[float], right: Sequence[float]) -> float:
    """P(A > B) over all pairs of runs, ties half (Bouthillier et al. 2021)."""
    wins = math.fsum((a > b) + 0.5 * (a == b) for a in left for b in right)
    return wins / (len(left) * len(right))


def judge(gap: Gap, kind: Kind, by: float = 0.0) -> Outcome:
    """Whether the runs settle the statement.

    "more" asks for the whole 95 % interval above 0 (or below: reversed); "within" for the 90 % one
    inside ±by (two one-sided tests at 5 %), reversed where the 95 % one is wholly outside.
    """
    if gap.interval is None or gap.equivalence is None:
        return "open"
    low, high = gap.interval
    if kind == "more":
        return "confirmed" if low > 0 else "reversed" if high < 0 else "open"
    if gap.equivalence[0] > -by and gap.equivalence[1] < by:
        return "confirmed"
    return "reversed" if low > by or high < -by else "open"


def direction(gap: Gap) -> Outcome:
    """What the means alone say of "more"."""
    return "confirmed" if gap.value > 0 else "reversed" if gap.value < 0 else "open"


def judge_printed(difference: float, rounding: float, kind: Kind, by: float = 0.0) -> Printed:
    """Whether printed numbers bear a statement out.

    `rounding` is how far the difference may be off, as each number is rounded: what is less is a
    tie for "more", and is allowed beyond `by` for "within".
    """
    if kind == "within":
        beyond = abs(difference) - by
        return "holds" if beyond <= NOISE or beyond < rounding - NOISE else "fails"
    if abs(difference) <= NOISE or abs(difference) < rounding - NOISE:
        return "ties"
    return "holds" if difference > 0 else "fails"


def judge_counted(difference: float, unit: float, kind: Kind, by: float = 0.0) -> Outcome:
    """The same of what is counted, not measured: `unit` is that of the printed digits."""
    found = judge_printed(difference, unit, kind, by)
    return "confirmed" if found == "holds" else "reversed"


def _paired_error(values: Sequence[float], floor: float) -> tuple[float, float]:
    """Standard error of a mean, and its degrees of freedom: 0 for one value."""
    if len(values) < 2:
        return math.nan, 0.0
    return max(statistics.stdev(values), floor) / math.sqrt(len(values)), len(values) - 1.0


def _gap(
    value: float, runs: tuple[int, int], probability: float, error: float, freedom: float
) -> Gap:
    if freedom == 0:
        return Gap(value, runs, probability)
    from scipy.special import stdtrit

    wide, narrow = (float(stdtrit(freedom, p)) * error for p in (0.975, 0.95))
    return Gap(
        value,
        runs,
        probability,
        interval=(value - wide, value + wide),
        equivalence=(value - narrow, value + narrow),
    )
