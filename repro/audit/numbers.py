"""Printed numbers as the checks read them: with the rounding that they carry."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

if TYPE_CHECKING:
    import pandas

Numbers: TypeAlias = "pandas.DataFrame"
"""Rows of the frame of published numbers that have a value."""
SLACK = 1e-9
"""What binary fractions may add."""


class Cell(NamedTuple):
    """One row of the frame of published numbers; `sd` and `x` are NaN where there is none."""

    row: str
    column: str
    metric: str
    value: float
    sd: float
    n: int
    decimals: int
    printed: str
    source: str
    x: float


def load() -> Numbers:
    """All printed numbers; without what is printed in words."""
    from repro.comparison.published import published_frame

    frame = published_frame().dropna(subset="value")
    frame = frame.fillna({"column": "", "metric": "", "n": 0})
    return frame[["paper", "table", *Cell._fields]]


def of_table(numbers: Numbers, name: str) -> Numbers:
    """The numbers of one CSV file."""
    return numbers[numbers["table"] == name]


def cells_of(numbers: Numbers) -> list[Cell]:
    """Every number, in order."""
    columns = (numbers[name].tolist() for name in Cell._fields)
    return list(map(Cell._make, zip(*columns, strict=True)))


def at(numbers: Numbers, row: str, column: str | None = None, metric: str = "") -> Cell | None:
    """The first number of this row, and of this column, whose metric begins so."""
    chosen = (numbers["row"] == row) & numbers["metric"].str.startswith(metric)
    if column is not None:
        chosen &= numbers["column"] == column
    return next(iter(cells_of(numbers[chosen])), None)


def unit(cell: Cell) -> float:
    """One step of the last printed digit."""
    return 10.0**-cell.decimals


def reading(cell: Cell, exact: float) -> Literal["rounded", "cut", "near", "off"]:
    """How a printed number follows from an exact one: rounded; cut; near, by less than one and a
    half steps, as where it was formed before its parts were rounded; or not at all.
    """
    step, gap = unit(cell), exact - cell.value
    if abs(gap) <= step / 2 + SLACK:
        return "rounded"
    if cut(cell, exact):
        return "cut"
    return "near" if abs(gap) < 1.5 * step + SLACK else "off"


def cut(cell: Cell, exact: float) -> bool:
    """Whether dropping the further digits of an exact number gives the printed one."""
    gap = math.copysign(1, exact) * (exact - cell.value)
    return -SLACK <= gap < unit(cell) - SLACK


def slug(text: str) -> str:
    """A name as a part of an id: lower case, words joined by hyphens."""
    return "-".join("".join(c if c.isalnum() else " " for c in text.lower()).split())
