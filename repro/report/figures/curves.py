"""Figures of curves: every point of every panel, why others are absent, and what is said of them.

`curves_drawing` draws them. Built from the store alone, without torch. Scores are in percent,
differences in points.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from repro.methods.inside import InsideEncoder
from repro.papers.curves import MEAN, MEDIAN, Axis, Curves, Mark, Point, Said, Scored
from repro.papers.matrix import Matrix
from repro.papers.request import Request
from repro.report.captions import setting
from repro.report.declared import not_comparable, runs_differ
from repro.report.figures.style import rounded
from repro.report.figures.view import csv_of
from repro.report.files import command_line
from repro.report.runs_found import Lookup, kept_epoch
from repro.spec import RunSpec
from repro.store.entry import StoredRun
from repro.store.store import Store
from repro.tasks.catalogue import TITLES
from repro.words import counted

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

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
        """Over the seeds."""
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
    """Points of one series; `kind`: reproduced, or how a published one is known, with `source` and
    the encoder that it is of.
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
            return f"every point is at {rounded(drawn[0])} ({self.unit})"
        return ""


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


# The runs behind the points.


def view_of(figure: Curves, request: Request, store: Store) -> CurvesView:
    """Lays the store's results out as curves."""
    matrix, lookup = figure.matrix(request), Lookup(store)
    tasks, points = figure.available(request), figure.points(request)
    measured = {
        (point, task): measure(matrix, point, task, lookup) for task in tasks for point in points
    }
    gaps: dict[str, tuple[Measured, ...]] = {}
    for one in measured.values():
        if one.reason:
            gaps[one.reason] = (*gaps.get(one.reason, ()), one)
    return CurvesView(
        matrix=matrix,
        lead=matrix.of(points[0].name, tasks[0])[0],
        tasks=tasks,
        measured=tuple(measured.values()),
        panels=tuple(_panels(figure, request, tasks, measured)),
        gaps=gaps,
        statements=tuple(_stated(figure, said, measured) for said in figure.said()),
        runs=tuple(dict.fromkeys(key for one in measured.values() for key in one.runs)),
    )


def measure(matrix: Matrix[Curves], point: Point, task: str, lookup: Lookup) -> Measured:
    """What the runs behind a point have on a task, and why others are absent."""
    specs, scored = matrix.of(point.name, task), matrix.artefact.scored(task, matrix.request)
    found = lookup.find(specs)
    values, rest = [], []
    for one in found:
        value = None if one.run is None else _score(one.run, task, scored)
        if value is None:
            rest.append(one)
        else:
            values.append(value)
    why = lookup.why(rest, None, COLLAPSE)
    if why == "not run":
        why = f"not run: {command_line(matrix.request)}"
    if values and rest:
        why = f"{len(values)} of {len(found)} seeds; the rest: {why}"
    stored = [one.run for one in found if one.run is not None]
    return Measured(
        point=point,
        task=task,
        lead=specs[0],
        values=() if rest else tuple(values),
        reason=why,
        collapsed=sum(bool(run.result.collapsed) for run in stored),
        runs=tuple(run.key for run in stored),
        seeds=tuple(spec.seed for spec in specs),
        differs=_differs(matrix, point, task, lookup) if stored else "",
    )


def _differs(matrix: Matrix[Curves], point: Point, task: str, lookup: Lookup) -> str:
    """Why the runs of a point are not those that the figure declares for it."""
    if matrix.request.scale == "paper" and not matrix.declared.of(point.name, task):
        return f"{point.name} is no point of the paper's figure"
    return runs_differ(matrix, lookup, (point.name, task))


def trained_how(view: CurvesView) -> str:
    """How the series are trained: one sentence part for all that are trained alike."""
    alike: dict[str, list[str]] = {}
    for series, points in view.figure.leads(view.request).items():
        specs = [view.matrix.of(point.name, task)[0] for task in view.tasks for point in points]
        sizes = {getattr(spec.method, "size", None) for spec in specs}
        size = "" if None in sizes or len(sizes) > 1 else f"size {sizes.pop()}, "
        unsized = [spec.model_copy(update={"method": specs[0].method}) for spec in specs]
        alike.setdefault(size + setting(unsized), []).append(series)
    if len(alike) == 1:
        return next(iter(alike))
    return "; ".join(f"{' and '.join(names)}: {said}" for said, names in alike.items())


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


# The panels.


