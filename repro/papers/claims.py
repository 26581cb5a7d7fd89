"""What the papers claim in their text, as data that numbers can confirm or reverse.

A claim is one or more statements about printed numbers, each "this is more than that" or "these are
within so much of each other". It is judged twice: on the numbers that the paper itself prints, and
on ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Printed:
    """Where one number stands in a paper's CSV files."""

    table: str
    row: str
    column: str
    metric: str


@dataclass(frozen=True, slots=True)
class Ours:
    """The cell of a table here that reproduces a number: a row and a column by their names.

    Of a heat map, `row` and `column` are the first and the last ablated layer.
    """

    artefact: str
    row: str
    column: str


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number of the paper, or the mean of several; `ours` is empty while no table here has it."""

    name: str
    printed: tuple[Printed, ...]
    ours: tuple[Ours, ...] = ()


@dataclass(frozen=True, slots=True)
class Statement:
    """`left` is more than `right` by more than `by`; or, within, they differ by at most `by`.

    `by` is in the units of the column (points). `right` may be a plain number.
    """

    left: Quantity
    right: Quantity | float
    kind: Literal["more", "within"] = "more"
    by: float = 0.0


@dataclass(frozen=True, slots=True)
class Claim:
    """What a paper says, in our words, and where; all its `statements` must hold.

    `untested` says why the printed numbers or ours cannot decide it, where that is known.
    """

    id: str
    paper: str
    says: str
    source: str
    statements: tuple[Statement, ...]
    note: str = ""
