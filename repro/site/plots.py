"""Where the parts of a plot stand: plain numbers that a template draws as SVG.

Drawn in the page itself, so that a plot follows the reader's theme and its words are text.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

ROW, HEAD, FOOT = 24, 10, 48
"""Pixels: of a line of a forest plot, above the first one and below the last."""
LABELS, FIELD, NUMBERS = 250, 330, 330
"""Pixels: of the names at the left of a forest plot, of its axis, of the numbers at the right."""
WIDE, HIGH = 560, 250
LEFT, RIGHT, TOP, BOTTOM = 56, 130, 14, 46
"""Pixels: of a plot with two axes, and of the margins around its field."""
LETTER = 14
MOST_POINTS = 200
"""More losses than this are drawn as means of neighbours."""

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
        """Whether the value lies on the axis."""
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
    95 % one of the difference, None for one run.
    """

    name: str
    published: float
    difference: float
    margin: float
    interval: tuple[float, float] | None
    verdict: str
    mark: str
    text: str


@dataclass(frozen=True, slots=True)
class Interval:
    """A line of the forest plot, in pixels. `bar`: its 95 % interval, None for one run; `cut`: at
    which ends it goes on beyond the axis.
    """

    name: str
    text: str
    verdict: str
    path: str
    y: float
    x: float
    margin: tuple[float, float]
    bar: tuple[float, float] | None
    cut: tuple[bool, bool]


@dataclass(frozen=True, slots=True)
class Forest:
    """Differences against the band within which nothing that the paper says would change."""

    x: Axis
    lines: tuple[Interval, ...]
    width: int
    height: int


def forest(compared: Sequence[Compared]) -> Forest | None:
    """The forest plot; None where there is nothing to compare."""
    if not compared:
        return None
    far = max(max(2 * one.margin, abs(one.difference)) for one in compared)
    ends = [abs(end) for one in compared for end in one.interval or ()]
    reach = 1.1 * max([far, *(min(end, 2 * far) for end in ends)])
    x = Axis(-reach, reach, LABELS, LABELS + FIELD)
    lines = tuple(_interval(one, x, HEAD + ROW * i + ROW / 2) for i, one in enumerate(compared))
    return Forest(x, lines, LABELS + FIELD + NUMBERS, HEAD + ROW * len(lines) + FOOT)


def _interval(one: Compared, x: Axis, y: float) -> Interval:
    interval = one.interval
    return Interval(
        name=one.name,
        text=one.text,
        verdict=one.verdict,
        path=MARKS[one.mark],
        y=y,
        x=x.at(one.difference),
        margin=(x.at(-one.margin), x.at(one.margin)),
        bar=(x.at(interval[0]), x.at(interval[1])) if interval else None,
        cut=(not x.holds(interval[0]), not x.holds(interval[1])) if interval else (False, False),
    )


@dataclass(frozen=True, slots=True)
class Point:
    """A mark of the delta plot, in pixels."""

    x: float
    y: float
    path: str
    verdict: str
    text: str


@dataclass(frozen=True, slots=True)
class Delta:
    """Differences over published numbers; `mean` is the pixel of the mean difference, `offset` the
    mean itself, `zero` the pixel of no difference.
    """

    x: Axis
    y: Axis
    points: tuple[Point, ...]
    zero: float
    mean: float
    offset: float
    width: int = WIDE
    height: int = HIGH
    left: int = LEFT
    right: int = WIDE - RIGHT


def delta(compared: Sequence[Compared]) -> Delta | None:
    """The delta plot; None where there is nothing to compare."""
    if not compared:
        return None
    x = axis([one.published for one in compared], LEFT, WIDE - RIGHT)
    y = axis([0.0, *(one.difference for one in compared)], HIGH - BOTTOM, TOP)
    points = tuple(
        Point(
            x.at(one.published), y.at(one.difference), MARKS[one.mark], one.verdict,
            f"{one.name}: published {one.published:g}, {one.text}",
        )
        for one in compared
    )  # fmt: skip
    offset = statistics.fmean(one.difference for one in compared)
    return Delta(x, y, points, y.at(0.0), y.at(offset), offset)


@dataclass(frozen=True, slots=True)
class Curve:
    """A line of a learning curve, in pixels; `label` is the pixel at which its name stands."""

    name: str
    points: tuple[tuple[float, float], ...]
    label: float
    place: int

    @property
    def path(self) -> str:
        """The points as SVG takes them."""
        return " ".join(f"{x:g},{y:g}" for x, y in self.points)


@dataclass(frozen=True, slots=True)
class Curves:
    """Values over epochs or steps."""

    x: Axis
    y: Axis
    lines: tuple[Curve, ...]
    x_label: str
    y_label: str
    dots: bool
    width: int = WIDE
    height: int = HIGH
    left: int = LEFT
    right: int = WIDE - RIGHT


Series = Sequence[tuple[float, float]]


def curves(
    series: dict[str, Series], x_label: str, y_label: str, *, dots: bool = True, least: float = 2.0
) -> Curves | None:
    """Learning curves; None where no series has two points. `least`: shortest range of values."""
    found = {name: points for name, points in series.items() if len(points) > 1}
    if not found:
        return None
    pairs = [pair for points in found.values() for pair in points]
    x = Axis(min(p[0] for p in pairs), max(p[0] for p in pairs), LEFT, WIDE - RIGHT, whole=True)
    y = axis([p[1] for p in pairs], HIGH - BOTTOM, TOP, least)
    ends = apart([y.at(points[-1][1]) for points in found.values()], LETTER, HIGH - BOTTOM)
    lines = tuple(
        Curve(name, tuple((x.at(a), y.at(b)) for a, b in points), end, place)
        for place, ((name, points), end) in enumerate(zip(found.items(), ends, strict=True))
    )
    return Curves(x, y, lines, x_label, y_label, dots)


def apart(places: Sequence[float], gap: float, last: float) -> list[float]:
    """These places in their order, moved so that no two are nearer than `gap`; none behind `last`
    while there is room.
    """
    order = sorted(range(len(places)), key=lambda i: places[i])
    moved = [places[i] for i in order]
    for i in range(1, len(moved)):
        moved[i] = max(moved[i], moved[i - 1] + gap)
    limit = last
    for i in reversed(range(len(moved))):
        moved[i] = min(moved[i], limit)
        limit = moved[i] - gap
    found = dict(zip(order, moved, strict=True))
    return [round(found[i], 1) for i in range(len(places))]


def thinned(points: Series) -> tuple[list[tuple[float, float]], int]:
    """At most `MOST_POINTS` of them, each the mean of so many neighbours."""
    size = math.ceil(len(points) / MOST_POINTS) or 1
    parts = [points[i : i + size] for i in range(0, len(points), size)]
    return [(part[-1][0], statistics.fmean(p[1] for p in part)) for part in parts], size


def spark(values: Sequence[float]) -> str:
    """A line of 72 by 18 pixels as SVG takes it; "" for fewer than two values."""
    if len(values) < 2:
        return ""
    x, y = Axis(0, len(values) - 1, 2, 70), axis(values, 16, 2)
    return " ".join(f"{x.at(i):g},{y.at(value):g}" for i, value in enumerate(values))