def _panels(
    figure: Curves, request: Request, tasks: Sequence[str], cells: Cells
) -> Iterable[CurvePanel]:
    """The one over tasks, if the figure has one, then one a task."""
    every, many = tuple(cells.values()), counted(len(tasks), "task")
    counts = {task: len(figure.scored(task, request).metrics) for task in tasks}
    reference = next((p for p in figure.points(request) if p.series == figure.reference), None)

    def make(
        name: str,
        title: str,
        unit: str,
        spread: str,
        dot: Callable[[Point], Dot | None],
        behind: Iterable[Measured],
    ) -> CurvePanel:
        lines = []
        for series, points in figure.leads(request).items():
            kept = tuple(found for point in points if (found := dot(point)) is not None)
            lines += [Line(series, "reproduced", kept)] * bool(kept)
        if name == MEDIAN and all(line.shape == "level" for line in lines):
            lines = []  # the reference alone, 0 by definition
        return CurvePanel(
            name, title, unit, X_LABELS[figure.axis], spread, "" if lines else _why(behind),
            (*lines, *_published(figure.marks(), name)),
        )  # fmt: skip

    if figure.across == MEDIAN:
        assert reference is not None
        unit = f"score minus that of {figure.reference.lower()}, points"
        yield make(
            MEDIAN, f"Median over {many}", unit, f"{LOW}th to {HIGH}th percentile",
            lambda point: _over_tasks(figure, point, reference, tasks, cells), every,
        )  # fmt: skip
    elif figure.across == MEAN:
        number = sum(counts.values())
        unit = f"mean of {number} numbers, %" if number > 1 else "score, %"
        yield make(
            MEAN, f"Mean over {many}", unit, SPREADS[figure.spread],
            lambda point: _over_metrics(figure, point, counts, cells), every,
        )  # fmt: skip
    for task in shown_tasks(figure, tasks, request):
        name = figure.scored(task, request).name
        yield make(
            task,
            TITLES[task],
            name + (" x 100" if "correlation" in name else ", %"),
            SPREADS[figure.spread],
            lambda point, task=task: _of_seeds(  # type: ignore[misc]
                figure, cells[point, task], level=point.series == figure.reference
            ),
            [cells[point, task] for point in figure.points(request)],
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
    return _of_seeds(figure, found, level=False)


def _of_seeds(figure: Curves, one: Measured, *, level: bool) -> Dot | None:
    """A point's mean over seeds; None where one is missing. `level`: it has no place on x."""
    if one.mean is None:
        return None
    error = spread_of(figure, one.values)
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


def _why(cells: Iterable[Measured]) -> str:
    """The first reason why a cell has no number."""
    return next((one.reason for one in cells if one.reason), "nothing is drawn")


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


# What is said of them.


def stamp(view: CurvesView) -> str:
    """Scale, encoder, seeds, and whether the published points are comparable."""
    backbone, seeds = view.lead.backbone, view.request.seeds
    parts = [
        f"{view.request.scale.capitalize()} scale",
        f"{backbone.name} ({backbone.layers} layers)",
        f"seed {view.lead.seed}" if seeds == 1 else f"mean of {seeds} seeds",
    ]
    parts += not_comparable(view.request.scale, view.differs)
    return " · ".join(parts)


def caption(view: CurvesView) -> str:
    """What a reader must know of the points."""
    parts = [
        f"{view.figure.title}.",
        f"{stamp(view)}.",
        f"Tasks: {_titles(view.tasks)}.",
        f"Trained on {_rows(view)}; {trained_how(view)}.",
        f"Scored: {_scored(view)}.",
        *_spreads(view),
        *(statement(stated) for stated in view.statements),
        f"Points scored: {view.done}/{view.cells}.",
    ]
    return " ".join(parts)


def _titles(tasks: Sequence[str]) -> str:
    return ", ".join(TITLES[task] for task in tasks)


def _rows(view: CurvesView) -> str:
    task = view.lead.task
    kind = "generated" if task.source == "generated" else "published"
    each = "each task's " if len(view.tasks) > 1 else "the "
    cap = f"at most {task.train_rows:,} of " if task.train_rows else ""
    if view.figure.axis == "samples a task":
        cap = "so many of "
    return f"{cap}{each}{kind} training {task.noun}"


def _scored(view: CurvesView) -> str:
    """The split and the metric, of the tasks that share them."""
    alike: dict[str, list[str]] = {}
    for task in view.tasks:
        scored = view.figure.scored(task, view.request)
        where = f"{scored.name} on {ROWS.get(scored.split, scored.split)}"
        alike.setdefault(where, []).append(task)
    rows = view.lead.task.evaluation_rows
    cap = f", at most {rows:,} rows" if rows else ""
    if len(alike) == 1:
        return next(iter(alike)) + cap
    return "; ".join(f"{_titles(tasks)} by {where}" for where, tasks in alike.items()) + cap


def _spreads(view: CurvesView) -> list[str]:
    """What a bar and a band are; hollow points are published."""
    parts = []
    if view.figure.across == MEDIAN:
        panel = view.panels[0]
        parts.append(f"{panel.title}: {panel.unit}; shaded from the {panel.spread}.")
    own = [panel.title for panel in view.panels if panel.name != MEDIAN]
    if own and view.request.seeds > 1:
        shape = "bars are" if view.figure.spread == "sem" else "shaded is"
        parts.append(f"{', '.join(own)}: {shape} {view.panels[-1].spread}.")
    kinds = {line.kind for panel in view.panels for line in panel.lines} - {"reproduced"}
    if kinds:
        parts.append(f"Hollow or dashed: published, {' or '.join(sorted(kinds))}.")
    return parts


def statement(stated: Stated) -> str:
    """What they say, and what is found here."""
    said = stated.said
    where = f" on {TITLES[said.task]}" if said.task else ""
    here = stated.note if stated.reproduced is None else f"{rounded(stated.reproduced)} points"
    return f"{said.text}{where}: {said.published:g} %, quoted; here: {here}."


def notes(view: CurvesView) -> list[str]:
    """What is left out, absent or collapsed, and what holds for the figure at every scale."""
    found = [f"Left out of every point, {line}." for line in left_out(view)]
    found += [f"Absent: {line.removesuffix('.')}." for line in absent(view)]
    constant = [one for one in view.measured if one.collapsed]
    if constant:
        named = _named(constant, MOST_NAMED)
        found.append(f"Crossed out, as a run predicts one class: {named}.")
    return found + list(view.figure.notes)


def left_out(view: CurvesView) -> list[str]:
    """Each task whose data cannot be had, with the reason."""
    needed = view.figure.needed(view.request)
    return [
        f"{TITLES[task]}: {view.request.unavailable[task]}"
        for task in needed
        if task in view.request.unavailable
    ]


def absent(view: CurvesView) -> list[str]:
    """The points that lack a run, by reason."""
    return [
        f"{'every point' if len(cells) == view.cells else _named(cells, MOST_NAMED)}: {reason}"
        for reason, cells in view.gaps.items()
    ]


def _named(cells: Sequence[Measured], most: int) -> str:
    """Adapters, size 2 (CoLA, RTE); ... of more than `most` points the number of the others."""
    points: dict[str, list[str]] = {}
    for one in cells:
        points.setdefault(one.point.name, []).append(TITLES[one.task])
    named = [f"{name} ({', '.join(titles)})" for name, titles in points.items()]
    more = len(named) - most
    return "; ".join(named[:most]) + (f"; {counted(more, 'other point')}" if more > 0 else "")


def collapsed(view: CurvesView) -> str:
    """Which points have a run that gives a constant answer."""
    return _named([one for one in view.measured if one.collapsed], 2)


def alternative(view: CurvesView) -> str:
    """What stands in the picture, for who cannot see it."""
    drawn = [f"{panel.title}: {_lines(panel)}" for panel in view.panels]
    return f"Curves over {view.panels[0].x}. {'. '.join(drawn)}."


def _lines(panel: CurvePanel) -> str:
    said = [_line(line) for line in panel.lines if line.kind == "reproduced"]
    return "; ".join(words for words in said if words) or panel.absent


def _line(line: Line) -> str:
    """Adapters from -5.0 (size 2) to -1.0 (size 64)."""
    dots = [dot for dot in line.points if dot.y is not None]
    if line.shape == "level":
        return f"{line.series} {rounded(dots[0].y or 0.0)}"
    ends = [dots[0]] if len(dots) == 1 else [dots[0], dots[-1]]
    named = [
        f"{rounded(dot.y or 0.0)} ({label})" if (label := _own_label(line, dot.point)) else
        rounded(dot.y or 0.0)
        for dot in ends
    ]  # fmt: skip
    return f"{line.series} {'from ' if len(named) > 1 else ''}{' to '.join(named)}"


def _own_label(line: Line, label: str) -> str:
    return label.removeprefix(line.series).removeprefix(", ")


def csv_text(view: CurvesView) -> str:
    """One point of one panel a line; `values` are what its y is of, named by `of` (seeds, tasks).

    A number that there is not is empty: x of a level, y of a threshold, the spread of one run.
    """
    head, encoder = (view.figure.id, view.request.scale), view.lead.backbone.name
    return csv_of(
        CSV_COLUMNS,
        [
            (
                *head, panel.name, line.series, line.kind, dot.point, dot.x, dot.y, dot.low,
                dot.high, panel.unit, dot.parameters_trained, dot.collapsed,
                " ".join(name.replace(" ", "-") for name in dot.of),
                " ".join(map(str, dot.values)), line.encoder or encoder, line.source,
            )
            for panel in view.panels
            for line in panel.lines
            for dot in line.points
        ],
    )  # fmt: skip


def as_json(view: CurvesView) -> dict[str, Any]:
    """What `figure --json` says of it, but for the files; docs/json.md describes it."""
    encoder = view.lead.backbone.name
    return {
        "id": view.figure.id,
        "scale": view.request.scale,
        "tasks": list(view.tasks),
        "left_out": left_out(view),
        "encoder": encoder,
        "caption": caption(view),
        "panels": [
            asdict(panel)
            | {
                "absent": panel.absent or None,
                "lines": [
                    asdict(line)
                    | {"encoder": line.encoder or encoder, "source": line.source or None}
                    for line in panel.lines
                ],
            }
            for panel in view.panels
        ],
        "gaps": absent(view),
        "statements": [
            {
                "text": stated.said.text,
                "published": stated.said.published,
                "reproduced": stated.reproduced,
                "note": stated.note or None,
                "source": stated.said.source,
            }
            for stated in view.statements
        ],
        "complete": f"{view.done}/{view.cells}",
        "runs": list(view.runs),
        "notes": notes(view),
    }


def draw(view: CurvesView) -> Drawing:
    """The picture; call it within `styled`."""
    from repro.report.figures.curves_drawing import draw_curves

    return draw_curves(view)
