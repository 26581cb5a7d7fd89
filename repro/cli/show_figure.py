"""`show` of a figure: how each of its series is trained, value by value, and what is published."""

from __future__ import annotations

from typing import Any

from repro.papers.curves import Curves, Mark
from repro.papers.figures import Activations, Architecture, Curve, Digitised, Embeddings
from repro.papers.published import Published
from repro.papers.registry import AnyFigure
from repro.papers.request import Request
from repro.papers.three_shared.tables import published_drops
from repro.spec import RunSpec
from repro.spec.glue import GLUE

Shown = dict[str, Any]


def first_runs(figure: AnyFigure, request: Request) -> dict[str, RunSpec]:
    """What each run is -> one run a series, its first seed on the first task; or the one chain;
    or the model of each panel; or the run of the first panel, or of all."""
    matrix = figure.matrix(request)
    if isinstance(figure, Architecture):
        return {entry.row: entry.spec for entry in matrix.entries}
    if isinstance(figure, Activations):
        return {figure.method(request): matrix.of("", figure.task)[0]}
    if isinstance(figure, Embeddings):
        return {figure.method(request): matrix.of("")[0]}
    if not isinstance(figure, Curves):
        trained, ablated = matrix.entries[:2]
        return {figure.method(request): trained.spec, "switched off": ablated.spec}
    task = figure.needed(request)[0]
    return {
        _series(series, [point.label for point in points]): matrix.of(points[0].name, task)[0]
        for series, points in figure.leads(request).items()
    }


def _series(name: str, labels: list[str]) -> str:
    """Adapters: size 2, size 8."""
    kept = [label for label in labels if label]
    return f"{name}: {', '.join(kept)}" if kept else name


def scored(figure: AnyFigure, request: Request) -> tuple[str, str | None]:
    """Protocol and split of the first task; none of a drawing, or of what a run has learned."""
    if isinstance(figure, (Architecture, Embeddings)):
        return "drawn", None
    if not isinstance(figure, Curves):
        return "glue", "validation"
    found = figure.scored(figure.needed(request)[0], request)
    return found.protocol, found.split


def published(figure: AnyFigure, request: Request) -> list[Shown]:
    """Every published number of the figure."""
    if isinstance(figure, Curves):
        return [_mark(mark) for mark in figure.marks()]
    if isinstance(figure, Activations):
        return [shown for known in figure.published().items() for shown in _points(*known)]
    if isinstance(figure, (Architecture, Embeddings)):
        return []
    return [cell_json(cell) for cell in published_drops(figure.task(request)).values()]


def _mark(mark: Mark) -> Shown:
    value = mark.x if mark.y is None else mark.y
    place = "" if mark.x is None or mark.y is None else f" at {mark.x:,.0f} trained parameters"
    return {
        "row": f"{mark.series}, {mark.label}{place}",
        "column": f"{mark.panel}, {mark.kind}",
        "value": value,
        "text": f"{value:g}" + (f" +/- {mark.sem:g}" if mark.sem is not None else ""),
        "source": mark.source,
    }


def _points(curve: Curve, known: Digitised) -> list[Shown]:
    return [
        {
            "row": f"{GLUE[curve.task].title}, layer {curve.layer}, x = {x:g}",
            "column": f"{curve.panel}, digitised",
            "value": y,
            "text": f"{y:g} +/- {known.error:g}",
            "source": known.source,
        }
        for x, y in known.points
    ]


def cell_json(cell: Published) -> Shown:
    """A published number of `show --json`."""
    return {
        "row": cell.row,
        "column": cell.column,
        "value": cell.value,
        "text": cell.text,
        "source": cell.source,
    }
