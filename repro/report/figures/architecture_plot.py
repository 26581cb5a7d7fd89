"""Draws a model as it is configured: its chains one below the other, then the inside of a cell.

Everything is placed in inches from the lower left corner of the page.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from repro.report.figures.architecture import ArchitectureView, Box, Panel
from repro.report.figures.architecture_chain import EDGE, WIDEST, columns, draw_chain, height
from repro.report.figures.architecture_parts import (
    FILLS,
    FROZEN,
    RADIUS,
    RESIDUAL,
    TRAINED,
    Point,
    box,
    line,
    plus,
)
from repro.report.figures.architecture_text import headline, stamp, sums, title
from repro.report.figures.style import BASE, QUIET, SMALL, WIDTH, blank

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

HEAD, WORDS = 0.62, 0.45
"""Inches: height of the figure's title, and of a panel's."""
STEP, TALL, SIDE = 0.66, 0.6, 0.85
"""Inches between two rows of boxes in a cell, their height, and the room beside a cell."""
SUMMED = "attention.norm"
"""The one step that reads a sum; the others read each of their inputs for itself."""


def draw_architecture(view: ArchitectureView) -> Drawing:
    """The figure; call it within `styled`."""
    heights = [_height(panel) for panel in view.panels]
    top = HEAD + math.fsum(heights)
    drawing = blank(WIDTH, top)
    drawing.subplots_adjust(0, 0, 1, 1)
    axes = drawing.add_subplot()
    axes.set_axis_off()
    axes.set(xlim=(0, WIDTH), ylim=(0, top), aspect="equal")
    axes.text(EDGE, top - 0.06, headline(view), va="top", fontsize=BASE + 1)
    axes.text(EDGE, top - 0.28, stamp(view), va="top", fontsize=SMALL)
    _legend(axes, top - 0.36)
    top -= HEAD
    for number, (panel, tall) in enumerate(zip(view.panels, heights, strict=True), 1):
        axes.text(EDGE, top, f"{number}  {title(panel)}", va="top", weight="bold", fontsize=BASE)
        axes.text(EDGE, top - 0.19, sums(panel), va="top", fontsize=SMALL, color=QUIET)
        if panel.wiring is None:
            _cell(axes, panel, top - WORDS)
        else:
            draw_chain(axes, panel, columns(view.layers, panel.method.stage), top - WORDS)
        top -= tall
    return drawing


def _height(panel: Panel) -> float:
    """Inches, with the space below."""
    if panel.wiring is not None:
        return WORDS + height(panel)
    rows = 1 + max(row for _, row, _ in _places(panel))
    return WORDS + rows * STEP + 0.3


def _cell(axes: Axes, panel: Panel, top: float) -> None:
    """The steps of a cell from left to right; what is side by side stands one above the other."""
    places = _places(panel)
    left, right = EDGE + SIDE, WIDTH - EDGE - SIDE
    width = min(WIDEST, (right - left) / (1 + max(column for column, _, _ in places)))
    centre = top - STEP * (1 + max(row for _, row, _ in places)) / 2
    half = 0.4 * width
    spot: dict[str, Point] = {"x": (left - half - 0.2, centre)}
    for column, row, part in places:
        beside = [other for other, _, _ in places if other == column]
        y = centre + ((len(beside) - 1) / 2 - row) * STEP
        spot[part.name] = left + (column + 0.5) * width, y
    for part in panel.boxes:
        x, y = spot[part.name]
        box(axes, part, (x, y), 2 * half, TALL)
        if part.name == SUMMED:
            _inner_sum(axes, spot, part, half)
            continue
        for name in part.inputs:
            start = spot[name]
            line(axes, [(start[0] + half, start[1]), (x - half, y)], TRAINED)
    tokens, hidden = panel.boxes[-1].shape
    end = spot[panel.boxes[-1].name][0] + half
    line(axes, [(end, centre), (end + 0.22, centre)], TRAINED)
    for x, word, side in ((left - 0.22, "input", "right"), (end + 0.27, "output", "left")):
        words = f"{word}\n{tokens} × {hidden}"
        axes.text(x, centre, words, ha=side, va="center", fontsize=SMALL)


def _places(panel: Panel) -> list[tuple[int, int, Box]]:
    """Column, row and box: boxes that read the same outputs share a column."""
    found: list[tuple[int, int, Box]] = []
    for part in panel.boxes:
        column, row = (found[-1][0] + 1, 0) if found else (0, 0)
        if found and part.inputs == found[-1][2].inputs:
            column, row = found[-1][0], found[-1][1] + 1
        found.append((column, row, part))
    return found


def _inner_sum(axes: Axes, spot: dict[str, Point], part: Box, half: float) -> None:
    """What enters the attention is added to what leaves it, before the norm."""
    straight, around = (spot[name] for name in part.inputs)
    x, y = spot[part.name]
    joint, over = (straight[0] + x) / 2, y + 1.5 * STEP + 0.02
    line(axes, [(straight[0] + half, y), (joint - RADIUS, y)], TRAINED)
    line(axes, [(joint + RADIUS, y), (x - half, y)], TRAINED)
    start = around[0], around[1] + TALL / 2
    line(axes, [start, (start[0], over), (joint, over), (joint, y + RADIUS)], RESIDUAL)
    plus(axes, (joint, y))


def _legend(axes: Axes, y: float) -> None:
    """At the upper right: whose boxes are whose, and what a dashed line is."""
    from matplotlib.patches import Rectangle

    x = WIDTH - EDGE - 3.3
    for trained, said, wide in ((False, "frozen", 0.75), (True, "trained", 0.8)):
        edge = TRAINED if trained else FROZEN
        axes.add_patch(Rectangle((x, y - 0.06), 0.2, 0.12, lw=0.9, fc=FILLS[trained], ec=edge))
        axes.text(x + 0.26, y, said, va="center", fontsize=SMALL)
        x += wide
    line(axes, [(x, y), (x + 0.36, y)], RESIDUAL)
    axes.text(x + 0.42, y, "residual path", va="center", fontsize=SMALL)
    plus(axes, (x + 1.4, y))
    axes.text(x + 1.53, y, "sum", va="center", fontsize=SMALL)
