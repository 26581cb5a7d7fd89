"""What the comparison of a published and a reproduced number says: the evidence, and the verdict.

Only runs as the paper's, scored on the paper's rows, are comparable, and one run alone never
confirms a number. Runs confirm it if the whole 90 % interval of the difference lies within the
margin. They contradict it if a test rejects that the true difference is at most the margin, at 5 %
over the table. While seeds are missing they do neither. What is counted is compared exactly, to the
printed digits. The rule was fixed before any result existed: see docs/verdicts.md. All numbers are
in the units of the table.
"""

from __future__ import annotations

import math
import statistics
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from repro.stats.summary import Statistic, Summary, variation

MOST_SEEDS = 1000
"""More seeds than this settle nothing in practice."""
LEVEL = 0.05
"""The chance of a false MATCH of a cell, and of a false LOWER or HIGHER anywhere in a table."""

Verdict = Literal[
    "GAP", "NOT COMPARABLE", "SINGLE", "UNDECIDED", "MATCH", "LOWER", "HIGHER", "DIFFERS"
]
MEANINGS: dict[Verdict, str] = {
    "MATCH": "measured: the runs show that the difference is within the margin; counted: equal",
    "LOWER": "measured: the runs show that the score is lower than published by more than the "
    "margin; counted: lower",
    "HIGHER": "measured: the runs show that the score is higher than published by more than the "
    "margin; counted: higher",
    "DIFFERS": "another word or number than published, where nothing is measured",
    "UNDECIDED": "the runs show neither",
    "SINGLE": "one run: shown, never confirmed",
    "NOT COMPARABLE": "other runs or rows than the paper's, or unverified weights or data",
    "GAP": "no finished run",
}

SIGNS: dict[str, str] = {
    "MATCH": "✓", "LOWER": "▼", "HIGHER": "▲", "DIFFERS": "≠", "UNDECIDED": "?", "SINGLE": "1",
    "NOT COMPARABLE": "○", "GAP": "—",
}  # fmt: skip
"""Beside the word, never in place of it."""


def comparable(
    published: float | None, reproduced: Summary | None, missing: str, obstacle: str
) -> tuple[Verdict | None, str]:
    """Whether the two can be compared at all: UNDECIDED where they can, else why not.

    `missing` says why `reproduced` is None, `obstacle` why the reproduced number is not of the
    paper's runs or rows; "" where it is. No verdict where the paper has no number.
    """
    if reproduced is None:
        return "GAP", missing
    if published is None:
        return None, "the paper has no such number"
    if obstacle:
        return "NOT COMPARABLE", obstacle
    return "UNDECIDED", "not weighed yet"


def judge(evidence: Evidence, missing: str = "") -> tuple[Verdict, str]:
    """The verdict on a comparable cell, and its reason.

    `missing` says which of the wanted seeds have no number and why. Then nothing is decided: seeds
    that diverged or were killed are no random part of all seeds, and which ones are not run yet may
    have been chosen by somebody who saw the others.
    """
    outside = abs(evidence.difference) > evidence.margin
    where = f"{'outside' if outside else 'within'} the margin of {evidence.margin:.2f}"
    if missing:
        return "UNDECIDED", f"{where}; {missing}"
    if evidence.low_90 is None or evidence.high_90 is None:
        return "SINGLE", f"one run, {where}"
    if -evidence.margin < evidence.low_90 and evidence.high_90 < evidence.margin:
        return "MATCH", f"{where}, {evidence.basis}"
    adjusted = evidence.p if evidence.p_adjusted is None else evidence.p_adjusted
    if adjusted is not None and adjusted < LEVEL:
        return ("LOWER" if evidence.difference < 0 else "HIGHER"), f"{where}, {evidence.basis}"
    return "UNDECIDED", f"{where}; {_what_settles(evidence)}"


def _what_settles(evidence: Evidence) -> str:
    if evidence.seeds_to_settle is not None:
        return f"about {evidence.seeds_to_settle} seeds would settle it"
    return f"no number of seeds settles it {evidence.basis}"


