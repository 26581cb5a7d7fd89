"""Printed averages and totals against the columns that they are of."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from repro.audit.finding import Finding
from repro.audit.numbers import number, reading
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


def averages(paper: str, name: str, slug: str, rows: Sequence[Averaged]) -> list[Finding]:
    """What is odd in a column of averages. Where no row's number is the mean of its parts, the
    column is another quantity: one note. Else each that is off is an error, and those that are
    cut, or were formed before rounding, share one note.
    """
    found = {row.row: reading(row.printed, row.mean) for row in rows}
    if rows and all(kind == "off" for kind in found.values()):
        said = "; ".join(f"{row.row}: {row.printed.text}, not {row.sum}" for row in rows)
        text = f"{name} is not the mean of the printed columns: do not recompute it from them."
        return [Finding(f"{slug}-no-mean", paper, "note", text, said, rows[0].printed.source)]
    odd = [
        Finding(
            f"{slug}-{_slug(row.row)}",
            paper,
            "error",
            f"{name} of {row.row} is printed as {row.printed.text}, and its columns give "
            f"{row.mean:.2f}.",
            row.sum,
            row.printed.source,
        )
        for row in rows
        if found[row.row] == "off"
    ]
    short = [row for row in rows if found[row.row] in ("cut", "near")]
    if short:
        names = ", ".join(row.row for row in short)
        said = "; ".join(f"{row.row}: {row.mean:.3f}, printed {row.printed.text}" for row in short)
        text = (
            f"{name} is the mean of the columns, but not rounded, in {names}: cut, or formed from "
            "scores before they were rounded."
        )
        odd.append(Finding(f"{slug}-unrounded", paper, "note", text, said, short[0].printed.source))
    return odd


def which_rule(
    rows: Mapping[str, Published], rules: Mapping[str, Mapping[str, float]]
) -> dict[str, int]:
    """Rule -> how many rows' printed number it gives, rounded. `rules`: rule -> row -> value."""
    return {
        rule: sum(reading(cell, values[row]) == "rounded" for row, cell in rows.items())
        for rule, values in rules.items()
    }


def _slug(text: str) -> str:
    return "-".join("".join(c if c.isalnum() else " " for c in text.lower()).split())
