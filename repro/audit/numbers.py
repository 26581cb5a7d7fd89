"""Printed numbers as the checks read them: with the rounding that they carry."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal

from repro.papers.published import Cells, Published, load_published, table_names

Tables = Mapping[str, Cells]
"""Name of a CSV -> its cells."""
SLACK = 1e-9
"""What binary fractions may add."""


def load(paper: str) -> dict[str, Cells]:
    """Every CSV of a paper, by name."""
    return {name: load_published(paper, name) for name in table_names(paper)}


def number(cell: Published) -> float:
    """The value of a cell that is known to be a number."""
    assert cell.value is not None, cell
    return cell.value


def unit(cell: Published) -> float:
    """One step of the last printed digit."""
    return 10.0**-cell.decimals


def reading(cell: Published, exact: float) -> Literal["rounded", "cut", "near", "off"]:
    """How a printed number follows from an exact one: rounded; cut; near, by less than one and a
    half steps, as where it was formed before its parts were rounded; or not at all.
    """
    step, gap = unit(cell), exact - number(cell)
    if abs(gap) <= step / 2 + SLACK:
        return "rounded"
    if cut(cell, exact):
        return "cut"
    return "near" if abs(gap) < 1.5 * step + SLACK else "off"


def cut(cell: Published, exact: float) -> bool:
    """Whether dropping the further digits of an exact number gives the printed one."""
    gap = math.copysign(1, exact) * (exact - number(cell))
    return -SLACK <= gap < unit(cell) - SLACK


def at(cells: Cells, row: str, column: str, metric: str = "") -> Published | None:
    """The cell of this row and column whose metric begins so."""
    for (known_row, known_column, known_metric), cell in cells.items():
        if (known_row, known_column) == (row, column) and known_metric.startswith(metric):
            return cell
    return None


def rows(cells: Cells) -> list[str]:
    """Rows in their order, each once."""
    return list(dict.fromkeys(row for row, _, _ in cells))


def slug(text: str) -> str:
    """A name as a part of an id: lower case, words joined by hyphens."""
    return "-".join("".join(c if c.isalnum() else " " for c in text.lower()).split())
