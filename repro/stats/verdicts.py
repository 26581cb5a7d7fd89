"""What the comparison of a published and a reproduced number says.

Only runs as the paper's, scored on the paper's rows, are comparable, and one run alone never
confirms a number. Runs confirm it if the whole 90 % interval of the difference lies within the
margin. They contradict it if a test rejects that the true difference is at most the margin, at 5 %
over the table. While seeds are missing they do neither. What is counted is compared exactly, to the
printed digits.
"""

from __future__ import annotations

from typing import Literal

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
