"""Draws learned activations: two panels, a colour a curve, the published ones dashed behind."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from repro.papers.activations import Panel
from repro.report.figures.activation_text import (
    MOST,
    PANELS,
    X_LABEL,
    Y_LABEL,
    label,
    published_label,
    stamp,
    title,
)
from repro.report.figures.activations import ActivationsView, Line
from repro.report.figures.style import BASE, INK, QUIET, SMALL, WIDTH, blank

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

COLOURS = (
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", INK, "#E69F00", "#56B4E9", QUIET, "#F0E442",
)  # fmt: skip
"""Of Okabe and Ito's palette, which colour-blind readers tell apart; as many as there are tasks."""
LETTERS = 58
"""That fit into a line of a legend."""


def draw_activations(view: ActivationsView) -> Drawing:
    """The figure; call it within `styled`."""
    from matplotlib.lines import Line2D

    drawing = blank(WIDTH, 0.62 * WIDTH)
    lines = [view.figure.title, *textwrap.wrap(stamp(view), 125)]
    drawing.suptitle("\n".join(lines), x=0.01, ha="left", fontsize=BASE, linespacing=1.5)
    for number, panel in enumerate(PANELS, 1):
        _fill(drawing.add_subplot(1, 2, number), view, panel)
    kinds = [
        Line2D([], [], color=QUIET, linewidth=2.2, label="here, where inputs were met"),
        Line2D([], [], color=QUIET, linewidth=0.8, label="here, beyond them"),
        Line2D([], [], color=QUIET, linewidth=1.2, linestyle="--", label=published_label(view)),
    ]
    drawing.legend(
        handles=kinds, loc="outside lower left", ncols=3, frameon=False, fontsize=SMALL
    )  # fmt: skip
    return drawing


def _fill(axes: Axes, view: ActivationsView, panel: Panel) -> None:
    axes.set_title(title(view, panel), loc="left")
    axes.spines[["top", "right"]].set_visible(False)
    axes.axhline(0, color="#DDDDDD", linewidth=0.5, zorder=0)
    axes.axvline(0, color="#DDDDDD", linewidth=0.5, zorder=0)
    for colour, line in zip(COLOURS, view.panel(panel), strict=False):
        _draw(axes, view, line, colour)
    x = view.x
    low, high = axes.dataLim.intervaly
    room = 0.05 * (min(high, MOST) - max(low, -MOST))
    axes.set(xlim=(x[0], x[-1]), ylim=(max(low, -MOST) - room, min(high, MOST) + room))
    axes.set_xlabel(X_LABEL)
    axes.set_ylabel(Y_LABEL)
    axes.legend(
        loc="upper left", bbox_to_anchor=(-0.02, -0.13), frameon=False, fontsize=SMALL,
        handlelength=1.6, labelspacing=0.3,
    )  # fmt: skip


def _draw(axes: Axes, view: ActivationsView, line: Line, colour: str) -> None:
    """A curve: thin beyond the inputs that it met, behind it the published one."""
    if line.published is not None:
        x, y = zip(*line.published.points, strict=True)
        axes.plot(x, y, color=colour, linewidth=1.2, linestyle=(0, (4, 2)), alpha=0.75, zorder=2)
    points, one = line.points(view.x), line.learned
    words = textwrap.fill(label(view, line), LETTERS, break_on_hyphens=False)
    if one is None:
        axes.plot([], [], color=colour, linewidth=1.2, linestyle=(0, (4, 2)), label=words)
        return
    axes.plot(*zip(*points, strict=True), color=colour, linewidth=0.8, zorder=3)
    met = [point for point in points if one.low <= point[0] <= one.high]
    axes.plot(
        [x for x, _ in met], [y for _, y in met], color=colour, linewidth=2.2, zorder=4, label=words
    )
