"""Printed averages and totals against the columns that they are of."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from repro.audit.finding import Finding
from repro.audit.numbers import cut, number, reading, slug
from repro.papers.published import Published


@dataclass(frozen=True, slots=True)
class Averaged:
    """One printed average and the printed numbers beside it."""

    row: str
    printed: Published
    parts: tuple[Published, ...]

    @property
    def mean(self) -> float:
        """Of the parts, as printed."""
        return statistics.fmean(map(number, self.parts))

    @property
    def sum(self) -> str:
        """In words for a reader: "(50 + 60 + 70) / 3 = 60.00"."""
        return mean_of(self.parts)


def mean_of(parts: Sequence[Published]) -> str:
    """(50 + 60 + 70) / 3 = 60.00."""
    total = " + ".join(part.text for part in parts)
    return f"({total}) / {len(parts)} = {statistics.fmean(map(number, parts)):.2f}"


def averages(paper: str, name: str, prefix: str, rows: Sequence[Averaged]) -> list[Finding]:
    """What is odd in a column of averages. Where no row's number is the mean of its parts, the
    column is another quantity: one note. Else each that is off is an error, and one note tells
    the rule, where it is not rounding. Ids begin with `prefix`.
    """
    found = {row.row: reading(row.printed, row.mean) for row in rows}
    if rows and all(kind == "off" for kind in found.values()):
        said = "; ".join(f"{row.row}: {row.printed.text}, not {row.sum}" for row in rows)
        text = f"{name} is not the mean of the printed columns: do not recompute it from them."
        return [Finding(f"{prefix}-no-mean", paper, "note", text, said, rows[0].printed.source)]
    odd = [_off(paper, name, prefix, row, rows) for row in rows if found[row.row] == "off"]
    short = [row for row in rows if found[row.row] in ("cut", "near")]
    if short:
        source = short[0].printed.source
        text, said = _rule(name, rows, short)
        odd.append(Finding(f"{prefix}-unrounded", paper, "note", text, said, source))
    return odd


def _off(paper: str, name: str, prefix: str, row: Averaged, rows: Sequence[Averaged]) -> Finding:
    """One average that its columns do not give; and its place among the rows, where it moves."""
    place = 1 + sum(number(other.printed) > number(row.printed) for other in rows)
    due = 1 + sum(other.mean > row.mean for other in rows)
    moved = f"; place {place} of {len(rows)} as printed, {due} by the columns"
    return Finding(
        f"{prefix}-{slug(row.row)}", paper, "error",
        f"{name} of {row.row} is printed as {row.printed.text}, and its columns give "
        f"{row.mean:.2f}.",
        row.sum + (moved if place != due else ""), row.printed.source,
    )  # fmt: skip


def _rule(name: str, rows: Sequence[Averaged], short: Sequence[Averaged]) -> tuple[str, str]:
    """The sentence and the arithmetic of averages that are not rounded."""
    rounds = sum(reading(row.printed, row.mean) == "rounded" for row in rows)
    cuts = sum(cut(row.printed, row.mean) for row in rows)
    names = ", ".join(row.row for row in short)
    if all(cut(row.printed, row.mean) for row in short) and cuts >= rounds:
        how = "cut, not rounded"
    else:
        how = "formed before these were rounded"
    text = (
        f"{name} is the mean of the columns, {how}: rounding gives {rounds} of {len(rows)} rows, "
        f"cutting {cuts}; not rounded: {names}."
    )
    said = "; ".join(f"{row.row}: {row.mean:.3f}, printed {row.printed.text}" for row in short)
    return text, said


def which_rule(
    rows: Mapping[str, Published], rules: Mapping[str, Mapping[str, float]]
) -> dict[str, int]:
    """Rule -> how many rows' printed number it gives, rounded. `rules`: rule -> row -> value."""
    return {
        rule: sum(reading(cell, values[row]) == "rounded" for row, cell in rows.items())
        for rule, values in rules.items()
    }
