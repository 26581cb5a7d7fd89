"""Draws a chain of cells, a column a layer: the frozen layer above, its cell below, the sum of what
flows into the cell between them.

Residual paths run along a lane between the two rows. Of a deep encoder the middle is left out: the
first stages and the last one are drawn, and what is between is counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from repro.report.figures.architecture import Panel, Signal
from repro.report.figures.architecture_parts import (
    FROZEN,
    RADIUS,
    RESIDUAL,
    TRAINED,
    Point,
    box,
    line,
    plus,
    words,
)
from repro.report.figures.style import QUIET, SMALL, WIDTH

if TYPE_CHECKING:
    from matplotlib.axes import Axes

EDGE, ROW, WIDEST = 0.12, 0.56, 1.1
"""Inches: the page's margin, a box's height, the widest column."""
GAP, LANE = 0.62, 0.2
"""Inches between the two rows, and from the upper row down to the residual paths."""
MOST = 12
"""Layers that are drawn one by one."""


@dataclass(frozen=True, slots=True)
class Columns:
    """Where the layers of a chain stand: left edge, width of a column, and the layers drawn."""

    left: float
    width: float
    shown: tuple[int, ...]
    layers: int

    @property
    def split(self) -> int:
        """How many layers are drawn before the gap; all of them where there is none."""
        return next((n for n, layer in enumerate(self.shown) if layer != n + 1), len(self.shown))

    @property
    def hidden(self) -> range:
        """The layers that are left out."""
        if self.split == len(self.shown):
            return range(0)
        return range(self.split + 1, self.shown[self.split])

    def middle(self, layer: int) -> float:
        """x of a layer's column; of one left out that of the gap. 0 is the embeddings, and the
        scorer stands behind the last layer.
        """
        if not self.hidden or layer < self.hidden.start:
            place = layer
        elif layer in self.hidden:
            place = self.split + 1
        else:
            place = layer - len(self.hidden) + 1
        return self.left + (place + 0.5) * self.width

    @property
    def box(self) -> float:
        """Width of a box."""
        return 0.86 * self.width


def columns(layers: int, stage: int) -> Columns:
    """All layers, or of a deep encoder two stages at its start and one at its end."""
    shown = tuple(range(1, layers + 1))
    if layers > max(MOST, 3 * stage + 1):
        shown = (*shown[: 2 * stage], *shown[-stage:])
    gap = len(shown) < layers
    width = min(WIDEST, (WIDTH - 2 * EDGE) / (len(shown) + gap + 2))
    return Columns(EDGE, width, shown, layers)


def height(panel: Panel) -> float:
    """Inches that the chain takes."""
    return 2 * ROW + GAP + (0.85 if sectors(panel) else 0.22)


def sectors(panel: Panel) -> list[Signal]:
    """The sums that are made before the last one: sectors side by side."""
    assert panel.wiring is not None
    return [addend for addend in panel.wiring.output.addends if addend.parts]


def draw_chain(axes: Axes, panel: Panel, at: Columns, top: float) -> None:
    """Boxes, then what flows into each cell, then what the scorer reads."""
    assert panel.wiring is not None
    upper, lower = top - ROW / 2, top - ROW - GAP - ROW / 2
    _boxes(axes, panel, at, upper, lower)
    for layer, signal in enumerate(panel.wiring.inputs, 1):
        _into_cell(axes, signal, layer, at, (upper, lower))
    if sectors(panel):
        _into_scorer_from_sectors(axes, panel, at, (upper, lower))
    else:
        terms = panel.wiring.output.terms
        _into_scorer(axes, terms, at, (upper, lower))


def _boxes(axes: Axes, panel: Panel, at: Columns, upper: float, lower: float) -> None:
    for layer in (0, *at.shown):
        box(axes, panel.box(f"T{layer}"), (at.middle(layer), upper), at.box, ROW)
        if layer:
            box(axes, panel.box(f"C{layer}"), (at.middle(layer), lower), at.box, ROW)
    if at.hidden:
        x, first, last = at.middle(at.hidden.start), at.hidden.start, at.hidden[-1]
        for letter, y in (("T", upper), ("C", lower)):
            count = len(at.hidden) * panel.box(f"{letter}{first}").parameters
            lines = ["···", f"${letter}_{{{first}}}$ to ${letter}_{{{last}}}$", f"{count:,}"]
            words(axes, lines, (x, y), at.box, ROW)
    scorer = _scorer(at)
    y = lower - 0.63 - ROW / 2 + 0.1 if sectors(panel) else lower
    box(axes, panel.box("scorer"), (scorer, y), at.box, ROW)
    for layer in range(at.layers):
        if not (layer in at.hidden and layer + 1 in at.hidden):
            ends = at.middle(layer) + at.box / 2, at.middle(layer + 1) - at.box / 2
            line(axes, [(ends[0], upper), (ends[1], upper)], FROZEN)


def _scorer(at: Columns) -> float:
    return at.middle(at.layers) + at.width


def _into_cell(
    axes: Axes, signal: Signal, layer: int, at: Columns, rows: tuple[float, float]
) -> None:
    """The lines that end at one cell."""
    upper, lower = rows
    if layer in at.hidden:
        _into_gap(axes, signal, layer, at, rows)
        return
    x, joint = at.middle(layer), lower + ROW / 2 + (GAP - LANE) / 2
    summed = len(signal.terms) > 1
    if summed:
        line(axes, [(x, joint - RADIUS), (x, lower + ROW / 2)], TRAINED)
        plus(axes, (x, joint))
    end = joint + RADIUS if summed else lower + ROW / 2
    for term in signal.terms:
        letter, number = term[0], int(term[1:])
        if letter == "C":
            _step(axes, at, number, (x - RADIUS, joint), lower)
        elif number == layer:
            line(axes, [(x, upper - ROW / 2), (x, end)], FROZEN)
        else:
            _residual(axes, at, number, (x, joint), upper)


def _into_gap(
    axes: Axes, signal: Signal, layer: int, at: Columns, rows: tuple[float, float]
) -> None:
    """What a layer that is left out takes from those that are drawn."""
    upper, lower = rows
    for term in signal.terms:
        letter, number = term[0], int(term[1:])
        if number in at.hidden:
            continue
        x = at.middle(layer)
        if letter == "C":
            line(axes, [(at.middle(number) + at.box / 2, lower), (x - at.box / 2, lower)], TRAINED)
        else:
            start, lane = at.middle(number) + 0.3 * at.box, upper - ROW / 2 - LANE
            end = x - 0.25 * at.box
            line(axes, [(start, upper - ROW / 2), (start, lane), (end, lane)], RESIDUAL)


def _into_scorer(axes: Axes, terms: Sequence[str], at: Columns, rows: tuple[float, float]) -> None:
    """From the last cell, and from what is added to it."""
    upper, lower = rows
    x, joint = _scorer(at), lower + ROW / 2 + (GAP - LANE) / 2
    if len(terms) == 1:
        last = at.middle(int(terms[0][1:]))
        line(axes, [(last + at.box / 2, lower), (x - at.box / 2, lower)], TRAINED)
        return
    plus(axes, (x, joint))
    line(axes, [(x, joint - RADIUS), (x, lower + ROW / 2)], TRAINED)
    for term in terms:
        letter, number = term[0], int(term[1:])
        if letter == "C":
            _step(axes, at, number, (x - RADIUS, joint), lower)
        else:
            _residual(axes, at, number, (x, joint), upper)


def _into_scorer_from_sectors(
    axes: Axes, panel: Panel, at: Columns, rows: tuple[float, float]
) -> None:
    """A sum below each sector, and the sum of all of them."""
    assert panel.wiring is not None
    upper, lower = rows
    partial, total = lower - ROW / 2 - 0.18, lower - ROW / 2 - 0.53
    scorer = _scorer(at)
    starts = []
    for addend in panel.wiring.output.addends:
        if addend.parts:
            if _sector(axes, addend, at, (upper, lower, partial), total):
                starts.append(at.middle(int(addend.terms[0][1:])))
            continue
        x = at.left + at.width * 0.93  # beside the first cell
        lane = upper - ROW / 2 - LANE / 2
        first = at.middle(int(addend.name[1:])) - 0.3 * at.box
        path = [(first, upper - ROW / 2), (first, lane), (x, lane), (x, total)]
        line(axes, path, RESIDUAL, arrow=False)
        starts.append(x)
    plus(axes, (scorer - at.width / 2 - RADIUS, total))
    line(axes, [(min(starts), total), (scorer - at.width / 2 - 2 * RADIUS, total)], TRAINED)
    line(axes, [(scorer - at.width / 2, total), (scorer - at.box / 2, total)], TRAINED)
    axes.text(
        min(starts) + 0.06, total - 0.05, "the sum of all sectors and " + _plain_terms(panel),
        va="top", fontsize=SMALL, color=QUIET,
    )  # fmt: skip


def _plain_terms(panel: Panel) -> str:
    assert panel.wiring is not None
    names = [addend.name for addend in panel.wiring.output.addends if addend.name]
    return " and ".join(f"${name[0]}_{{{name[1:]}}}$" for name in names)


def _sector(
    axes: Axes, signal: Signal, at: Columns, rows: tuple[float, float, float], total: float
) -> bool:
    """The end of one sector, if it is drawn: its last cell and its first layer are added."""
    upper, lower, joint = rows
    cell, layer = (int(term[1:]) for term in signal.terms)
    if cell in at.hidden:
        return False
    x = at.middle(cell)
    plus(axes, (x, joint))
    line(axes, [(x, lower - ROW / 2), (x, joint + RADIUS)], TRAINED)
    line(axes, [(x, joint - RADIUS), (x, total)], TRAINED)
    lane, start = upper - ROW / 2 - LANE, at.middle(layer) + 0.3 * at.box
    gap = x + at.width / 2
    path = [(start, upper - ROW / 2), (start, lane), (gap, lane), (gap, joint), (x + RADIUS, joint)]
    line(axes, path, RESIDUAL)
    return True


def _step(axes: Axes, at: Columns, cell: int, end: Point, lower: float) -> None:
    """From a cell to the sum before the next one."""
    start = at.middle(cell) + at.box / 2
    bend = at.middle(cell) + at.width / 2
    line(axes, [(start, lower), (bend, lower), (bend, end[1]), end], TRAINED)


def _residual(axes: Axes, at: Columns, layer: int, end: Point, upper: float) -> None:
    """From a frozen layer along the lane to a sum further on; from above, beside the layer's."""
    start = at.middle(layer) + 0.3 * at.box
    lane, down = upper - ROW / 2 - LANE, end[0] - 0.13
    corner = end[0] - RADIUS * 0.7, end[1] + RADIUS * 0.7
    first = upper - ROW / 2 if layer not in at.hidden else lane
    line(axes, [(start, first), (start, lane), (down, lane), corner], RESIDUAL)
