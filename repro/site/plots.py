"""Where the parts of a plot stand: plain numbers that a template draws as SVG.

Drawn in the page itself, so that a plot follows the reader's theme and its words are text.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

LABELS, FIELD = 250, 330
"""Pixels: of the names at the left of a forest plot, and of its axis."""
WIDE, HIGH = 560, 250
LEFT, RIGHT, TOP, BOTTOM = 56, 130, 14, 46
"""Pixels: of a plot with two axes, and of the margins around its field."""


@dataclass(frozen=True, slots=True)
class Axis:
    """From the value `low` to `high`, at the pixels `start` to `end`; `whole`: whole numbers."""

    low: float
    high: float
    start: float
    end: float
    whole: bool = False

    def at(self, value: float) -> float:
        """The pixel of a value, to a tenth; one beyond the ends is put there."""
        inside = min(max(value, self.low), self.high)
        share = (inside - self.low) / (self.high - self.low)
        return round(self.start + share * (self.end - self.start), 1)

    def holds(self, value: float) -> bool:
        return self.low <= value <= self.high

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """Pixel and words of about seven round values at most."""
        step = round_step((self.high - self.low) / 7)
        step = max(step, 1.0) if self.whole else step
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        decimals = max(0, -math.floor(math.log10(step) + 1e-9))
        return [
            (self.at(i * step), f"{i * step + 0.0:,.{decimals}f}".replace("-", "−"))
            for i in range(first, last + 1)
        ]


def round_step(least: float) -> float:
    """1, 2 or 5 times a power of ten, at least `least`."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(power * k for k in (1, 2, 5, 10) if power * k >= least * (1 - 1e-9))


def axis(values: Sequence[float], start: float, end: float, least: float = 1.0) -> Axis:
    """An axis that holds these values with some air; `least` is the shortest range."""
    low, high = min(values), max(values)
    air = max((high - low) * 0.06, (least - (high - low)) / 2)
    return Axis(low - air, high + air, start, end)


def differences(cells: Sequence[Mapping[str, Any]]) -> Axis:
    """The axis of a forest plot of these records of a comparison frame: it holds every difference
    and margin, and cuts an interval that is much wider.
    """
    far = max(max(2 * one["margin"], abs(one["difference"])) for one in cells)
    ends = [abs(one[end]) for one in cells for end in ("low_95", "high_95") if one[end] is not None]
    reach = 1.1 * max([far, *(min(end, 2 * far) for end in ends)])
    return Axis(-reach, reach, LABELS, LABELS + FIELD)


Series = Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Curves:
    """Values over epochs or steps. `lines`: name -> (x, y)."""

    x: Axis
    y: Axis
    lines: Mapping[str, Series]
    x_label: str
    y_label: str
    dots: bool
    width: int = WIDE
    height: int = HIGH
    left: int = LEFT
    right: int = WIDE - RIGHT


def curves(
    series: Mapping[str, Series],
    x_label: str,
    y_label: str,
    *,
    dots: bool = True,
    least: float = 2.0,
) -> Curves | None:
    """Learning curves; None where no series has two points. `least`: shortest range of values."""
    found = {name: points for name, points in series.items() if len(points) > 1}
    if not found:
        return None
    pairs = [pair for points in found.values() for pair in points]
    x = Axis(min(p[0] for p in pairs), max(p[0] for p in pairs), LEFT, WIDE - RIGHT, whole=True)
    y = axis([p[1] for p in pairs], HIGH - BOTTOM, TOP, least)
    return Curves(x, y, found, x_label, y_label, dots)


def spark(values: Sequence[float]) -> str:
    """A line of 72 by 18 pixels as SVG takes it; "" for fewer than two values."""
    if len(values) < 2:
        return ""
    x, y = Axis(0, len(values) - 1, 2, 70), axis(values, 16, 2)
    return " ".join(f"{x.at(i):g},{y.at(value):g}" for i, value in enumerate(values))
