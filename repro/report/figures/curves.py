"""Curves as they stand: every point of every panel, and why others are absent.

Built from the store alone, without torch. Scores are in percent, differences in points.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from repro.papers.curves import MEAN, MEDIAN, Axis, Curves, Mark, Point, Said
from repro.papers.matrix import Matrix
from repro.papers.request import Request
from repro.report.figures.curve_scores import Cells, Measured, measure
from repro.report.runs_found import Lookup
from repro.spec import RunSpec
from repro.spec.counts import inside_parameters, trained_parameters
from repro.spec.trained import trained
from repro.store.store import Store
from repro.tasks.catalogue import TITLES

X_LABELS: dict[Axis, str] = {
    "trained parameters": "trained parameters, without the output layer",
    "initial standard deviation": "standard deviation of the initial matrices",
    "samples a task": "training samples of each task",
}
SPREADS = {
    "sem": "1 standard error over seeds, to either side",
    "sd": "1 standard deviation over seeds, to either side",
}
LOW, HIGH = 20, 80
"""The percentiles over tasks that Houlsby et al. shade."""


@dataclass(frozen=True, slots=True)
class Dot:
    """A point that is drawn. `low` to `high` is its bar or band; `values` are what `y` is of, each
    called as in `names`. `trained`: parameters, output layer included, where that is one number.
    """

    label: str
    x: float | None
    y: float | None
    low: float | None = None
    high: float | None = None
    values: tuple[float, ...] = ()
    names: tuple[str, ...] = ()
    trained: int | None = None
    collapsed: int = 0


@dataclass(frozen=True, slots=True)
class Line:
    """Points of one series; `kind`: reproduced, or how a published one is known, with `source` and
    the encoder that it is of.
    """

    series: str
    kind: str
    dots: tuple[Dot, ...]
    source: str = ""
    encoder: str = ""

    @property
    def shape(self) -> str:
        """curve; level: one dot without x; threshold: one without y."""
        if self.dots[0].x is None:
            return "level"
        return "threshold" if self.dots[0].y is None else "curve"


@dataclass(frozen=True, slots=True)
class CurvePanel:
    """One pair of axes. `spread`: what a dot's bar is; `absent`: why nothing is reproduced."""

    name: str
    title: str
    x_label: str
    y_label: str
    spread: str
    lines: tuple[Line, ...]
    absent: str = ""


@dataclass(frozen=True, slots=True)
class Stated:
    """What a paper says, and that number here (None: not scored, or for the reason in `note`)."""

    said: Said
    reproduced: float | None
    note: str


@dataclass(frozen=True, slots=True)
class CurvesView:
    """The figure at one scale. `tasks` are in it; `gaps`: reason -> the cells that lack a number
    because of it. `runs` are the stored ones behind it.
    """

    matrix: Matrix[Curves]
    lead: RunSpec
    tasks: tuple[str, ...]
    measured: tuple[Measured, ...]
    panels: tuple[CurvePanel, ...]
    gaps: Mapping[str, tuple[Measured, ...]]
    statements: tuple[Stated, ...]
    runs: tuple[str, ...]

    @property
    def figure(self) -> Curves:
        """What is drawn."""
        return self.matrix.artefact

    @property
    def request(self) -> Request:
        """What was asked for."""
        return self.matrix.request

    @property
    def differs(self) -> str:
        """Why what is drawn cannot be compared with the paper's points; "" where it can."""
        scored = (self.figure.scored(task, self.request).other_rows for task in self.tasks)
        found = [one.differs for one in self.measured if one.differs]
        return next(iter((*found, *filter(None, scored))), "")

    @property
    def cells(self) -> int:
        """Points times tasks."""
        return len(self.measured)

    @property
    def done(self) -> int:
        """Of them those that are scored for every seed."""
        return sum(bool(one.values) for one in self.measured)


