"""What is said of curves in words: caption, notes, headline, alternative text."""

from __future__ import annotations

from collections.abc import Sequence

from repro.papers.curves import MEDIAN
from repro.report.captions import not_comparable, setting
from repro.report.figures.curve_scores import Measured
from repro.report.figures.curves import CurvePanel, CurvesView, Line, Stated
from repro.report.figures.text import rounded
from repro.spec import RunSpec, SquadTask
from repro.tasks.catalogue import TITLES
from repro.words import counted

ROWS = {
    "validation": "validation rows",
    "validation_matched": "matched validation rows",
    "test": "test rows",
    "official-dev": "the official dev set",
    "generated": "generated questions",
}
MOST_NAMED = 6
"""Absent points of one reason that are named one by one."""


def headline(view: CurvesView) -> str:
    """What is drawn, in one line."""
    return view.figure.title


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
        f"{headline(view)}.",
        f"{stamp(view)}.",
        f"Tasks: {_titles(view.tasks)}.",
        f"Trained on {_rows(view)}; {trained_how(view)}.",
        f"Scored: {_scored(view)}.",
        *_panels(view),
        *(statement(stated) for stated in view.statements),
        f"Points scored: {view.done}/{view.cells}.",
    ]
    return " ".join(parts)


def _titles(tasks: Sequence[str]) -> str:
    return ", ".join(TITLES[task] for task in tasks)


def _rows(view: CurvesView) -> str:
    task = view.lead.task
    kind = "generated" if task.source == "generated" else "published"
    noun = "questions" if isinstance(task, SquadTask) else "rows"
    each = "each task's " if len(view.tasks) > 1 else "the "
    cap = f"at most {task.train_rows:,} of " if task.train_rows else ""
    if view.figure.axis == "samples a task":
        cap = "so many of "
    return f"{cap}{each}{kind} training {noun}"


def trained_how(view: CurvesView) -> str:
    """How the series are trained: one sentence part for all that are trained alike."""
    alike: dict[str, list[str]] = {}
    for series, points in view.figure.leads(view.request).items():
        specs = [view.matrix.of(point.name, task)[0] for task in view.tasks for point in points]
        unsized = [spec.model_copy(update={"method": specs[0].method}) for spec in specs]
        said = _one_size(specs) + setting(unsized)
        alike.setdefault(said, []).append(series)
    if len(alike) == 1:
        return next(iter(alike))
    return "; ".join(f"{' and '.join(names)}: {said}" for said, names in alike.items())


def _one_size(specs: Sequence[RunSpec]) -> str:
    """The size of adapters that all have the same one: "size 64, "."""
    sizes = {getattr(spec.method, "size", None) for spec in specs}
    return "" if None in sizes or len(sizes) > 1 else f"size {sizes.pop()}, "


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


def _panels(view: CurvesView) -> list[str]:
    """What a bar and a band are; hollow points are published."""
    parts = []
    if view.figure.across == MEDIAN:
        panel = view.panels[0]
        parts.append(f"{panel.title}: {panel.y_label}; shaded from the {panel.spread}.")
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
    return f"Curves over {view.panels[0].x_label}. {'. '.join(drawn)}."


def _lines(panel: CurvePanel) -> str:
    said = [_line(line) for line in panel.lines if line.kind == "reproduced"]
    return "; ".join(words for words in said if words) or panel.absent


def _line(line: Line) -> str:
    """Adapters from -5.0 (size 2) to -1.0 (size 64)."""
    dots = [dot for dot in line.dots if dot.y is not None]
    if line.shape == "level":
        return f"{line.series} {rounded(dots[0].y or 0.0)}"
    ends = [dots[0]] if len(dots) == 1 else [dots[0], dots[-1]]
    named = [
        f"{rounded(dot.y or 0.0)} ({label})" if (label := _own_label(line, dot.label)) else
        rounded(dot.y or 0.0)
        for dot in ends
    ]  # fmt: skip
    return f"{line.series} {'from ' if len(named) > 1 else ''}{' to '.join(named)}"


def _own_label(line: Line, label: str) -> str:
    return label.removeprefix(line.series).removeprefix(", ")
