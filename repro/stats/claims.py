"""What runs say of a statement "A is more than B", or "A and B differ by at most so much", and of a
claim that is several of them.

Two errors are kept below 5 %, however many statements a claim has and however unevenly its runs
scatter: to confirm a claim of which a statement is false, and to call a claim reversed of which
none is (docs/claims.md has the simulation). A claim is confirmed only if all its statements are, so
each is tested at 5 % (intersection-union; Berger 1982). One reversed statement is enough to reverse
it, so each of m is tested at 5 %/m (Bonferroni). The standard error of a gap is Welch's, which
pools nothing, and its degrees of freedom are those of the side with fewer runs: with these the test
keeps its level for every ratio of the two deviations (Mickey and Brown 1966), which it does not
with Welch's own. Where both numbers are of the same runs, the gap within each run is tested. One
run has no interval.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from repro.stats.verdicts import quantile

Kind = Literal["more", "within"]
Interval = tuple[float, float]
Outcome = Literal["confirmed", "reversed", "open"]
Printed = Literal["holds", "ties", "fails"]
LEVEL = 0.05
"""Of a claim's two errors, each."""
NOISE = 1e-9
"""Of binary fractions; far below any printed digit."""


@dataclass(frozen=True, slots=True)
class Gap:
    """The gap between two means, with what is known of it; intervals are None for a single run.

    `interval` covers 90 %: a one-sided test at 5 % on either side. `adjusted` covers 1 - 10 %/m,
    where m is the number of the claim's statements. `probability` is P(A > B): the share of pairs
    of runs in which A's is higher, ties half.
    """

    value: float
    runs: tuple[int, int]
    probability: float
    interval: Interval | None = None
    adjusted: Interval | None = None


def gap_between(
    left: Sequence[float],
    right: Sequence[float],
    paired: bool = False,
    floor: float = 0.0,
    statements: int = 1,
) -> Gap:
    """The gap of `left` over `right`, a value a run; `paired`: of the same runs, in the same order.

    `floor`: the least standard deviation of a side's runs, for runs that all score the same.
    `statements`: how many the claim has. Raises ValueError for no run, or for paired values that
    are not as many.
    """
    if not left or not right:
        raise ValueError("no runs to compare")
    sides, probability = [left, right], superiority(left, right)
    if paired:
        differences = [a - b for a, b in zip(left, right, strict=True)]
        sides, probability = [differences], superiority(differences, [0.0])
    value = statistics.fmean(left) - statistics.fmean(right)
    return _gap(value, (len(left), len(right)), probability, sides, floor, statements)


def gap_to(values: Sequence[float], number: float, floor: float = 0.0, statements: int = 1) -> Gap:
    """The gap of runs over a plain number. Raises ValueError for no run."""
    if not values:
        raise ValueError("no runs to compare")
    value = statistics.fmean(values) - number
    probability = superiority(values, [number])
    return _gap(value, (len(values), 0), probability, (values,), floor, statements)


def superiority(left: Sequence[float], right: Sequence[float]) -> float:
    """P(A > B) over all pairs of runs, ties half (Bouthillier et al. 2021)."""
    wins = math.fsum((a > b) + 0.5 * (a == b) for a in left for b in right)
    return wins / (len(left) * len(right))


def judge(gap: Gap, kind: Kind, by: float = 0.0) -> Outcome:
    """Whether the runs settle the statement.

    "more" asks for the whole interval above 0; "within" for the whole interval inside ±by (two
    one-sided tests). Reversed: the whole adjusted interval below 0, or outside ±by.
    """
    if gap.interval is None or gap.adjusted is None:
        return "open"
    (low, high), (least, most) = gap.interval, gap.adjusted
    if kind == "more":
        return "confirmed" if low > 0 else "reversed" if most < 0 else "open"
    if -by < low and high < by:
        return "confirmed"
    return "reversed" if least > by or most < -by else "open"


def conclude(outcomes: Sequence[Outcome]) -> Outcome:
    """What follows for a claim: all its statements must be confirmed, one reversed is enough."""
    if "reversed" in outcomes:
        return "reversed"
    return "confirmed" if set(outcomes) == {"confirmed"} else "open"


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


def _gap(
    value: float,
    runs: tuple[int, int],
    probability: float,
    sides: Sequence[Sequence[float]],
    floor: float,
    statements: int,
) -> Gap:
    """The gap with its intervals; `sides` are the samples whose means it adds or subtracts."""
    freedom = min(len(side) for side in sides) - 1
    if freedom == 0:
        return Gap(value, runs, probability)
    squares = [max(statistics.variance(side), floor**2) / len(side) for side in sides]
    error = math.sqrt(math.fsum(squares))
    half, wide = (quantile(1 - LEVEL / m, freedom) * error for m in (1, statements))
    return Gap(
        value,
        runs,
        probability,
        interval=(value - half, value + half),
        adjusted=(value - wide, value + wide),
    )
