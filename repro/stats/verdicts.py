"""What the comparison of a published and a reproduced number says.

Only a result at the paper's scale, scored on the paper's rows, is comparable, and one run alone
never confirms a number. Runs confirm it if the whole 90 % interval of the difference lies within
the margin. They contradict it if a test rejects that the true difference is at most the margin, at
5 % over the table. While seeds are missing they do neither. What is counted is compared exactly, to
the printed digits.
"""

from __future__ import annotations

from typing import Literal

from repro.spec import Scale
from repro.stats.evidence import LEVEL, Evidence
from repro.stats.summary import Summary

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
    "NOT COMPARABLE": "of another scale, other rows or another encoder than the paper's",
    "GAP": "no finished run",
}


def comparable(
    published: float | None,
    reproduced: Summary | None,
    scale: Scale,
    missing: str,
    elsewhere: str = "",
) -> tuple[Verdict | None, str]:
    """Whether the two can be compared at all: UNDECIDED where they can, else why not.

    `missing` says why `reproduced` is None, `elsewhere` that the published number is of other rows
    than the reproduced one. No verdict where the paper has no number.
    """
    if reproduced is None:
        return "GAP", missing
    if published is None:
        return None, "the paper has no such number"
    if scale != "paper":
        return "NOT COMPARABLE", f"{scale} scale" + (f"; {elsewhere}" if elsewhere else "")
    if elsewhere:
        return "NOT COMPARABLE", elsewhere
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
    if evidence.equivalence is None:
        return "SINGLE", f"one run, {where}"
    low, high = evidence.equivalence
    if -evidence.margin < low and high < evidence.margin:
        return "MATCH", f"{where}, {evidence.basis}"
    adjusted = evidence.p if evidence.adjusted is None else evidence.adjusted
    if adjusted is not None and adjusted < LEVEL:
        return ("LOWER" if evidence.difference < 0 else "HIGHER"), f"{where}, {evidence.basis}"
    return "UNDECIDED", f"{where}; {_what_settles(evidence)}"


def _what_settles(evidence: Evidence) -> str:
    if evidence.seeds is not None:
        return f"about {evidence.seeds} seeds would settle it"
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
        return "MATCH", f"equal to {digits} decimals" if digits else "equal"
    return ("LOWER" if rounded < published else "HIGHER"), "counted, not measured"
