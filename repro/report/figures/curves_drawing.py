"""Draws curves: one pair of axes a panel, x on a logarithmic scale, one legend below all of them.

A series has a colour and a marker of its own. What is reproduced is filled and solid, what is
published hollow and dashed; a cross marks a point of which a run predicts one class.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from repro.papers.curves import MEAN, MEDIAN
from repro.papers.houlsby.curve_runs import FULL, NORMS, SIZED, TOP
from repro.papers.hyperformer.tables import DAGGER_BASE, MULTI_BASE, PLUS_BASE
from repro.report.figures.curve_points import COLLAPSE, SPREADS, X_LABELS, CurvePanel, Dot, Line
from repro.report.figures.curves import CurvesView
from repro.report.figures.style import (
    INK,
    MARK,
    PAPER,
    QUIET,
    SMALL,
    WIDTH,
    headed,
    legend,
    rounded,
    ruled,
)
from repro.report.figures.view import lacking

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

LOOKS = {
    SIZED: (SIZED, "#E69F00", "o"),
    TOP: (TOP, "#0072B2", "s"),
    NORMS: (NORMS, "#009E73", "D"),
    FULL: (FULL, INK, "P"),
    PLUS_BASE: ("HyperFormer++", "#E69F00", "o"),
    DAGGER_BASE: ("Adapters† (layer norms shared by tasks)", "#0072B2", "s"),
    MULTI_BASE: ("T5 fine-tuned on all tasks", INK, "D"),
}
"""Series -> its name in a legend, its colour (Okabe and Ito's palette) and its marker."""
JOINED = {"reproduced": "-", "digitised": "--", "quoted": ""}
"""How a point is known -> the line that joins points."""
NARROWEST, ROOM = 5.0, 0.12
"""Points that y spans at least, so that no noise looks large; share of an axis left free."""
STRETCH = 2.0
"""A collapsed run stands at the edge of a panel that it would stretch by more than this factor."""
CROSS: dict[str, Any] = {
    "linestyle": "", "marker": "x", "color": MARK, "markersize": 8, "markeredgewidth": 1.8,
}  # fmt: skip


def draw_curves(view: CurvesView) -> Drawing:
    """One pair of axes a panel, one legend below all of them; call it within `styled`."""
    panels = [panel for panel in view.panels if not panel.blank]
    said = lacking("Not drawn", ((p.title, p.blank) for p in view.panels if p.blank))
    said += lacking("Not reproduced", ((p.title, p.absent) for p in panels if p.absent))
    width = {0: 1.0, 1: 0.7, 2: 1.0}.get(len(panels), 1.25) * WIDTH
    drawing = headed(width, 4.6 if panels else 0.0, view.figure.title, view.stamp, *said)
    for number, panel in enumerate(panels, 1):
        fill(drawing.add_subplot(1, len(panels), number), panel)
    signs = signs_of([line for panel in panels for line in panel.lines])
    legend(drawing, signs, int(width / 2.3))
    return drawing


def signs_of(lines: Sequence[Line]) -> dict[str, Any]:
    """A series by colour and marker, then what hollow and dashed is, then other signs."""
    found: dict[str, Any] = {}
    for line in lines:
        if line.shape != "threshold":
            name, colour, marker = LOOKS[line.series]
            shown = "" if line.shape == "level" else marker
            found.setdefault(name, {"color": colour, "marker": shown, "linestyle": "-"})
    for line in lines:
        if line.shape == "threshold":
            found[line.points[0].point] = {"color": QUIET, "linestyle": ":"}
        elif line.kind != "reproduced":
            name = f"published ({line.kind}, {line.encoder})"
            found[name] = {"color": QUIET, "marker": "o", "mfc": PAPER, "linestyle": "--"}
    if any(dot.collapsed for line in lines for dot in line.points):
        found[f"a run {COLLAPSE}"] = CROSS
    return found


def fill(axes: Axes, panel: CurvePanel) -> None:
    import pandas as pd
    import seaborn

    axes.set_title(panel.title, loc="left")
    rows = [
        {"series": line.series, "kind": line.kind, **asdict(dot)}
        for line in panel.lines
        if line.shape == "curve"
        for dot in line.points
    ]
    colours, markers = ({name: look[n] for name, look in LOOKS.items()} for n in (1, 2))
    for kind, own in pd.DataFrame(rows).groupby("kind") if rows else ():
        known, ours = len(axes.lines), kind == "reproduced"
        seaborn.lineplot(
            own, x="x", y="y", hue="series", style="series", palette=colours, markers=markers,
            dashes=False, linestyle=JOINED[str(kind)], linewidth=1.5 if ours else 0.9,
            markersize=6, errorbar=None, legend=False, ax=axes, zorder=4 if ours else 3,
        )  # fmt: skip
        for drawn in axes.lines[known:]:
            drawn.set(mfc=drawn.get_color() if ours else PAPER, mec=drawn.get_color())
    for line in panel.lines:
        _spread(axes, panel, line, colours.get(line.series, QUIET))
    _scale(axes, panel)
    _crosses(axes, panel)


def _spread(axes: Axes, panel: CurvePanel, line: Line, colour: str) -> None:
    """Bars or a band of a curve, the line of a level or of a threshold."""
    ours, first = line.kind == "reproduced", line.points[0]
    if line.shape == "threshold":
        axes.axvline(first.x or 0.0, color=QUIET, linewidth=0.9, linestyle=":")
    elif line.shape == "level":
        if first.low is not None and first.high is not None:
            axes.axhspan(first.low, first.high, color=colour, alpha=0.1, linewidth=0)
        axes.axhline(
            first.y or 0.0, color=colour, linewidth=1.2 if ours else 0.9,
            linestyle="-" if ours else "--", zorder=1.5,
        )  # fmt: skip
    elif bars := [dot for dot in line.points if dot.low is not None]:
        x, y, low, high = (
            np.array([getattr(dot, name) for dot in bars]) for name in ("x", "y", "low", "high")
        )
        if ours and len(bars) > 1 and panel.spread != SPREADS["sem"]:
            axes.fill_between(x, low, high, color=colour, alpha=0.18, linewidth=0, zorder=1)
        else:
            axes.errorbar(x, y, [y - low, high - y], fmt="none", ecolor=colour, capsize=2.5)


def _scale(axes: Axes, panel: CurvePanel) -> None:
    """A logarithmic x with readable ticks; a y that no collapsed run and no noise stretches."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator

    dots = [dot for line in panel.lines for dot in line.points]
    places = [dot.x for dot in dots if dot.x is not None]
    axes.set_xscale("log")
    if places:
        decades = max(math.log10(max(places) / min(places)), 0.5)
        axes.set_xlim(min(places) / 10 ** (ROOM * decades), max(places) * 10 ** (ROOM * decades))
        fine = (1.0,) if decades > 1.6 else (1.0, 2.0, 5.0)
        axes.xaxis.set_major_locator(LogLocator(base=10, subs=fine, numticks=12))
        if panel.x == X_LABELS["samples a task"]:
            axes.xaxis.set_major_locator(FixedLocator(sorted(set(places))))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: tick(value)))
    whole, sound = (_range(d for d in dots if every or not d.collapsed) for every in (True, False))
    low, high = whole if whole[1] - whole[0] <= STRETCH * (sound[1] - sound[0]) else sound
    room = ROOM * (high - low)
    top = high + room
    if panel.name != MEDIAN and high <= 100 < top:  # no tick above what a score can be
        top = 100 + room / 4
    axes.set_ylim(low - room, top)
    axes.set(xlabel=panel.x, ylabel=panel.unit)
    if panel.name == MEAN:
        axes.set_ylabel("mean over the tasks' metrics, %")
    ruled(axes)


def _range(dots: Iterable[Dot]) -> tuple[float, float]:
    """From the least to the largest y or end of a bar, `NARROWEST` apart at least."""
    ends = [end for dot in dots for end in (dot.low, dot.y, dot.high)]
    drawn = [end for end in ends if end is not None] or [0.0]
    spare = max(0.0, NARROWEST - (max(drawn) - min(drawn))) / 2
    low, high = min(drawn) - spare, max(drawn) + spare
    return (low, high) if max(drawn) > 100 or high <= 100 else (100 - NARROWEST, 100.0)


def _crosses(axes: Axes, panel: CurvePanel) -> None:
    """Marks points that a collapsed run is behind: a level at the left, and at the lower edge,
    with its value, what lies below the axes.
    """
    floor = axes.get_ylim()[0]
    crossed = [(line, dot) for line in panel.lines for dot in line.points if dot.collapsed]
    for line, dot in crossed:
        _, colour, marker = LOOKS[line.series]
        x, y = (axes.get_xlim()[0] if dot.x is None else dot.x), dot.y or 0.0
        if y < floor:
            axes.plot([x], [floor], color=colour, marker=marker, markersize=6, clip_on=False)
            axes.annotate(
                rounded(y), (x, floor), (0, 8), textcoords="offset points", ha="center",
                fontsize=SMALL,
            )  # fmt: skip
        axes.plot([x], [max(y, floor)], clip_on=False, zorder=6, **CROSS)


def tick(value: float) -> str:
    """200k, 3M, 1e-4, 1."""
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:g}{letter}"
    if value >= 1:
        return f"{value:g}"
    mantissa, _, power = f"{value:.0e}".partition("e")
    return f"{mantissa}e{int(power)}"
