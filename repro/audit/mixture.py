"""Scores of a whole that must be the weighted scores of its two parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from repro.audit.numbers import Cell, unit


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
