"""Figures of curves: captions, notes and the picture; `curve_points` makes the points.

Built from the store alone, without torch. In the picture a series has a colour and a marker of its
own. What is reproduced is filled and solid, what is published hollow and dashed; a cross marks a
point of which a run predicts one class.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from repro.papers.curves import MEAN, MEDIAN, Curves, Said
from repro.papers.houlsby.curve_runs import FULL, NORMS, SIZED, TOP
from repro.papers.hyperformer.tables import DAGGER_BASE, MULTI_BASE, PLUS_BASE
from repro.papers.request import Request
from repro.report.captions import setting
from repro.report.figures.curve_points import (
    COLLAPSE,
    SPREADS,
    X_LABELS,
    Cells,
    CurvePanel,
    Dot,
    Line,
    Measured,
    measure,
    panels_of,
)
from repro.report.figures.style import (
    INK,
    MARK,
    PAPER,
    QUIET,
    SMALL,
    WIDTH,
    headed,
    legend,
    ruled,
)
from repro.report.figures.view import FigureView, lacking
from repro.report.render import csv_of, number
from repro.report.runs_found import Lookup
from repro.store.store import Store
from repro.tasks.catalogue import TITLES
from repro.words import counted, grouped

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

ROWS = {
    "validation": "validation rows",
    "validation_matched": "matched validation rows",
    "test": "test rows",
    "official-dev": "the official dev set",
    "generated": "generated questions",
}
MOST_NAMED = 6
"""Absent points of one reason that are named one by one."""
CSV_COLUMNS = (
    "figure", "scale", "panel", "series", "kind", "point", "x", "y", "low", "high", "unit",
    "trained_parameters", "collapsed_runs", "of", "values", "encoder", "source",
)  # fmt: skip

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


@dataclass(frozen=True, slots=True)
class Stated:
    """What a paper says, and that number here (None: not scored, or for the reason in `note`)."""

    said: Said
    reproduced: float | None
    note: str

    def __str__(self) -> str:
        said = self.said
        where = f" on {TITLES[said.task]}" if said.task else ""
        here = self.note if self.reproduced is None else f"{number(self.reproduced)} points"
        return f"{said.text}{where}: {said.published:g} %, quoted; here: {here}."


@dataclass(frozen=True)
class CurvesView(FigureView):
    """The figure at one scale; its cells are points times tasks. `tasks` are in it; `gaps`: reason
    -> the cells that lack a number because of it.
    """

    tasks: tuple[str, ...]
    measured: tuple[Measured, ...]
    panels: tuple[CurvePanel, ...]
    gaps: Mapping[str, Sequence[Measured]]
    statements: tuple[Stated, ...]

    @property
    def differs(self) -> str:
        """Why what is drawn cannot be compared with the paper's points; "" where it can."""
        scored = (self.figure.scored(task, self.request).other_rows for task in self.tasks)
        found = [one.differs for one in self.measured if one.differs]
        return next(iter((*found, *filter(None, scored))), "")

    @property
    def stamp(self) -> str:
        seeds = self.request.seeds
        drawn = f"seed {self.lead.seed}" if seeds == 1 else f"mean of {seeds} seeds"
        return self.stamped(drawn, differs=self.differs)

    @property
    def caption(self) -> str:
        parts = [
            f"{self.figure.title}. {self.stamp}.",
            f"Tasks: {_titles(self.tasks)}.",
            f"Trained on {self._rows()}; {self._trained_how()}.",
            f"Scored: {self._scored()}.",
            *self._spreads(),
            *map(str, self.statements),
            f"Points scored: {self.done}/{self.cells}.",
        ]
        return " ".join(parts)

    def _rows(self) -> str:
        task = self.lead.task
        kind = "generated" if task.source == "generated" else "published"
        each = "each task's " if len(self.tasks) > 1 else "the "
        cap = f"at most {task.train_rows:,} of " if task.train_rows else ""
        if self.figure.axis == "samples a task":
            cap = "so many of "
        return f"{cap}{each}{kind} training {task.noun}"

    def _trained_how(self) -> str:
        """How the series are trained: one sentence part for all that are trained alike."""
        alike = []
        for series, points in self.figure.leads(self.request).items():
            specs = [self.matrix.of(point.name, task)[0] for task in self.tasks for point in points]
            sizes = {getattr(spec.method, "size", None) for spec in specs}
            size = "" if None in sizes or len(sizes) > 1 else f"size {sizes.pop()}, "
            unsized = [spec.model_copy(update={"method": specs[0].method}) for spec in specs]
            alike.append((size + setting(unsized), series))
        found = grouped(alike)
        if len(found) == 1:
            return next(iter(found))
        return "; ".join(f"{' and '.join(names)}: {said}" for said, names in found.items())

    def _scored(self) -> str:
        """The split and the metric, of the tasks that share them."""
        scored = ((self.figure.scored(task, self.request), task) for task in self.tasks)
        alike = grouped(
            (f"{one.name} on {ROWS.get(one.split, one.split)}", task) for one, task in scored
        )
        rows = self.lead.task.evaluation_rows
        cap = f", at most {rows:,} rows" if rows else ""
        if len(alike) == 1:
            return next(iter(alike)) + cap
        return "; ".join(f"{_titles(tasks)} by {where}" for where, tasks in alike.items()) + cap

    def _spreads(self) -> list[str]:
        """What a bar and a band are; hollow points are published."""
        parts = []
        if self.figure.across == MEDIAN:
            panel = self.panels[0]
            parts.append(f"{panel.title}: {panel.unit}; shaded from the {panel.spread}.")
        own = [panel.title for panel in self.panels if panel.name != MEDIAN]
        if own and self.request.seeds > 1:
            shape = "bars are" if self.figure.spread == "sem" else "shaded is"
            parts.append(f"{', '.join(own)}: {shape} {self.panels[-1].spread}.")
        kinds = {line.kind for panel in self.panels for line in panel.lines} - {"reproduced"}
        if kinds:
            parts.append(f"Hollow or dashed: published, {' or '.join(sorted(kinds))}.")
        return parts

    def own_notes(self) -> list[str]:
        found = [f"Left out of every point, {line}." for line in self.left_out]
        found += [f"Absent: {line.removesuffix('.')}." for line in self.absent]
        constant = [one for one in self.measured if one.collapsed]
        named = _named(constant, MOST_NAMED)
        said = f"Crossed out, as a run predicts one class: {named}."
        return found + [said] * bool(constant)

    @property
    def left_out(self) -> list[str]:
        why = self.request.unavailable
        needed = self.figure.needed(self.request)
        return [f"{TITLES[task]}: {why[task]}" for task in needed if task in why]

    @property
    def absent(self) -> list[str]:
        """The points that lack a run, by reason."""
        return [
            f"{'every point' if len(cells) == self.cells else _named(cells, MOST_NAMED)}: {reason}"
            for reason, cells in self.gaps.items()
        ]

    @property
    def alternative(self) -> str:
        drawn = []
        for panel in self.panels:
            said = "; ".join(str(line) for line in panel.lines if line.kind == "reproduced")
            drawn.append(f"{panel.title}: {said or panel.absent}")
        return f"Curves over {self.panels[0].x}. {'. '.join(drawn)}."

    @property
    def csv(self) -> str:
        """One point of one panel a line; `values` are what its y is of, named by `of` (seeds,
        tasks). A number that there is not is empty: x of a level, y of a threshold, the spread of
        one run.
        """
        head, encoder = (self.id, self.request.scale), self.lead.backbone.name
        return csv_of(
            CSV_COLUMNS,
            [
                (
                    *head, panel.name, line.series, line.kind, dot.point, dot.x, dot.y, dot.low,
                    dot.high, panel.unit, dot.parameters_trained, dot.collapsed,
                    " ".join(name.replace(" ", "-") for name in dot.of),
                    " ".join(map(str, dot.values)), line.encoder or encoder, line.source,
                )
                for panel in self.panels
                for line in panel.lines
                for dot in line.points
            ],
        )  # fmt: skip

    def data(self) -> dict[str, Any]:
        encoder = self.lead.backbone.name
        panels = [asdict(panel) | {"absent": panel.absent or None} for panel in self.panels]
        for line in (line for panel in panels for line in panel["lines"]):
            line |= {"encoder": line["encoder"] or encoder, "source": line["source"] or None}
        return {
            "tasks": list(self.tasks),
            "left_out": self.left_out,
            "encoder": encoder,
            "caption": self.caption,
            "panels": panels,
            "gaps": self.absent,
            "statements": [
                {
                    "text": stated.said.text,
                    "published": stated.said.published,
                    "reproduced": stated.reproduced,
                    "note": stated.note or None,
                    "source": stated.said.source,
                }
                for stated in self.statements
            ],
        }

    def draw(self) -> Drawing:
        """One pair of axes a panel, x on a logarithmic scale, one legend below all of them."""
        panels = [panel for panel in self.panels if not panel.blank]
        said = lacking("Not drawn", ((p.title, p.blank) for p in self.panels if p.blank))
        said += lacking("Not reproduced", ((p.title, p.absent) for p in panels if p.absent))
        width = {0: 1.0, 1: 0.7, 2: 1.0}.get(len(panels), 1.25) * WIDTH
        drawing = headed(width, 4.6 if panels else 0.0, self.figure.title, self.stamp, *said)
        for place, panel in enumerate(panels, 1):
            fill(drawing.add_subplot(1, len(panels), place), panel)
        signs = signs_of([line for panel in panels for line in panel.lines])
        legend(drawing, signs, int(width / 2.3))
        return drawing