def compare(
    published: float | str | None, found: float | str, digits: int
) -> tuple[Verdict | None, str]:
    """The verdict on what is counted or stated, not measured: equal, to the printed digits."""
    if published is None:
        return None, "the paper has no such number"
    if isinstance(published, str) or isinstance(found, str):
        return ("MATCH" if published == found else "DIFFERS"), "in words"
    rounded = round(found, digits)
    if rounded == published:
        said = f" to {digits} decimals" if digits > 0 else " to the printed digits"
        return "MATCH", "equal" + (said if digits else "")
    return ("LOWER" if rounded < published else "HIGHER"), "counted, not measured"


@dataclass(frozen=True, slots=True)
class Target:
    """A published number: `unit` is one step of its last printed digit, `n` the runs behind it.

    `sd` is the deviation of those runs, `sem` the standard error if the paper prints that
    instead. Each is None if the paper does not give it. `statistic`: what the number is of its
    runs, and the reproduced one of ours.
    """

    value: float
    unit: float
    n: int | None = None
    sd: float | None = None
    sem: float | None = None
    statistic: Statistic = "mean"


@dataclass(frozen=True, slots=True)
class Evidence:
    """A reproduced mean beside a published number; the fields are columns of a comparison frame.

    `difference` is reproduced minus published, `margin` the largest one that changes no conclusion
    of the paper's (it includes half a unit of the last printed digit). `run_sd` is the deviation of
    single runs, `freedom` the degrees of freedom of the t quantiles. `low_90` to `high_90` and
    `low_95` to `high_95` are t intervals of the difference. `p` is two-sided, of the hypothesis
    that the true difference is at most the margin, and uses `column_sd` if that is larger than
    `run_sd`; `p_adjusted` is p after Holm's correction over the table. All are None for a single
    run. `seeds_to_settle`: so many of ours would settle the cell if its mean and deviation stayed
    as they are; None: no number of ours does. `basis` says what is assumed of the paper's runs.
    """

    difference: float
    margin: float
    low_90: float | None = None
    high_90: float | None = None
    low_95: float | None = None
    high_95: float | None = None
    p: float | None = None
    p_adjusted: float | None = None
    run_sd: float | None = None
    freedom: int | None = None
    column_sd: float | None = None
    cv_star: float | None = None
    seeds_to_settle: int | None = None
    basis: str | None = None


def typical_sd(column: Sequence[Summary]) -> float:
    """The median of the deviations of a column's cells; 0 if none of them has two runs."""
    return statistics.median([cell.sd for cell in column if cell.sd is not None] or [0.0])


def weigh(
    ours: Summary, target: Target, margin: float, column_sd: float = 0.0, tests: int = 1
) -> Evidence:
    """The evidence of a cell.

    Args:
        ours: the reproduced runs.
        target: the published number.
        margin: with the rounding of the printed number.
        column_sd: the typical deviation of the column's cells, see `typical_sd`.
        tests: cells of the table that are tested, for the number of seeds that would settle it.
    """
    difference, cv_star = ours.mean - target.value, variation([target.value, *ours.values])
    if ours.sd is None:
        return Evidence(difference, margin, cv_star=cv_star)
    sd = max(ours.sd, target.unit)  # equal runs scatter by one printed digit
    column_sd, freedom = max(column_sd, sd), _freedom(ours.n, target)
    error = _error(sd, ours.n, target)
    half_90, half_95 = (quantile(1 - level, freedom) * error for level in (LEVEL, LEVEL / 2))
    return Evidence(
        difference,
        margin,
        low_90=difference - half_90,
        high_90=difference + half_90,
        low_95=difference - half_95,
        high_95=difference + half_95,
        p=_beyond(difference, margin, _error(column_sd, ours.n, target), freedom),
        run_sd=sd,
        freedom=freedom,
        column_sd=column_sd,
        cv_star=cv_star,
        seeds_to_settle=_seeds(difference, margin, sd, column_sd, target, tests),
        basis=_basis(target),
    )


