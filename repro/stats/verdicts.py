"""What the comparison of a published and a reproduced number says.

Only runs as the paper's, scored on the paper's rows, are comparable, and one run alone never
confirms a number. Runs confirm it where the whole 90 % interval of the difference lies within
the margin, and contradict it where the difference is beyond the margin and the printed number lies
outside the 95 % interval of what such runs give, adjusted over the table. What is counted is
compared exactly, to the printed digits.
"""

from __future__ import annotations

from typing import Literal

from repro.stats.evidence import Evidence
from repro.stats.summary import Summary

Verdict = Literal[
    "GAP", "NOT COMPARABLE", "SINGLE", "UNDECIDED", "MATCH", "LOWER", "HIGHER", "DIFFERS"
]
MEANINGS: dict[Verdict, str] = {
    "MATCH": "measured: the runs show that the difference is within the margin; counted: equal",
    "LOWER": "lower than published, by more than the margin and than chance explains",
    "HIGHER": "higher than published, by more than the margin and than chance explains",
    "DIFFERS": "another word or number than published, where nothing is measured",
    "UNDECIDED": "the runs show neither",
    "SINGLE": "one run: shown, never confirmed",
    "NOT COMPARABLE": "other runs or rows than the paper's, or unverified weights or data",
    "GAP": "no finished run",
}


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


def judge(evidence: Evidence) -> tuple[Verdict, str]:
    """The verdict on a comparable cell, and its reason."""
    outside = abs(evidence.difference) > evidence.margin
    where = f"{'outside' if outside else 'within'} the margin of {evidence.margin:.2f}"
    if evidence.equivalence is None:
        return "SINGLE", f"one run, {where}"
    low, high = evidence.equivalence
    if -evidence.margin < low and high < evidence.margin:
        return "MATCH", f"{where}, {evidence.basis}"
    adjusted = evidence.p if evidence.adjusted is None else evidence.adjusted
    if outside and adjusted is not None and adjusted < 0.05:
        return ("LOWER" if evidence.difference < 0 else "HIGHER"), f"{where}, {evidence.basis}"
    return "UNDECIDED", f"{where}; {_what_settles(evidence)}"


def _what_settles(evidence: Evidence) -> str:
    if evidence.seeds is not None and evidence.seeds > evidence.n:
        return f"about {evidence.seeds} seeds would settle it"
    if evidence.seeds is not None:
        beyond = abs(evidence.difference) > evidence.margin
        if beyond and evidence.p is not None and evidence.p < 0.05:
            return "more than chance explains only before the adjustment over the table"
        return "as many seeds of the column's other rows would settle it"
    if evidence.paper_n is None:
        return "no number of seeds settles it, as the paper does not say of how many runs it is"
    runs = "single run" if evidence.paper_n == 1 else f"{evidence.paper_n} runs"
    return f"limited by the paper's own {runs}"


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
        return "MATCH", f"equal to {digits} decimals" if digits else "equal"
    return ("LOWER" if rounded < published else "HIGHER"), "counted, not measured"
