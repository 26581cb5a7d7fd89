"""`show ID`: how a table or figure is trained, each value with its source, and what is printed."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from typing import Annotated, Any

import typer

from repro.cli import options as o
from repro.cli.requests import bare_request, check_scale, with_data
from repro.errors import MissingData
from repro.papers.curves import Curves, Mark
from repro.papers.figures import Activations, Architecture, Curve, Digitised, Embeddings
from repro.papers.matrix import Artefact
from repro.papers.published import Published
from repro.papers.registry import FIGURES, AnyFigure, find_artefact
from repro.papers.request import Request
from repro.papers.tables import Table
from repro.papers.three_shared.tables import published_drops
from repro.report import protocol
from repro.report.captions import setting
from repro.report.layout import text_table
from repro.report.render import GAP, count, json_text
from repro.spec import RunSpec, run_key
from repro.spec.glue import GLUE
from repro.words import counted, run_name

Shown = dict[str, Any]


@o.grouped
def command(
    id: Annotated[str, o.ids("Table or figure, for example ResAdapters-1.")],
    scale: Annotated[str, typer.Option(help="paper, reduced or smoke.")] = "paper",
    *,
    asked: o.AskedOfRuns,
    json: o.JsonOption = False,
) -> None:
    """Prints what the paper says, what we use and where each value comes from.

    Example: python -m repro show ResAdapters-1 --as-released
    """
    artefact = find_artefact(id)
    chosen = check_scale(scale)
    if chosen is None:
        chosen = "paper"
        print("Scale: paper (what is published; auto is for what is trained).", file=sys.stderr)
    request = bare_request(artefact, chosen, asked)
    with suppress(MissingData):  # the protocol can be read without
        request = with_data(request, artefact)
    document = as_json(artefact, request)
    sys.stdout.write(json_text(document) if json else as_text(artefact, request, document))


def as_json(artefact: Artefact, request: Request) -> Shown:
    """The object of `show --json`; docs/json.md describes it."""
    if isinstance(artefact, Table):
        splits = dict.fromkeys(artefact.split(column, request.scale) for column in artefact.scores)
        scored: tuple[str, str | None] = artefact.protocol, ", ".join(splits) or None
        first = protocol.first_runs(artefact, request).values()
        runs = [(run_name(run), run) for run in {run_key(run): run for run in first}.values()]
        published, notes = _of_cells(artefact), artefact.notes
    else:
        figure = FIGURES[artefact.id]
        scored, runs = _scored(figure, request), [*_series(figure, request).items()]
        published, notes = _of_figure(figure, request), figure.notes
    return {
        "id": artefact.id,
        "title": artefact.title,
        "scale": request.scale,
        "protocol": scored[0],
        "split": scored[1],
        "seeds": request.seeds,
        "runs": [
            {
                "name": name,
                "parameters_trained": run.trained_parameters(),
                "setting": [asdict(value) for value in protocol.values(run)],
            }
            for name, run in runs
        ],
        "published": published,
        "notes": list(notes),
    }


def _series(figure: AnyFigure, request: Request) -> dict[str, RunSpec]:
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
    found = {}
    for series, points in figure.leads(request).items():
        labels = ", ".join(point.label for point in points if point.label)
        name = f"{series}: {labels}" if labels else series
        found[name] = matrix.of(points[0].name, figure.needed(request)[0])[0]
    return found


def _scored(figure: AnyFigure, request: Request) -> tuple[str, str | None]:
    """Protocol and split of the first task; none of a drawing, or of what a run has learned."""
    if isinstance(figure, (Architecture, Embeddings)):
        return "drawn", None
    if not isinstance(figure, Curves):
        return "glue", "validation"
    found = figure.scored(figure.needed(request)[0], request)
    return found.protocol, found.split


def _of_cells(table: Table) -> list[Shown]:
    return [
        _cell(cell) | {"row": row.name, "column": column.name}
        for row in table.rows
        for column in table.columns
        if (cell := table.published_cell(row, column)) is not None
    ]


def _of_figure(figure: AnyFigure, request: Request) -> list[Shown]:
    if isinstance(figure, Curves):
        return [_mark(mark) for mark in figure.marks()]
    if isinstance(figure, Activations):
        return [shown for known in figure.published().items() for shown in _points(*known)]
    if isinstance(figure, (Architecture, Embeddings)):
        return []
    return [_cell(cell) for cell in published_drops(figure.task(request)).values()]


def _cell(cell: Published) -> Shown:
    return {name: getattr(cell, name) for name in ("row", "column", "value", "text", "source")}


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


def as_text(artefact: Artefact, request: Request, document: Shown) -> str:
    """Published numbers, the setting that all runs share, what differs a run, what is swept."""
    swept: list[str] = []
    by, split = document["protocol"], document["split"]
    scored = f"scored on {split} by {by}" if split else by
    if isinstance(artefact, Table):
        scored = scored if artefact.scores else "counted"
        columns = [column.name for column in artefact.columns]
        cells = {(c["row"], c["column"]): str(c["text"]) for c in document["published"]}
        names = [row.name for row in artefact.rows]
        rows = [[row, *(cells.get((row, name), GAP) for name in columns)] for row in names]
        published = text_table(["row", *columns], rows)
        matrix = artefact.matrix(request)
        swept = [
            f"- {row.name}: {setting(matrix.of(row.name, artefact.scores[0].name), row.select)}."
            for row in matrix.artefact.trained
            if row.swept
        ]
    else:
        rows = [[c["row"], c["column"], c["text"]] for c in document["published"]]
        published = text_table(["point", "panel", "value"], rows) if rows else "(no number)"
    lines = [
        f"{artefact.id}: {artefact.title}",
        f"Scale {request.scale}, {counted(request.seeds, 'seed')}, {scored}.",
        "",
        "Published:",
        published,
        *_settings(document["runs"]),
        "",
        *swept,
        *[f"- {note}" for note in document["notes"]],
    ]
    return "\n".join(lines) + "\n"


def _settings(runs: Sequence[Shown]) -> list[str]:
    """What all runs share, then what differs each, by its name without the seed."""
    first, *others = (run["setting"] for run in runs)
    shared = [line for line in first if all(line in other for other in others)]
    lines = ["", "Setting of every run:", _setting(shared)]
    for run in runs:
        name, size = re.sub(r", seed \d+$", "", run["name"]), count(run["parameters_trained"])
        own = [line for line in run["setting"] if line not in shared]
        lines += ["", f"{name} ({size} parameters trained):"]
        lines += [_setting(own) if own else "(nothing else)"]
    return lines


def _setting(lines: Sequence[Shown]) -> str:
    rows = [
        [line["field"], str(line["value"]), line["origin"] or GAP, line["citation"] or GAP]
        for line in lines
    ]
    return text_table(["field", "value", "origin", "source"], rows)
