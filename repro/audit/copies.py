"""Rows and columns of different tables that hold the same numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from repro.audit.finding import Finding
from repro.audit.numbers import number
from repro.papers.published import Published

FEWEST = 3
"""Equal numbers that are no chance."""


@dataclass(frozen=True, slots=True)
class Series:
    """The numbers of one model in one table, by what they are of."""

    paper: str
    table: str
    name: str
    cells: Mapping[str, Published]


def copies(series: Sequence[Series]) -> list[Finding]:
    """Series of two tables that agree in at least three numbers and most of those that both have;
    told once, of the later paper in the list.
    """
    found = []
    for first, second in combinations(series, 2):
        if (first.paper, first.table) == (second.paper, second.table):
            continue
        shared = [key for key in second.cells if key in first.cells]
        same = [key for key in shared if equal(first.cells[key], second.cells[key])]
        if len(same) < FEWEST or 2 * len(same) <= len(shared):
            continue
        one = second.cells[same[0]]
        said = ", ".join(f"{key} {second.cells[key].text}" for key in same)
        found.append(
            Finding(
                f"copy-{second.table}-{first.table}".lower(),
                second.paper,
                "doubt",
                f"{second.name} ({second.table}) and {first.name} ({first.table}) have the same "
                f"number in {len(same)} of {len(shared)} places: one is copied, or both are.",
                f"both: {said}",
                f"{one.source}; {first.cells[same[0]].source}",
            )
        )
    return found


def equal(one: Published, other: Published) -> bool:
    """Equal to the digits of the one that has fewer."""
    digits = min(one.decimals, other.decimals)
    return round(number(one), digits) == round(number(other), digits)