def view_curves(figure: Curves, request: Request, store: Store) -> CurvesView:
    """Lays the store's results out as curves."""
    matrix, lookup = figure.matrix(request), Lookup(store)
    tasks, points = figure.available(request), figure.points(request)
    measured = {
        (point, task): measure(matrix, point, task, lookup) for task in tasks for point in points
    }
    marks, shown = figure.marks(), shown_tasks(figure, tasks, request)
    over_tasks = _average if figure.across == MEAN else _across
    panels = [over_tasks(figure, request, tasks, measured, marks)] if figure.across else []
    panels += [_of_task(figure, request, task, measured, marks) for task in shown]
    gaps: dict[str, tuple[Measured, ...]] = {}
    for one in measured.values():
        if one.reason:
            gaps[one.reason] = (*gaps.get(one.reason, ()), one)
    return CurvesView(
        matrix=matrix,
        lead=matrix.of(points[0].name, tasks[0])[0],
        tasks=tasks,
        measured=tuple(measured.values()),
        panels=tuple(panels),
        gaps=gaps,
        statements=tuple(_stated(figure, said, measured) for said in figure.said()),
        runs=tuple(dict.fromkeys(key for one in measured.values() for key in one.runs)),
    )


def shown_tasks(figure: Curves, tasks: Sequence[str], request: Request) -> tuple[str, ...]:
    """The tasks that have a panel of their own: the figure's, or others in their place."""
    preferred = [task for task in figure.shown if task in tasks]
    others = [task for task in tasks if task not in preferred]
    if request.tasks is None and preferred:
        return tuple(preferred)
    return tuple([*preferred, *others][: len(figure.shown)])


def place_of(figure: Curves, point: Point, spec: RunSpec) -> float | None:
    """Where a point stands on x; the output layer is left out of trained parameters."""
    if figure.axis == "trained parameters":
        return inside_parameters(replace(trained(spec), outputs=0), spec.backbone)
    return point.value


def percentiles(values: Sequence[float]) -> tuple[float, float, float]:
    """The 20th, the 50th and the 80th, numpy's with linear interpolation."""
    low, middle, high = np.percentile(values, [LOW, 50, HIGH], method="linear")
    return float(low), float(middle), float(high)


def spread_of(figure: Curves, values: Sequence[float]) -> float | None:
    """What a point's bar or band shows to either side; None for one value."""
    if figure.spread == "sem":
        return standard_error(values)
    return statistics.stdev(values) if len(values) > 1 else None


def standard_error(values: Sequence[float]) -> float | None:
    """Of the mean; None for one value."""
    if len(values) < 2:
        return None
    return statistics.stdev(values) / math.sqrt(len(values))


def _across(
    figure: Curves, request: Request, tasks: Sequence[str], cells: Cells, marks: Sequence[Mark]
) -> CurvePanel:
    """Percentiles over tasks of the difference to the reference."""
    reference = next(p for p in figure.points(request) if p.series == figure.reference)
    lines = []
    for series, points in figure.leads(request).items():
        dots = [_over_tasks(figure, point, reference, tasks, cells) for point in points]
        kept = tuple(dot for dot in dots if dot is not None)
        if kept and series != figure.reference:
            lines.append(Line(series, "reproduced", kept))
    zero = Dot("by definition", None, 0.0)
    level = [Line(figure.reference, "reproduced", (zero,))] if lines else []
    many = "1 task" if len(tasks) == 1 else f"{len(tasks)} tasks"
    return CurvePanel(
        name=MEDIAN,
        title=f"Median over {many}",
        x_label=_x_label(figure),
        y_label=f"score minus that of {figure.reference.lower()}, points",
        spread=f"{LOW}th to {HIGH}th percentile",
        lines=(*lines, *level, *_published(marks, MEDIAN)),
        absent="" if lines else _why(cells.values()),
    )


def _over_tasks(
    figure: Curves, point: Point, reference: Point, tasks: Sequence[str], cells: Cells
) -> Dot | None:
    """A point's percentiles; None where it, or the reference, lacks a task."""
    values = []
    for task in tasks:
        own, theirs = cells[point, task].mean, cells[reference, task].mean
        if own is None or theirs is None:
            return None
        values.append(own - theirs)
    low, middle, high = percentiles(values)
    return Dot(
        label=point.name,
        x=place_of(figure, point, cells[point, tasks[0]].lead),
        y=middle,
        low=low,
        high=high,
        values=tuple(values),
        names=tuple(tasks),
        collapsed=sum(cells[point, task].collapsed for task in tasks),
    )


