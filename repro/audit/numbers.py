"""Printed numbers as the checks read them, with the rounding that they carry, and what can be said
of them: whether they can be at all, are means of others, or mix two parts.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

if TYPE_CHECKING:
    import pandas

Severity = Literal["error", "doubt", "note"]
"""A number that cannot be right; one that needs an explanation; a rule that the paper leaves open
or a difference that only a reading of text and code shows."""


@dataclass(frozen=True, slots=True)
class Finding:
    """`says` in one sentence, `arithmetic` as a reader can redo it, `source`: where it stands.

    `computed`: found by arithmetic on the published numbers; else a note cited from text or code.
    """

    id: str
    severity: Severity
    says: str
    arithmetic: str
    source: str
    paper: str = ""
    computed: bool = True


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


def of_items(cell: Cell, items: int, runs: int = 1) -> bool:
    """Whether a mean accuracy of `runs` runs over `items` items can be printed as this, rounded."""
    return _whole(cell.value, unit(cell), items * runs / 100)


def of_runs(cell: Cell, runs: int) -> bool:
    """Whether a mean of `runs` whole numbers can be printed as this, rounded."""
    return _whole(cell.value, unit(cell), runs)


def _whole(value: float, step: float, parts: float) -> bool:
    """Whether some whole number, divided by `parts`, rounds to the value."""
    half = step / 2 + SLACK
    return math.floor((value + half) * parts) >= math.ceil((value - half) * parts)


def deviation_of_items(cell: Cell, items: int, runs: int, divisor: int, step: float) -> bool:
    """Whether runs with this mean accuracy can have the printed deviation, to `step`, if squares
    are divided by `divisor` (the runs, or one less).

    With k correct answers a run and K in all, the squares sum to S - K^2 / runs, where S, the sum
    of k^2, is a whole number and odd as K is.
    """
    total = round(cell.value * items * runs / 100)
    low, high = (
        divisor * (items / 100 * max(0.0, cell.sd + sign * step / 2)) ** 2 + total**2 / runs
        for sign in (-1, 1)
    )
    first = math.ceil(low - SLACK)
    return first + (first - total) % 2 <= high + SLACK


def item_counts(cells: Sequence[Cell], candidates: Iterable[int]) -> list[int]:
    """Those numbers of items with which every one of these accuracies can be had in one run."""
    return [items for items in candidates if all(of_items(cell, items) for cell in cells)]


def share_of_constant(score: float) -> float:
    """The share of positives at which "all positive" scores this as the mean of accuracy and F1.

    Accuracy is p and F1 is 2 p / (1 + p), both in 0..1; solved for p.
    """
    # p + 2p / (1 + p) = 2 s, so p^2 + (3 - 2s) p - 2s = 0.
    b = 3 - 2 * score
    return (math.sqrt(b * b + 8 * score) - b) / 2


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
        """(50 + 60 + 70) / 3 = 60.00."""
        total = " + ".join(part.printed for part in self.parts)
        return f"({total}) / {len(self.parts)} = {self.mean:.2f}"


def averaged(cells: Numbers, average: str, model: str = "row") -> list[Averaged]:
    """Every model of a table whose average is printed, with the numbers that it averages: all
    others of the model.

    Args:
        cells: The table.
        average: Name of the column with the averages.
        model: "row", or "column" for a table whose columns are models.
    """
    found, across = [], "column" if model == "row" else "row"
    for name, own in cells.groupby(model, sort=False):
        printed, rest = own[own[across] == average], own[own[across] != average]
        if len(printed) and len(rest):
            found.append(Averaged(str(name), cells_of(printed)[0], tuple(cells_of(rest))))
    return found


def averages(name: str, prefix: str, rows: Sequence[Averaged]) -> Iterator[Finding]:
    """What is odd in a column of averages. Where no row's number is the mean of its parts, the
    column is another quantity: one note. Else each that is off is an error, and one note tells
    the rule, where it is not rounding. Ids begin with `prefix`.
    """
    found = {row.row: reading(row.average, row.mean) for row in rows}
    if rows and all(kind == "off" for kind in found.values()):
        said = "; ".join(f"{row.row}: {row.average.printed}, not {row.sum}" for row in rows)
        text = f"{name} is not the mean of the printed columns: do not recompute it from them."
        yield Finding(f"{prefix}-no-mean", "note", text, said, rows[0].average.source)
        return
    for row in rows:
        if found[row.row] != "off":
            continue
        place = 1 + sum(other.average.value > row.average.value for other in rows)
        due = 1 + sum(other.mean > row.mean for other in rows)
        moved = f"; place {place} of {len(rows)} as printed, {due} by the columns"
        text = f"{name} of {row.row} is printed as {row.average.printed}, and its columns give "
        said = row.sum + (moved if place != due else "")
        name_ = f"{prefix}-{slug(row.row)}"
        yield Finding(name_, "error", f"{text}{row.mean:.2f}.", said, row.average.source)
    short = [row for row in rows if found[row.row] in ("cut", "near")]
    if short:
        text = f"{name} is the mean of the columns, {_rule(rows, short)}"
        said = "; ".join(f"{r.row}: {r.mean:.3f}, printed {r.average.printed}" for r in short)
        yield Finding(f"{prefix}-unrounded", "note", text, said, short[0].average.source)


def _rule(rows: Sequence[Averaged], short: Sequence[Averaged]) -> str:
    """How averages that are not rounded were formed."""
    rounds = sum(reading(row.average, row.mean) == "rounded" for row in rows)
    cuts = sum(cut(row.average, row.mean) for row in rows)
    all_cut = all(cut(row.average, row.mean) for row in short) and cuts >= rounds
    how = "cut, not rounded" if all_cut else "formed before these were rounded"
    names = ", ".join(row.row for row in short)
    return (
        f"{how}: rounding gives {rounds} of {len(rows)} rows, cutting {cuts}; not rounded: {names}."
    )


@dataclass(frozen=True, slots=True)
class Mixed:
    """`whole` should be p x `first` + (1 - p) x `second`, for one share p of the rows."""

    name: str
    whole: Cell
    first: Cell
    second: Cell


def shares(mixed: Mixed) -> tuple[float, float]:
    """The shares p that the three printed numbers allow, each within half of its last digit."""
    found = []
    for signs in product((-0.5, 0.5), repeat=3):
        whole, first, second = (
            cell.value + sign * unit(cell)
            for cell, sign in zip((mixed.whole, mixed.first, mixed.second), signs, strict=True)
        )
        if first != second:
            found.append((whole - second) / (first - second))
    spans = mixed.first.value - mixed.second.value
    wide = abs(spans) <= (unit(mixed.first) + unit(mixed.second)) / 2
    return (0.0, 1.0) if wide or not found else (min(found), max(found))


def common_share(mixtures: Sequence[Mixed]) -> tuple[float, float, list[Mixed]]:
    """The range of p that most of them allow, and those that do not allow it."""
    spans = [shares(mixed) for mixed in mixtures]
    best = max(
        (low for low, _ in spans), key=lambda p: sum(low <= p <= high for low, high in spans)
    )
    inside = [(low, high) for low, high in spans if low <= best <= high]
    low, high = max(span[0] for span in inside), min(span[1] for span in inside)
    misfits = [m for m, (a, b) in zip(mixtures, spans, strict=True) if b < low or a > high]
    return low, high, misfits
