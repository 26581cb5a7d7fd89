"""Where the parts of a plot stand: plain numbers that a template draws as SVG.

Drawn in the page itself, so that a plot follows the reader's theme and its words are text.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

ROW, HEAD, FOOT = 24, 10, 48
"""Pixels: of a line of a forest plot, above the first one and below the last."""
LABELS, FIELD, NUMBERS = 250, 330, 330
"""Pixels: of the names at the left of a forest plot, of its axis, of the numbers at the right."""
WIDE, HIGH = 560, 250
LEFT, RIGHT, TOP, BOTTOM = 56, 130, 14, 46
"""Pixels: of a plot with two axes, and of the margins around its field."""
MARKS = {
    "circle": "M-4.5,0a4.5,4.5 0 1,0 9,0a4.5,4.5 0 1,0 -9,0z",
    "up": "M0,-5.5L5.5,4.5L-5.5,4.5z",
    "down": "M0,5.5L5.5,-4.5L-5.5,-4.5z",
    "square": "M-4,-4H4V4H-4z",
    "diamond": "M0,-5.5L5.5,0L0,5.5L-5.5,0z",
}


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


@dataclass(frozen=True, slots=True)
class Compared:
    """A published number with its reproduction; `text` is what stands beside it. `interval`: the
    95 % one of the difference, None for one run; `path` is its mark.
    """

    name: str
    published: float
    difference: float
    margin: float
    interval: tuple[float, float] | None
    verdict: str
    path: str
    text: str


@dataclass(frozen=True, slots=True)
class Forest:
    """Differences against the band within which nothing that the paper says would change: a line of
    `ROW` pixels for each number.
    """

    x: Axis
    lines: Sequence[Compared]
    height: int
    width: int = LABELS + FIELD + NUMBERS


def forest(compared: Sequence[Compared]) -> Forest | None:
    if not compared:
        return None
    far = max(max(2 * one.margin, abs(one.difference)) for one in compared)
    ends = [abs(end) for one in compared for end in one.interval or ()]
    reach = 1.1 * max([far, *(min(end, 2 * far) for end in ends)])
    x = Axis(-reach, reach, LABELS, LABELS + FIELD)
    return Forest(x, compared, HEAD + ROW * len(compared) + FOOT)


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
