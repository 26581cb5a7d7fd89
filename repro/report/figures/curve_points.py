"""The points of a figure of curves: what is measured, what a panel shows of it, what is published.

Scores are in percent, differences in points.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from repro.methods.inside import InsideEncoder
from repro.papers.curves import MEAN, MEDIAN, Axis, Curves, Mark, Point, Scored
from repro.papers.matrix import Matrix
from repro.papers.request import Request
from repro.report.declared import runs_differ
from repro.report.files import command_line
from repro.report.render import number
from repro.report.runs_found import Lookup, kept_epoch
from repro.spec import RunSpec
from repro.store.entry import StoredRun
from repro.tasks.catalogue import TITLES
from repro.words import counted, grouped

COLLAPSE = "predicts one class"
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
ALIKE = 0.005
"""Points that differ by less show nothing."""


@dataclass(frozen=True, slots=True)
class Measured:
    """A point on a task: one score a seed where all are there, else why not.

    `differs`: why its runs are not those of the paper's point, "" where they are.
    """

    point: Point
    task: str
    lead: RunSpec
    values: tuple[float, ...]
    reason: str
    collapsed: int
    runs: tuple[str, ...]
    seeds: tuple[int, ...]
    differs: str

    @property
    def mean(self) -> float | None:
        return statistics.fmean(self.values) if self.values else None


Cells = Mapping[tuple[Point, str], Measured]
"""(point, task) -> what was measured there."""


@dataclass(frozen=True, slots=True)
class Dot:
    """A point that is drawn. `low` to `high` is its bar or band; `values` are what `y` is of, each
    called as in `of`. `parameters_trained`: output layer included, where that is one number.
    """

    point: str
    x: float | None
    y: float | None
    low: float | None = None
    high: float | None = None
    values: tuple[float, ...] = ()
    of: tuple[str, ...] = ()
    parameters_trained: int | None = None
    collapsed: int = 0


@dataclass(frozen=True, slots=True)
class Line:
    """Points of one series. `kind` is "reproduced", or how a published series is known; that one
    has a `source` and the name of its encoder.
    """

    series: str
    kind: str
    points: tuple[Dot, ...]
    source: str = ""
    encoder: str = ""

    @property
    def shape(self) -> str:
        """curve; level: one dot without x; threshold: one without y."""
        if self.points[0].x is None:
            return "level"
        return "threshold" if self.points[0].y is None else "curve"

    def __str__(self) -> str:
        """Adapters from -5.0 (size 2) to -1.0 (size 64)."""
        dots = [dot for dot in self.points if dot.y is not None]
        ends = dots[:1] if len(dots) == 1 else [dots[0], dots[-1]]
        named = []
        for dot in ends:
            label = dot.point.removeprefix(self.series).removeprefix(", ")
            shown = f" ({label})" if label and self.shape != "level" else ""
            named.append(number(dot.y or 0.0) + shown)
        return f"{self.series} {'from ' if len(named) > 1 else ''}{' to '.join(named)}"


@dataclass(frozen=True, slots=True)
class CurvePanel:
    """One pair of axes. `spread`: what a dot's bar is; `absent`: why nothing is reproduced."""

    name: str
    title: str
    unit: str
    x: str
    spread: str
    absent: str
    lines: tuple[Line, ...]

    @property
    def blank(self) -> str:
        """Why a picture would show nothing; "" where it shows something."""
        drawn = [dot.y for line in self.lines for dot in line.points if dot.y is not None]
        if not drawn:
            return self.absent
        if len(drawn) > 1 and max(drawn) - min(drawn) < ALIKE:
            return f"every point is at {number(drawn[0])} ({self.unit})"
        return ""


def measure(matrix: Matrix[Curves], point: Point, task: str, lookup: Lookup) -> Measured:
    """What the runs behind a point have on a task, and why others are absent."""
    specs, scored = matrix.of(point.name, task), matrix.artefact.scored(task, matrix.request)
    found = lookup.find(specs)
    stored = [one.run for one in found if one.run is not None]
    values = {run.key: v for run in stored if (v := _score(run, task, scored)) is not None}
    rest = [one for one in found if one.key not in values]
    why = lookup.why(rest, None, COLLAPSE)
    if why == "not run":
        why = f"not run: {command_line(matrix.request)}"
    if values and rest:
        why = f"{len(values)} of {len(found)} seeds; the rest: {why}"
    differs = runs_differ(matrix, lookup, (point.name, task)) if stored else ""
    if stored and matrix.request.scale == "paper" and not matrix.declared.of(point.name, task):
        differs = f"{point.name} is no point of the paper's figure"
    return Measured(
        point=point,
        task=task,
        lead=specs[0],
        values=() if rest else tuple(values.values()),
        reason=why,
        collapsed=sum(bool(run.result.collapsed) for run in stored),
        runs=tuple(run.key for run in stored),
        seeds=tuple(spec.seed for spec in specs),
        differs=differs,
    )


def _score(run: StoredRun, task: str, scored: Scored) -> float | None:
    """The mean of the metrics; None where one was not scored."""
    epoch, found = kept_epoch(run), []
    for metric in scored.metrics:
        where = scored.split, scored.protocol, metric, scored.group, epoch
        score = run.score(*where, task=task if len(run.tasks) > 1 else None)
        if score is None:
            return None
        found.append(score.value)
    return statistics.fmean(found) + 0.0  # a zero without a sign


