"""Where the name of each point of a map stands: beside its mark, on no other name and no mark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import cos, fsum, hypot, pi, sin
from typing import NamedTuple, TypeVar

Name = TypeVar("Name")
Place = tuple[float, float]
ROOM, STEP, FARTHEST = 2.0, 3.0, 90.0
"""Between a name and its mark, from one distance to the next, and the largest."""
AROUND = 16
"""Directions in which a name may stand from its mark."""
HARD = 100.0
"""What covering a mark or a name costs beside covering a line, or standing farther off."""


class Box(NamedTuple):
    """A rectangle."""

    left: float
    low: float
    right: float
    high: float

    @classmethod
    def around(cls, middle: Place, wide: float, tall: float) -> Box:
        """The one with this middle, `wide` to either side and `tall` up and down."""
        x, y = middle
        return cls(x - wide, y - tall, x + wide, y + tall)

    def overlap(self, other: Box) -> float:
        """The area that both cover."""
        width = min(self.right, other.right) - max(self.left, other.left)
        height = min(self.high, other.high) - max(self.low, other.low)
        return max(0.0, width) * max(0.0, height)

    def beyond(self, frame: Box) -> float:
        """The area that lies outside a frame."""
        return (self.right - self.left) * (self.high - self.low) - self.overlap(frame)


def place_names(
    marks: Mapping[Name, Place],
    sizes: Mapping[Name, Place],
    mark: float,
    frame: Box,
    lines: Sequence[tuple[Place, Place]] = (),
) -> dict[Name, Place]:
    """The middle of each name, all in one unit (points).

    `marks` are the places of the points, `sizes` width and height of the names, `mark` that of a
    mark. Crowded points choose first; each takes a near place that covers no mark and no name, and
    as little of the `lines` as can be had for a few points more.
    """
    taken = [Box.around(place, mark / 2, mark / 2) for place in marks.values()]
    drawn = [dot for line in lines for dot in _dots(*line)]
    found: dict[Name, Place] = {}
    for name in sorted(marks, key=lambda one: -_crowd(marks[one], list(marks.values()))):
        wide, tall = sizes[name][0] / 2, sizes[name][1] / 2
        best, least = marks[name], float("inf")
        for off, middle in _around(marks[name], wide, tall, mark / 2 + ROOM):
            if off >= least:
                break
            box = Box.around(middle, wide + ROOM / 2, tall + ROOM / 2)
            covered = fsum(map(box.overlap, taken)) + box.beyond(frame)
            cost = off + HARD * covered + fsum(map(box.overlap, drawn))
            if cost < least:
                best, least = middle, cost
        found[name] = best
        taken.append(Box.around(best, wide + ROOM / 2, tall + ROOM / 2))
    return found


def is_far(middle: Place, mark: Place, size: Place, least: float) -> bool:
    """Whether a name is at least so far from its mark that a line must join them."""
    box = Box.around(middle, size[0] / 2, size[1] / 2)
    across = max(box.left - mark[0], mark[0] - box.right, 0.0)
    up = max(box.low - mark[1], mark[1] - box.high, 0.0)
    return hypot(across, up) >= least


def _around(mark: Place, wide: float, tall: float, least: float) -> Iterator[tuple[float, Place]]:
    """How much farther than need be, and a middle there: the nearest first, at each distance right,
    left, above and below first.

    A name stands as near to its mark as its own width and height let it.
    """
    turns = sorted(range(AROUND), key=lambda n: (n % 4 > 0, n % 8 > 0, n))
    for ring in range(round(FARTHEST / STEP)):
        gap = least + ring * STEP
        for turn in turns:
            angle = 2 * pi * turn / AROUND
            middle = mark[0] + (wide + gap) * cos(angle), mark[1] + (tall + gap) * sin(angle)
            yield ring * STEP, middle


def _dots(start: Place, end: Place) -> list[Box]:
    """A line as boxes of one unit."""
    number = int(hypot(end[0] - start[0], end[1] - start[1])) + 1
    along = [n / number for n in range(number + 1)]
    places = [
        tuple(a + share * (b - a) for a, b in zip(start, end, strict=True)) for share in along
    ]
    return [Box.around((x, y), 0.5, 0.5) for x, y in places]


def _crowd(place: Place, places: Sequence[Place]) -> float:
    """How crowded it is around a place."""
    return fsum(1 / (1 + (place[0] - x) ** 2 + (place[1] - y) ** 2) for x, y in places)