def _error(sd: float, n: int, target: Target) -> float:
    """The standard error of the difference between the two expected scores.

    A printed number of unknown n counts as one run: it scatters no more than that.
    """
    ours = sd * _scatter(n, target.statistic)
    if target.sem is not None:
        return math.hypot(ours, target.sem)
    paper_sd = sd if target.sd is None else target.sd
    return math.hypot(ours, paper_sd * _scatter(target.n or 1, target.statistic))


def _scatter(n: int, statistic: Statistic) -> float:
    """The standard error of a mean or median of n runs, in deviations of a run.

    That of the median depends on the law of the runs. It is sqrt(3 / (n + 2)) for the uniform law,
    which has the largest one of all symmetric laws with a single peak; for five normal runs 0.54
    in place of 0.65.
    """
    return math.sqrt(1 / n if statistic == "mean" else 3 / (n + 2))


def _freedom(n: int, target: Target) -> int:
    """Of the deviation that has fewer runs behind it, ours or a printed one.

    With the smaller number the t quantile is never too narrow for two samples of unequal variance
    (Mickey and Brown 1966); Welch's number is, up to 1.6 times the nominal error at 2 to 5 runs.
    """
    printed = target.sd is not None or target.sem is not None
    if printed and target.n is not None and target.n > 1:
        return min(n, target.n) - 1
    return n - 1


def _basis(target: Target) -> str:
    if target.sem is not None:
        return "with the paper's own standard error"
    if target.sd is not None:
        whose = "and the printed deviation"
    elif target.n is None or target.n == 1:
        whose = "that is taken to scatter like ours"
    else:
        whose = "that are taken to scatter like ours"
    if target.statistic == "median" and (target.n or 1) > 1:
        return f"with the median of the paper's {target.n} runs {whose}"
    if target.n is None:
        return f"with the paper's number, of unknown runs, as a single run {whose}"
    runs = "single run" if target.n == 1 else f"{target.n} runs"
    return f"with the paper's {runs} {whose}"


def _beyond(difference: float, margin: float, error: float, freedom: int) -> float:
    """The two-sided p-value of a true difference of at most the margin, either way."""
    return min(1.0, 2 * below((margin - abs(difference)) / error, freedom))


def _seeds(
    difference: float, margin: float, sd: float, column_sd: float, target: Target, tests: int
) -> int | None:
    """The fewest seeds at which the cell is a MATCH, LOWER or HIGHER if its mean and deviation
    stay as they are; None if even `MOST_SEEDS` are too few.
    """

    def settles(n: int) -> bool:
        freedom = _freedom(n, target)
        if abs(difference) < margin:
            half = quantile(1 - LEVEL, freedom) * _error(sd, n, target)
            return half < margin - abs(difference)
        error = _error(column_sd, n, target)
        return tests * _beyond(difference, margin, error, freedom) < LEVEL

    numbers = range(2, MOST_SEEDS + 1)  # more seeds never unsettle: error and quantile fall with n
    place = bisect_left(numbers, True, key=settles)
    return numbers[place] if place < len(numbers) else None


def quantile(p: float, freedom: float) -> float:
    """Of Student's t."""
    from scipy.special import stdtrit

    return float(stdtrit(freedom, p))


def below(statistic: float, freedom: float) -> float:
    """The probability of a smaller t."""
    from scipy.special import stdtr

    return float(stdtr(freedom, statistic))


def holm(values: Sequence[float]) -> list[float]:
    """These p-values, each adjusted for being one of so many (Holm 1979)."""
    order = sorted(range(len(values)), key=lambda index: values[index])
    adjusted, least = [0.0] * len(values), 0.0
    for rank, index in enumerate(order):
        least = max(least, min(1.0, (len(values) - rank) * values[index]))
        adjusted[index] = least
    return adjusted
