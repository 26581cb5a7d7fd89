"""Printed averages and totals against the columns that they are of."""

from __future__ import annotations

import statistics
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from repro.audit.finding import Finding
from repro.audit.numbers import Cell, Numbers, cells_of, cut, reading, slug


@dataclass(frozen=True, slots=True)
class Averaged:
    """One printed average and the printed numbers beside it."""

    row: str
    average: Cell
    parts: tuple[Cell, ...]

    @property
    def mean(self) -> float:
        """Of the parts, as printed."""
        return statistics.fmean(part.value for part in self.parts)

    @property
    def sum(self) -> str:
        """In words for a reader: "(50 + 60 + 70) / 3 = 60.00"."""
        return mean_of(self.parts)


def averaged(
    cells: Numbers, average: str, parts: Collection[str] | None = None, model: str = "row"
) -> list[Averaged]:
    """Every model of a table that has its average printed, and all numbers that it is of.

    Args:
        cells: The table.
        average: Name of the column with the averages.
        parts: Names of the columns that they are of; None: all others.
        model: "row", or "column" for a table whose columns are models.
    """
    found, across = [], "column" if model == "row" else "row"
    for name, own in cells.groupby(model, sort=False):
        printed, rest = own[own[across] == average], own[own[across] != average]
        if parts is not None:
            rest = rest[rest[across].isin(parts)]
        if len(printed) and len(rest) >= len(parts or ("one",)):
            found.append(Averaged(str(name), cells_of(printed)[0], tuple(cells_of(rest))))
    return found


def mean_of(parts: Sequence[Cell]) -> str:
    """(50 + 60 + 70) / 3 = 60.00."""
    total = " + ".join(part.printed for part in parts)
    return f"({total}) / {len(parts)} = {statistics.fmean(part.value for part in parts):.2f}"


def averages(paper: str, name: str, prefix: str, rows: Sequence[Averaged]) -> list[Finding]:
    """What is odd in a column of averages. Where no row's number is the mean of its parts, the
    column is another quantity: one note. Else each that is off is an error, and one note tells
    the rule, where it is not rounding. Ids begin with `prefix`.
    """
    found = {row.row: reading(row.average, row.mean) for row in rows}
    if rows and all(kind == "off" for kind in found.values()):
        said = "; ".join(f"{row.row}: {row.average.printed}, not {row.sum}" for row in rows)
        text = f"{name} is not the mean of the printed columns: do not recompute it from them."
        return [Finding(f"{prefix}-no-mean", paper, "note", text, said, rows[0].average.source)]
    odd = [_off(paper, name, prefix, row, rows) for row in rows if found[row.row] == "off"]
    short = [row for row in rows if found[row.row] in ("cut", "near")]
    if short:
        source = short[0].average.source
        text, said = _rule(name, rows, short)
        odd.append(Finding(f"{prefix}-unrounded", paper, "note", text, said, source))
    return odd


def _off(paper: str, name: str, prefix: str, row: Averaged, rows: Sequence[Averaged]) -> Finding:
    """One average that its columns do not give; and its place among the rows, where it moves."""
    place = 1 + sum(other.average.value > row.average.value for other in rows)
    due = 1 + sum(other.mean > row.mean for other in rows)
    moved = f"; place {place} of {len(rows)} as printed, {due} by the columns"
    return Finding(
        f"{prefix}-{slug(row.row)}", paper, "error",
        f"{name} of {row.row} is printed as {row.average.printed}, and its columns give "
        f"{row.mean:.2f}.",
        row.sum + (moved if place != due else ""), row.average.source,
    )  # fmt: skip


def _rule(name: str, rows: Sequence[Averaged], short: Sequence[Averaged]) -> tuple[str, str]:
    """The sentence and the arithmetic of averages that are not rounded."""
    rounds = sum(reading(row.average, row.mean) == "rounded" for row in rows)
    cuts = sum(cut(row.average, row.mean) for row in rows)
    names = ", ".join(row.row for row in short)
    if all(cut(row.average, row.mean) for row in short) and cuts >= rounds:
        how = "cut, not rounded"
    else:
        how = "formed before these were rounded"
    text = (
        f"{name} is the mean of the columns, {how}: rounding gives {rounds} of {len(rows)} rows, "
        f"cutting {cuts}; not rounded: {names}."
    )
    said = "; ".join(f"{row.row}: {row.mean:.3f}, printed {row.average.printed}" for row in short)
    return text, said


def which_rule(
    rows: Mapping[str, Cell], rules: Mapping[str, Mapping[str, float]]
) -> dict[str, int]:
    """Rule -> how many rows' printed number it gives, rounded. `rules`: rule -> row -> value."""
    return {
        rule: sum(reading(cell, values[row]) == "rounded" for row, cell in rows.items())
        for rule, values in rules.items()
    }
