"""What the comparison of a published and a reproduced number may say.

Only a result at the paper's scale, scored on the paper's rows, is comparable, and one run alone
never confirms a number. What is counted is compared exactly, to the printed digits.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from repro.spec import Scale

Verdict = Literal[
    "GAP", "NOT COMPARABLE", "SINGLE", "UNDECIDED", "MATCH", "LOWER", "HIGHER", "DIFFERS"
]


@dataclass(frozen=True, slots=True)
class Summary:
    """Mean and sample standard deviation of the runs of a cell; `sd` is None for one run."""

    mean: float
    sd: float | None
    values: tuple[float, ...]

    @property
    def sem(self) -> float | None:
        """Standard error of the mean; None for one run."""
        return None if self.sd is None else self.sd / math.sqrt(self.n)

    @property
    def n(self) -> int:
        """Number of runs."""
        return len(self.values)


def summarise(values: Sequence[float]) -> Summary:
    """The summary of one or more finite values. Raises ValueError for none or a non-finite one."""
    if not values or not all(math.isfinite(value) for value in values):
        raise ValueError(f"no finite values to summarise in {list(values)}")
    sd = statistics.stdev(values) if len(values) > 1 else None
    return Summary(statistics.fmean(values), sd, tuple(values))


def judge(
    published: float | None,
    reproduced: Summary | None,
    scale: Scale,
    missing: str,
    elsewhere: str = "",
) -> tuple[Verdict | None, str]:
    """A verdict and its reason. `missing` says why `reproduced` is None, `elsewhere` that the
    published number is of other rows than the reproduced one.
    """
    if reproduced is None:
        return "GAP", missing
    if published is None:
        return None, "the paper has no such number"
    if scale != "paper":
        return "NOT COMPARABLE", f"{scale} scale" + (f"; {elsewhere}" if elsewhere else "")
    if elsewhere:
        return "NOT COMPARABLE", elsewhere
    if reproduced.n == 1:
        return "SINGLE", "one run"
    return "UNDECIDED", "no equivalence margin is declared for this table"


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
