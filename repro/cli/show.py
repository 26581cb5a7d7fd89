"""`show ID`: how a table or figure is trained, each value with its source, and what is printed."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import Annotated, Any

import typer

from repro.cli import options as o
from repro.cli import show_figure
from repro.cli.requests import bare_request, check_scale, with_data
from repro.errors import MissingData
from repro.papers.matrix import Artefact
from repro.papers.registry import FIGURES, AnyFigure, find_artefact
from repro.papers.request import Request
from repro.papers.tables import Table
from repro.report import protocol
from repro.report.captions import setting
from repro.report.layout import text_table
from repro.report.render import GAP, count, json_text
from repro.spec import RunSpec, run_key
from repro.words import counted, run_name


@o.grouped
def command(
    id: Annotated[
        str,
        o.ids("Table or figure, for example ResAdapters-1."),
    ],
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
    request = _with_data(bare_request(artefact, chosen, asked), artefact)
    if isinstance(artefact, Table):
        runs = first_runs(artefact, request)
        document = as_json(artefact, request, runs)
        text = as_text(artefact, request, document, runs)
    else:
        document = figure_json(FIGURES[artefact.id], request)
        text = figure_text(document)
    sys.stdout.write(json_text(document) if json else text)


def _with_data(request: Request, artefact: Artefact) -> Request:
    """With the data found here, or as it is: the protocol can be read without."""
    try:
        return with_data(request, artefact)
    except MissingData:
        return request


def first_runs(table: Table, request: Request) -> list[RunSpec]:
    """One run a row, each once."""
    runs = protocol.first_runs(table, request).values()
    return list({run_key(spec): spec for spec in runs}.values())


def as_json(table: Table, request: Request, runs: list[RunSpec]) -> dict[str, Any]:
    """The object of `show --json`; docs/json.md describes it."""
    splits = dict.fromkeys(table.split(column, request.scale) for column in table.scores)
    return {
        "id": table.id,
        "title": table.title,
        "scale": request.scale,
        "protocol": table.protocol,
        "split": ", ".join(splits) or None,
        "seeds": request.seeds,
        "runs": [run_json(run_name(run), run) for run in runs],
        "published": [
            show_figure.cell_json(cell) | {"row": row.name, "column": column.name}
            for row in table.rows
            for column in table.columns
            if (cell := table.published_cell(row, column)) is not None
        ],
        "notes": list(table.notes),
    }


def run_json(name: str, run: RunSpec) -> dict[str, Any]:
    """A run, and every value of it with its origin: paper, code, or assumed."""
    setting = [asdict(value) for value in protocol.values(run)]
    return {"name": name, "parameters_trained": run.trained_parameters(), "setting": setting}


def as_text(table: Table, request: Request, document: dict[str, Any], runs: list[RunSpec]) -> str:
    """Published cells, the setting that all runs share, what differs a run, what is swept."""
    columns = [column.name for column in table.columns]
    cells = {(c["row"], c["column"]): c["text"] for c in document["published"]}
    published = [
        [row.name, *(str(cells.get((row.name, name), GAP)) for name in columns)]
        for row in table.rows
    ]
    scored = (
        f"scored on {document['split']} by {document['protocol']}" if table.scores else "counted"
    )
    lines = [
        f"{table.id}: {table.title}",
        f"Scale {document['scale']}, {counted(document['seeds'], 'seed')}, {scored}.",
        "",
        "Published:",
        text_table(["row", *columns], published),
        *_settings(document, [f", seed {spec.seed}" for spec in runs]),
    ]
    matrix = table.matrix(request)
    swept = [
        f"- {row.name}: {setting(matrix.of(row.name, table.scores[0].name), row.select)}."
        for row in matrix.artefact.trained
        if row.swept
    ]
    return "\n".join([*lines, "", *swept, *[f"- {note}" for note in table.notes]]) + "\n"


def figure_json(figure: AnyFigure, request: Request) -> dict[str, Any]:
    """The same object of a figure; a run is called by its series and the points of it."""
    protocol_name, split = show_figure.scored(figure, request)
    return {
        "id": figure.id,
        "title": figure.title,
        "scale": request.scale,
        "protocol": protocol_name,
        "split": split,
        "seeds": request.seeds,
        "runs": [
            run_json(name, run) for name, run in show_figure.first_runs(figure, request).items()
        ],
        "published": show_figure.published(figure, request),
        "notes": list(figure.notes),
    }


def figure_text(document: dict[str, Any]) -> str:
    """What `figure_json` holds, for a person."""
    published = [[c["row"], c["column"], c["text"]] for c in document["published"]]
    by = document["protocol"]
    scored = f"scored on {document['split']} by {by}" if document["split"] else by
    lines = [
        f"{document['id']}: {document['title']}",
        f"Scale {document['scale']}, {counted(document['seeds'], 'seed')}, {scored}.",
        "",
        "Published:",
        text_table(["point", "panel", "value"], published) if published else "(no number)",
        *_settings(document, [""] * len(document["runs"])),
        "",
        *[f"- {note}" for note in document["notes"]],
    ]
    return "\n".join(lines) + "\n"


def _settings(document: dict[str, Any], endings: list[str]) -> list[str]:
    """What all runs share, then each run, whose name loses its ending."""
    shared, own = _apart([run["setting"] for run in document["runs"]])
    lines = ["", "Setting of every run:", _setting(shared)]
    for run, ending, lines_of_run in zip(document["runs"], endings, own, strict=True):
        size = count(run["parameters_trained"])
        lines += ["", f"{run['name'].removesuffix(ending)} ({size} parameters trained):"]
        lines += [_setting(lines_of_run)] if lines_of_run else ["(nothing else)"]
    return lines


def _apart(
    settings: list[list[dict[str, Any]]],
) -> tuple[list[dict[str, Any]], list[list[dict[str, Any]]]]:
    """The lines that all settings have, and those of each that not all have."""
    shared = [line for line in settings[0] if all(line in other for other in settings[1:])]
    return shared, [[line for line in setting if line not in shared] for setting in settings]


def _setting(lines: list[dict[str, Any]]) -> str:
    rows = [
        [line["field"], str(line["value"]), line["origin"] or GAP, line["citation"] or GAP]
        for line in lines
    ]
    return text_table(["field", "value", "origin", "source"], rows)
