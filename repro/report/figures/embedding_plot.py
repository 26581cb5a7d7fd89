"""Draws task embeddings: two maps, a colour and a shape a kind of task, a name beside a point."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from repro.report.figures.embedding_labels import Box, Place, is_far, place_names
from repro.report.figures.embedding_text import TITLES, axis_labels, by_kind, named, stamp
from repro.report.figures.embeddings import EmbeddingsView, Map
from repro.report.figures.style import BASE, INK, QUIET, SMALL, WIDTH, blank

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

MARKS = (("#E69F00", "s"), (INK, "D"), ("#009E73", "^"), ("#0072B2", "o"), ("#CC79A7", "v"))
"""Colour, of Okabe and Ito's palette, and shape of each kind of task, in order."""
SIZE, FAR = 8.0, 8.0
"""Points: of a mark, and how far from it a name needs a line to it."""
LINE = {
    "arrowstyle": "-", "color": QUIET, "linewidth": 0.5, "shrinkA": 0, "shrinkB": SIZE / 2,
}  # fmt: skip


def draw_embeddings(view: EmbeddingsView) -> Drawing:
    """The figure; call it within `styled`."""
    from matplotlib.lines import Line2D

    drawing = blank(WIDTH, 0.58 * WIDTH)
    lines = [view.figure.title, *textwrap.wrap(stamp(view), 125)]
    drawing.suptitle("\n".join(lines), x=0.01, ha="left", fontsize=BASE, linespacing=1.5)
    panels = [_panel(drawing.add_subplot(1, 2, n), view, m) for n, m in enumerate(view.maps, 1)]
    kinds = [
        Line2D(
            [], [], color=colour, marker=shape, markersize=SIZE, linestyle="",
            label=f"{kind}: {', '.join(map(named, tasks))}",
        )
        for (kind, tasks), (colour, shape) in zip(by_kind(view).items(), MARKS, strict=False)
        if tasks
    ]  # fmt: skip
    near = Line2D([], [], color=QUIET, linewidth=0.8, alpha=0.6, label="nearest by cosine distance")
    drawing.legend(
        handles=[*kinds, near], loc="outside lower left", ncols=3, frameon=False, fontsize=SMALL
    )
    drawing.set_layout_engine("constrained")
    drawing.draw_without_rendering()  # so that names are placed where the axes will stand
    for axes, one in zip(panels, view.maps, strict=True):
        _name_points(axes, view, one)
    return drawing


def _panel(axes: Axes, view: EmbeddingsView, one: Map) -> Axes:
    """The points of a map, each joined to the task that is nearest to it in all dimensions."""
    axes.set_title(TITLES[one.name], loc="left")
    axes.spines[["top", "right"]].set_visible(False)
    across, up = axis_labels(one)
    axes.set(xlabel=across, ylabel=up)
    if one.absent:
        axes.set(xticks=[], yticks=[])
        words = textwrap.fill(f"Not drawn: {one.absent}.", 50)
        axes.text(0.5, 0.5, words, ha="center", va="center", transform=axes.transAxes, color=QUIET)
        return axes
    for ends in _lines(view, one):
        axes.plot(*zip(*ends, strict=True), color=QUIET, linewidth=0.8, alpha=0.6, zorder=2)
    for tasks, (colour, shape) in zip(by_kind(view).values(), MARKS, strict=False):
        axes.plot(
            [one.points[task][0] for task in tasks], [one.points[task][1] for task in tasks],
            linestyle="", marker=shape, markersize=SIZE, color=colour,
            markeredgecolor="white", markeredgewidth=0.6, zorder=3,
        )  # fmt: skip
    axes.margins(0.16)
    axes.set_aspect("equal", adjustable="datalim")  # a distance is as long across as up
    return axes


def _lines(view: EmbeddingsView, one: Map) -> list[tuple[Place, Place]]:
    """The ends of the lines from each task to its nearest, each line once."""
    pairs = [{task, other} for task in one.points if (other := view.nearest(task)) is not None]
    ends = dict.fromkeys(tuple(one.points[task] for task in one.points if task in p) for p in pairs)
    return [(first, second) for first, second in ends]


def _name_points(axes: Axes, view: EmbeddingsView, one: Map) -> None:
    """A name beside each point, on no other name and no mark; a thin line where it stands far."""
    if one.absent:
        return
    scale = 72 / axes.figure.dpi  # points a pixel

    def on_paper(place: Place) -> Place:
        x, y = axes.transData.transform(place)
        return scale * float(x), scale * float(y)

    frame = Box(*(scale * end for end in axes.get_window_extent().extents))
    marks = {task: on_paper(place) for task, place in one.points.items()}
    sizes = {task: _size(axes, named(task), scale) for task in one.points}
    lines = [(on_paper(first), on_paper(second)) for first, second in _lines(view, one)]
    for task, middle in place_names(marks, sizes, SIZE, frame, lines).items():
        far = is_far(middle, marks[task], sizes[task], FAR)
        label = axes.annotate(
            named(task), one.points[task], textcoords="offset points",
            xytext=(middle[0] - marks[task][0], middle[1] - marks[task][1]),
            fontsize=SMALL, ha="center", va="center", zorder=4,
            arrowprops=LINE if far else None,
        )  # fmt: skip
        label.set_in_layout(False)  # which is settled


def _size(axes: Axes, words: str, scale: float) -> tuple[float, float]:
    """Width and height of a name, in points."""
    text = axes.text(0, 0, words, fontsize=SMALL)
    extent = text.get_window_extent()
    text.remove()
    return scale * extent.width, scale * extent.height