def _titles(tasks: Sequence[str]) -> str:
    return ", ".join(TITLES[task] for task in tasks)


def _named(cells: Sequence[Measured], most: int) -> str:
    """Adapters, size 2 (CoLA, RTE); ... of more than `most` points the number of the others."""
    points = grouped((one.point.name, TITLES[one.task]) for one in cells)
    named = [f"{name} ({', '.join(titles)})" for name, titles in points.items()]
    more = len(named) - most
    return "; ".join(named[:most]) + (f"; {counted(more, 'other point')}" if more > 0 else "")


def view_of(figure: Curves, request: Request, store: Store) -> CurvesView:
    matrix, lookup = figure.matrix(request), Lookup(store)
    tasks, points = figure.available(request), figure.points(request)
    cells = {
        (point, task): measure(matrix, point, task, lookup) for task in tasks for point in points
    }
    return CurvesView(
        matrix=matrix,
        lead=matrix.of(points[0].name, tasks[0])[0],
        runs=tuple(dict.fromkeys(key for one in cells.values() for key in one.runs)),
        cells=len(cells),
        done=sum(bool(one.values) for one in cells.values()),
        collapsed=_named([one for one in cells.values() if one.collapsed], 2),
        tasks=tasks,
        measured=tuple(cells.values()),
        panels=panels_of(figure, request, tasks, cells),
        gaps=grouped((one.reason, one) for one in cells.values() if one.reason),
        statements=tuple(_stated(figure, said, cells) for said in figure.said()),
    )


def _stated(figure: Curves, said: Said, cells: Cells) -> Stated:
    if said.note:
        return Stated(said, None, said.note)
    by_series = {(p.series, task): one for (p, task), one in cells.items()}
    own, theirs = (by_series.get((series, said.task)) for series in (said.series, figure.reference))
    if own is None or theirs is None:
        return Stated(said, None, f"{TITLES[said.task]} is not in this figure")
    if own.mean is None or theirs.mean is None:
        return Stated(said, None, own.reason or theirs.reason)
    return Stated(said, theirs.mean - own.mean, "")


# The picture.


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
                number(y), (x, floor), (0, 8), textcoords="offset points", ha="center",
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
