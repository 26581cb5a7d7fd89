"""Figures of curves: the points to draw, why some are absent, captions and notes.

`curve_points` makes the points, `curves_drawing` draws them. Built from the store alone, without
torch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from repro.papers.curves import MEDIAN, Curves, Said
from repro.papers.request import Request
from repro.report.captions import setting
from repro.report.figures.curve_points import Cells, CurvePanel, Measured, measure, panels_of
from repro.report.figures.style import rounded
from repro.report.figures.view import FigureView, csv_of
from repro.report.runs_found import Lookup
from repro.store.store import Store
from repro.tasks.catalogue import TITLES
from repro.words import counted, grouped

if TYPE_CHECKING:
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


@dataclass(frozen=True, slots=True)
class Stated:
    """What a paper says, and that number here (None: not scored, or for the reason in `note`)."""

    said: Said
    reproduced: float | None
    note: str

    def __str__(self) -> str:
        said = self.said
        where = f" on {TITLES[said.task]}" if said.task else ""
        here = self.note if self.reproduced is None else f"{rounded(self.reproduced)} points"
        return f"{said.text}{where}: {said.published:g} %, quoted; here: {here}."


@dataclass(frozen=True)
class CurvesView(FigureView):
    """The figure at one scale. `tasks` are in it; `gaps`: reason -> the cells that lack a number
    because of it.
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
    def cells(self) -> int:
        """Points times tasks."""
        return len(self.measured)

    @property
    def done(self) -> int:
        """Of them those that are scored for every seed."""
        return sum(bool(one.values) for one in self.measured)

    @property
    def collapsed(self) -> str:
        """Which points have a run that gives a constant answer."""
        return _named([one for one in self.measured if one.collapsed], 2)

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
        from repro.report.figures.curves_drawing import draw_curves

        return draw_curves(self)


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
