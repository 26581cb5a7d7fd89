"""Draws curves: one pair of axes a panel, x on a logarithmic scale, one legend below all of them.

A series has a colour and a marker of its own. What is reproduced is filled and solid, what is
published hollow and dashed; a cross marks a point of which a run predicts one class.
"""

from __future__ import annotations

import math
import textwrap
from typing import TYPE_CHECKING, Any

from repro.papers.curves import MEDIAN
from repro.papers.houlsby.curve_runs import FULL, NORMS, SIZED, TOP
from repro.papers.hyperformer.figures import DAGGER_BASE, MULTI_BASE, PLUS_BASE
from repro.report.figures.curve_text import headline, stamp
from repro.report.figures.curves import SPREADS, X_LABELS, CurvePanel, CurvesView, Dot, Line
from repro.report.figures.style import BASE, INK, MARK, PAPER, QUIET, SMALL, WIDTH, blank

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

COLOURS = {
    SIZED: "#E69F00", TOP: "#0072B2", NORMS: "#009E73", FULL: INK,
    PLUS_BASE: "#E69F00", DAGGER_BASE: "#0072B2", MULTI_BASE: INK,
}  # fmt: skip
"""Of Okabe and Ito's palette, which colour-blind readers tell apart."""
MARKERS = {
    SIZED: "o", TOP: "s", NORMS: "D", FULL: "_", PLUS_BASE: "o", DAGGER_BASE: "s", MULTI_BASE: "D",
}  # fmt: skip
KINDS = {"quoted": "published, quoted", "digitised": "published, digitised from a picture"}
CROSSED = "a run predicts one class"
ROOM = 0.12
"""Share of an axis that stays free beside the outermost points."""
MOST = 100.0
"""Percent that a score has at most."""
NARROWEST = 2.0
"""Points that an axis spans at least: no noise is drawn large."""
PER_LINE = 62
"""Letters of a line that fit below one pair of axes."""


def draw_curves(view: CurvesView) -> Drawing:
    """The figure; call it within `styled`."""
    panels = view.panels
    width = {1: 0.7, 2: 1.0}.get(len(panels), 1.25) * WIDTH
    drawing = blank(width, 0.5 * WIDTH + 0.3)
    letters = int(15 * width)
    title = "\n".join(
        line for part in (headline(view), stamp(view)) for line in textwrap.wrap(part, letters)
    )
    drawing.suptitle(title, x=0.01, ha="left", fontsize=BASE + 1, linespacing=1.5)
    found = [fill(drawing.add_subplot(1, len(panels), n), p) for n, p in enumerate(panels, 1)]
    entries = {label: handle for handles in found for label, handle in handles.items()}
    entries = dict(sorted(entries.items(), key=lambda entry: "(" in entry[0]))  # published last
    if entries:
        columns = max(1, min(len(entries), int(width / 3.1)))
        drawing.legend(
            list(entries.values()), list(entries), loc="outside lower left", ncols=columns,
            frameon=False, fontsize=SMALL,
        )  # fmt: skip
    return drawing


def fill(axes: Axes, panel: CurvePanel) -> dict[str, Artist]:
    """Draws one panel; returns what a legend names: label -> artist."""
    axes.set_title(panel.title, loc="left")
    axes.spines[["top", "right"]].set_visible(False)
    if not panel.lines:
        empty(axes, panel.absent)
        return {}
    handles: dict[str, Artist] = {}
    for line in panel.lines:
        draw = {"level": level, "threshold": threshold}.get(line.shape, curve)
        handles[name_of(line)] = draw(axes, line, panel)
    crossed = [dot for line in panel.lines for dot in line.dots if dot.collapsed]
    if crossed:
        handles[CROSSED] = cross(axes, crossed)
    scale(axes, panel)
    axes.set_xlabel("\n".join([panel.x_label, *nothing_here(panel)]))
    axes.set_ylabel(panel.y_label)
    return handles


def nothing_here(panel: CurvePanel) -> list[str]:
    """Lines that say why a panel has published points only; none where it has others."""
    if not panel.absent:
        return []
    words = f"Nothing reproduced: {panel.absent}"
    return textwrap.wrap(words, PER_LINE, break_on_hyphens=False)


def name_of(line: Line) -> str:
    """What the legend calls a line."""
    if line.shape == "threshold":
        return line.dots[0].label
    kind = KINDS.get(line.kind)
    return line.series if kind is None else f"{line.series} ({kind}; {line.encoder})"


def empty(axes: Axes, words: str) -> None:
    """The place of curves that there are not, and why."""
    axes.set(xticks=[], yticks=[])
    axes.spines[:].set(visible=True, color=QUIET, linewidth=0.5, linestyle=(0, (4, 4)))
    filled = textwrap.fill(words[0].upper() + words[1:], 40, break_on_hyphens=False)
    axes.text(0.5, 0.5, filled, ha="center", va="center", color=QUIET, transform=axes.transAxes)


