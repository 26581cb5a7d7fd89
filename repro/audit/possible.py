"""Numbers that so many items, or any answers at all, can give."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from repro.audit.finding import Finding
from repro.audit.numbers import SLACK, Cell, unit


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


def impossible(
    paper: str, slug: str, name: str, cell: Cell, items: int, runs: int
) -> list[Finding]:
    """An accuracy that the items cannot give."""
    if of_items(cell, items, runs):
        return []
    k = cell.value * items * runs / 100
    said = (
        f"{cell.printed} % of {items} items{f' x {runs} runs' if runs > 1 else ''} is {k:.2f}; "
        f"{math.floor(k)} give {100 * math.floor(k) / items / runs:.3f} and {math.ceil(k)} give "
        f"{100 * math.ceil(k) / items / runs:.3f}"
    )
    text = f"{name}: no whole number of {items} items gives {cell.printed} %."
    return [Finding(f"{slug}-impossible", paper, "doubt", text, said, cell.source)]