def panels_of(
    figure: Curves, request: Request, tasks: Sequence[str], cells: Cells
) -> tuple[CurvePanel, ...]:
    """The one over tasks, if the figure has one, then one a task."""
    points, many = figure.points(request), counted(len(tasks), "task")
    counts = {task: len(figure.scored(task, request).metrics) for task in tasks}
    reference = next((p for p in points if p.series == figure.reference), None)
    made: list[tuple[str, str, str, str, dict[Point, Dot | None]]] = []
    if figure.across == MEDIAN:
        assert reference is not None
        unit = f"score minus that of {figure.reference.lower()}, points"
        dots = {p: _over_tasks(figure, p, reference, tasks, cells) for p in points}
        spread = f"{LOW}th to {HIGH}th percentile"
        made.append((MEDIAN, f"Median over {many}", unit, spread, dots))
    elif figure.across == MEAN:
        metrics = sum(counts.values())
        unit = f"mean of {metrics} numbers, %" if metrics > 1 else "score, %"
        dots = {p: _over_metrics(figure, p, counts, cells) for p in points}
        made.append((MEAN, f"Mean over {many}", unit, SPREADS[figure.spread], dots))
    for task in shown_tasks(figure, tasks, request):
        name = figure.scored(task, request).name
        unit = name + (" x 100" if "correlation" in name else ", %")
        dots = {p: _of_seeds(figure, cells[p, task]) for p in points}
        made.append((task, TITLES[task], unit, SPREADS[figure.spread], dots))
    return tuple(_panel(figure, request, cells, *one) for one in made)


def _panel(
    figure: Curves,
    request: Request,
    cells: Cells,
    name: str,
    title: str,
    unit: str,
    spread: str,
    dots: Mapping[Point, Dot | None],
) -> CurvePanel:
    """The panel of a task or over all of them, with the published points."""
    lines = []
    for series, points in figure.leads(request).items():
        kept = tuple(dot for point in points if (dot := dots[point]) is not None)
        lines += [Line(series, "reproduced", kept)] * bool(kept)
    if name == MEDIAN and all(line.shape == "level" for line in lines):
        lines = []  # the reference alone, 0 by definition
    behind = (one for (_, task), one in cells.items() if name in (task, MEDIAN, MEAN))
    why = next((one.reason for one in behind if one.reason), "nothing is drawn")
    shown = (*lines, *_published(figure.marks(), name))
    return CurvePanel(name, title, unit, X_LABELS[figure.axis], spread, "" if lines else why, shown)


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
        assert isinstance(spec.method, InsideEncoder)
        return spec.trained_parameters() - spec.outputs * (spec.backbone.hidden_size + 1)
    return point.value


def percentiles(values: Sequence[float]) -> tuple[float, float, float]:
    """The 20th, the 50th and the 80th, numpy's with linear interpolation."""
    low, middle, high = np.percentile(values, [LOW, 50, HIGH], method="linear")
    return float(low), float(middle), float(high)


def spread_of(figure: Curves, values: Sequence[float]) -> float | None:
    """What a point's bar or band shows to either side; None for one value."""
    if len(values) < 2:
        return None
    deviation = statistics.stdev(values)
    return deviation / math.sqrt(len(values)) if figure.spread == "sem" else deviation


def _over_tasks(
    figure: Curves, point: Point, reference: Point, tasks: Sequence[str], cells: Cells
) -> Dot | None:
    """A point's percentiles of the difference to the reference, which is 0 by definition; None
    where one of both lacks a task.
    """
    if point == reference:
        return Dot("by definition", None, 0.0)
    values = []
    for task in tasks:
        own, theirs = cells[point, task].mean, cells[reference, task].mean
        if own is None or theirs is None:
            return None
        values.append(own - theirs)
    low, middle, high = percentiles(values)
    return Dot(
        point=point.name,
        x=place_of(figure, point, cells[point, tasks[0]].lead),
        y=middle,
        low=low,
        high=high,
        values=tuple(values),
        of=tuple(tasks),
        collapsed=sum(cells[point, task].collapsed for task in tasks),
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
    return _of_seeds(figure, found)


def _of_seeds(figure: Curves, one: Measured) -> Dot | None:
    """A point's mean over seeds; None where one is missing. The reference has no place on x."""
    if one.mean is None:
        return None
    error = spread_of(figure, one.values)
    level = one.point.series == figure.reference
    return Dot(
        point=one.point.name,
        x=None if level else place_of(figure, one.point, one.lead),
        y=one.mean,
        low=None if error is None else one.mean - error,
        high=None if error is None else one.mean + error,
        values=one.values,
        of=tuple(f"seed {seed}" for seed in one.seeds),
        parameters_trained=one.lead.trained_parameters(),
        collapsed=one.collapsed,
    )


def _published(marks: Sequence[Mark], panel: str) -> list[Line]:
    """A panel's published points: a line for each series, how it is known, and its shape."""
    lines = grouped(
        ((mark.series, mark.kind, mark.x is None, mark.y is None), mark)
        for mark in marks
        if mark.panel == panel
    )
    found = []
    for (series, kind, _, _), own in lines.items():
        dots = []
        for mark in own:
            y, sem = mark.y, mark.sem
            ends = () if y is None or sem is None else (y - sem, y + sem)
            dots.append(Dot(mark.label, mark.x, y, *ends))
        found.append(Line(series, kind, tuple(dots), own[0].source, own[0].encoder))
    return found