def _average(
    figure: Curves, request: Request, tasks: Sequence[str], cells: Cells, marks: Sequence[Mark]
) -> CurvePanel:
    """The mean of every metric of every task, seed by seed."""
    counts = {task: len(figure.scored(task, request).metrics) for task in tasks}
    lines = []
    for series, points in figure.leads(request).items():
        dots = [_over_metrics(figure, point, counts, cells) for point in points]
        kept = tuple(dot for dot in dots if dot is not None)
        lines += [Line(series, "reproduced", kept)] * bool(kept)
    numbers, many = sum(counts.values()), len(tasks)
    return CurvePanel(
        name=MEAN,
        title=f"Mean over {many} task" + "s" * (many != 1),
        x_label=_x_label(figure),
        y_label=f"mean of {numbers} numbers, %" if numbers > 1 else "score, %",
        spread=SPREADS[figure.spread],
        lines=(*lines, *_published(marks, MEAN)),
        absent="" if lines else _why(cells.values()),
    )


def _over_metrics(
    figure: Curves, point: Point, counts: Mapping[str, int], cells: Cells
) -> Dot | None:
    """A point's mean over seeds of that over metrics; None where a task lacks a run."""
    own = [cells[point, task] for task in counts]
    if not all(one.values for one in own):
        return None
    values = tuple(
        math.fsum(n * v for n, v in zip(counts.values(), of_seed, strict=True))
        / sum(counts.values())
        for of_seed in zip(*(one.values for one in own), strict=True)
    )
    found = replace(own[0], values=values, collapsed=max(one.collapsed for one in own))
    return _of_seeds(figure, found, level=False)


def _of_task(
    figure: Curves, request: Request, task: str, cells: Cells, marks: Sequence[Mark]
) -> CurvePanel:
    """The scores themselves, with the standard error over seeds."""
    lines = []
    for series, points in figure.leads(request).items():
        level = series == figure.reference
        dots = [_of_seeds(figure, cells[point, task], level) for point in points]
        kept = tuple(dot for dot in dots if dot is not None)
        lines += [Line(series, "reproduced", kept)] * bool(kept)
    scored = figure.scored(task, request)
    unit = "" if "correlation" in scored.name else ", %"
    return CurvePanel(
        name=task,
        title=TITLES[task],
        x_label=_x_label(figure),
        y_label=f"{scored.name}{unit or ' x 100'}",
        spread=SPREADS[figure.spread],
        lines=(*lines, *_published(marks, task)),
        absent="" if lines else _why([cells[p, task] for p in figure.points(request)]),
    )


def _of_seeds(figure: Curves, one: Measured, level: bool) -> Dot | None:
    """A point's mean over seeds; None where one is missing. `level`: it has no place on x."""
    if one.mean is None:
        return None
    error = spread_of(figure, one.values)
    return Dot(
        label=one.point.name,
        x=None if level else place_of(figure, one.point, one.lead),
        y=one.mean,
        low=None if error is None else one.mean - error,
        high=None if error is None else one.mean + error,
        values=one.values,
        names=tuple(f"seed {seed}" for seed in one.seeds),
        trained=trained_parameters(one.lead),
        collapsed=one.collapsed,
    )


def _published(marks: Sequence[Mark], panel: str) -> list[Line]:
    """A panel's published points: a line for each series, how it is known, and its shape."""
    found: dict[tuple[str, str, bool, bool], list[Mark]] = {}
    for mark in marks:
        if mark.panel == panel:
            shape = mark.series, mark.kind, mark.x is None, mark.y is None
            found.setdefault(shape, []).append(mark)
    return [
        Line(series, kind, tuple(map(_dot, own)), own[0].source, own[0].encoder)
        for (series, kind, _, _), own in found.items()
    ]


def _dot(mark: Mark) -> Dot:
    if mark.y is None or mark.sem is None:
        return Dot(mark.label, mark.x, mark.y)
    return Dot(mark.label, mark.x, mark.y, mark.y - mark.sem, mark.y + mark.sem)


def _x_label(figure: Curves) -> str:
    return X_LABELS[figure.axis]


def _why(cells: Iterable[Measured]) -> str:
    """The first reason why a cell has no number."""
    reasons = [one.reason for one in cells if one.reason]
    return reasons[0] if reasons else "nothing is drawn"


def _stated(figure: Curves, said: Said, cells: Cells) -> Stated:
    """A statement, and what is found here."""
    if said.note:
        return Stated(said, None, said.note)
    by_series = {(p.series, task): one for (p, task), one in cells.items()}
    own, theirs = (by_series.get((series, said.task)) for series in (said.series, figure.reference))
    if own is None or theirs is None:
        return Stated(said, None, f"{TITLES[said.task]} is not in this figure")
    if own.mean is None or theirs.mean is None:
        return Stated(said, None, own.reason or theirs.reason)
    return Stated(said, theirs.mean - own.mean, "")