def curve(axes: Axes, line: Line, panel: CurvePanel) -> Artist:
    """Points joined by a line, with a band over tasks, or bars or a band over seeds."""
    colour, ours = COLOURS[line.series], line.kind == "reproduced"
    dots = sorted(line.dots, key=lambda dot: dot.x or 0.0)
    x, y = [dot.x or 0.0 for dot in dots], [dot.y or 0.0 for dot in dots]
    bars = [dot for dot in dots if dot.low is not None]
    if bars and panel.spread != SPREADS["sem"] and len(dots) > 1 and ours:
        low, high = [dot.low or 0.0 for dot in dots], [dot.high or 0.0 for dot in dots]
        axes.fill_between(x, low, high, color=colour, alpha=0.18, linewidth=0, zorder=1)
    elif bars:
        ends = [[(d.y or 0.0) - (d.low or 0.0) for d in bars],
                [(d.high or 0.0) - (d.y or 0.0) for d in bars]]  # fmt: skip
        axes.errorbar(
            [d.x or 0.0 for d in bars], [d.y or 0.0 for d in bars], yerr=ends, fmt="none",
            ecolor=colour, elinewidth=1.0, capsize=2.5, zorder=2,
        )  # fmt: skip
    joined = {"reproduced": "-", "digitised": "--"}.get(line.kind, "none")
    (handle,) = axes.plot(
        x, y, linestyle=joined, color=colour, marker=MARKERS[line.series],
        markersize=5.5 if ours else 7.0, markerfacecolor=colour if ours else PAPER,
        linewidth=1.5 if ours else 0.9, zorder=4 if ours else 3,
    )  # fmt: skip
    return handle


def level(axes: Axes, line: Line, panel: CurvePanel) -> Artist:
    """A line over the whole width, for what has no place on x."""
    dot, ours = line.dots[0], line.kind == "reproduced"
    if dot.low is not None and dot.high is not None:
        axes.axhspan(dot.low, dot.high, color=COLOURS[line.series], alpha=0.1, linewidth=0)
    return axes.axhline(
        dot.y or 0.0,
        color=COLOURS[line.series],
        linewidth=1.2 if ours else 0.9,
        linestyle="-" if ours else (0, (5, 3)),
        zorder=1.5,
    )


def threshold(axes: Axes, line: Line, panel: CurvePanel) -> Artist:
    """An upright line at a place on x."""
    return axes.axvline(line.dots[0].x or 0.0, color=QUIET, linewidth=0.9, linestyle=(0, (2, 2)))


def cross(axes: Axes, dots: list[Dot]) -> Artist:
    """Marks points that a collapsed run is behind; of a level at the left end."""
    look: dict[str, Any] = {
        "linestyle": "none", "marker": "x", "color": MARK, "markersize": 8, "markeredgewidth": 1.8,
        "zorder": 6,
    }  # fmt: skip
    levels = [dot.y or 0.0 for dot in dots if dot.x is None]
    axes.plot([0.02] * len(levels), levels, transform=axes.get_yaxis_transform(), **look)
    placed = [(dot.x, dot.y or 0.0) for dot in dots if dot.x is not None]
    (handle,) = axes.plot([x for x, _ in placed], [y for _, y in placed], **look)
    return handle


def scale(axes: Axes, panel: CurvePanel) -> None:
    """A logarithmic x with readable ticks, and room beside the outermost points."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, MaxNLocator, NullLocator

    places = [dot.x for line in panel.lines for dot in line.dots if dot.x is not None]
    axes.set_xscale("log")
    if places:
        decades = max(ratio_decades(min(places), max(places)), 0.5)
        factor = 10 ** (ROOM * decades)
        axes.set_xlim(min(places) / factor, max(places) * factor)
        fine = (1.0,) if decades > 1.6 else (1.0, 2.0, 5.0)
        axes.xaxis.set_major_locator(LogLocator(base=10, subs=fine, numticks=12))
        if panel.x_label == X_LABELS["samples a task"]:
            axes.xaxis.set_major_locator(FixedLocator(sorted(set(places))))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: tick(value)))
    axes.yaxis.set_major_locator(MaxNLocator(7))
    axes.margins(y=ROOM)
    low, high = axes.get_ylim()
    least, most = axes.dataLim.intervaly
    if least == most:  # which the library would draw on an axis of a tenth of the score
        low, high = least, most
    if high - low < NARROWEST:
        low, high = (low + high - NARROWEST) / 2, (low + high + NARROWEST) / 2
        axes.set_ylim(low, high)
    if panel.name != MEDIAN and high > MOST:
        axes.set_ylim(low, MOST + 0.03 * (MOST - low))  # no tick above what a score can be
    axes.grid(axis="y", color="#DDDDDD", linewidth=0.5, zorder=0)
    axes.set_axisbelow(True)


def ratio_decades(low: float, high: float) -> float:
    """How many powers of ten lie between two numbers."""
    return math.log10(high / low)


def tick(value: float) -> str:
    """200k, 3M, 1e-4, 1."""
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:g}{letter}"
    if value >= 1:
        return f"{value:g}"
    mantissa, _, power = f"{value:.0e}".partition("e")
    return f"{mantissa}e{int(power)}"
