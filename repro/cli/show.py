"""`show ID`: the protocol of a table, value by value with its source, and its published cells."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from repro.cli import options as o
from repro.errors import MissingData
from repro.papers.registry import find_table
from repro.papers.tables import Request, Table
from repro.report.captions import setting
from repro.report.layout import text_table
from repro.report.render import GAP, count, json_text
from repro.report.words import counted, run_name
from repro.spec import RunSpec, run_key
from repro.spec.counts import trained_parameters
from repro.spec.identity import flatten, identity_fields


def command(
    id: Annotated[str, typer.Argument(help="Table, for example ResAdapters-1.")],
    scale: Annotated[str, typer.Option(help="paper, reduced or smoke.")] = "paper",
    backbone: o.BackboneOption = None,
    tasks: o.TasksOption = None,
    as_released: o.AsReleasedOption = False,
    json: o.JsonOption = False,
) -> None:
    """Prints what the paper says, what we use and where each value comes from.

    Example: python -m repro show ResAdapters-1 --as-released
    """
    table = find_table(id)
    chosen = o.check_scale(scale)
    if chosen is None:
        chosen = "paper"
        print("Scale: paper (what is published; auto is for what is trained).", file=sys.stderr)
    request = _with_data(
        Request(
            table=table.id,
            scale=chosen,
            seeds=table.default_seeds[chosen],
            backbone=o.find_backbone(backbone),
            tasks=o.split_tasks(tasks),
            as_released=as_released,
        ),
        table,
    )
    runs = first_runs(table, request)
    document = as_json(table, request, runs)
    sys.stdout.write(json_text(document) if json else as_text(table, request, document, runs))


def _with_data(request: Request, table: Table) -> Request:
    """With the data found here, or as it is: the protocol can be read without."""
    try:
        return o.with_data(request, table)
    except MissingData:
        return request


def first_runs(table: Table, request: Request) -> list[RunSpec]:
    """One run a row, each once: its first seed, on the first task that is asked for."""
    wanted = [c for c in table.scores if c.task in table.needed(request)] or table.columns
    firsts = (table.cell_runs(row, wanted[0], request)[0] for row in table.rows)
    return list({run_key(spec): spec for spec in firsts}.values())


def protocol(spec: RunSpec) -> list[dict[str, Any]]:
    """Every value of a run with its origin: paper, code, or assumed."""
    lines = []
    for path, value in flatten(identity_fields(spec)):
        part = path if path in spec.sources else path.split(".")[0]
        source = spec.sources.get(path) or spec.sources.get(part)
        lines.append(
            {
                "field": path,
                "value": value,
                "origin": source.origin if source else None,
                "citation": source.citation if source else None,
            }
        )
    return lines


def as_json(table: Table, request: Request, runs: list[RunSpec]) -> dict[str, Any]:
    """The object of `show --json`; docs/json.md describes it."""
    return {
        "id": table.id,
        "title": table.title,
        "scale": request.scale,
        "protocol": table.protocol,
        "split": table.splits.get(request.scale),
        "seeds": request.seeds,
        "runs": [
            {
                "name": run_name(run),
                "parameters_trained": trained_parameters(run),
                "setting": protocol(run),
            }
            for run in runs
        ],
        "published": [
            {
                "row": row.name,
                "column": column.name,
                "value": cell.value,
                "text": cell.text,
                "source": cell.source,
            }
            for row in table.rows
            for column in table.columns
            if (cell := table.published_cell(row, column)) is not None
        ],
        "notes": list(table.notes),
    }


def as_text(table: Table, request: Request, document: dict[str, Any], runs: list[RunSpec]) -> str:
    """Published cells, the setting that all runs share, what differs a run, what is swept."""
    columns = [column.name for column in table.columns]
    cells = {(c["row"], c["column"]): c["text"] for c in document["published"]}
    published = [
        [row.name, *(str(cells.get((row.name, name), GAP)) for name in columns)]
        for row in table.rows
    ]
    shared, own = _apart([run["setting"] for run in document["runs"]])
    scored = (
        f"scored on {document['split']} by {document['protocol']}" if table.scores else "counted"
    )
    lines = [
        f"{table.id}: {table.title}",
        f"Scale {document['scale']}, {counted(document['seeds'], 'seed')}, {scored}.",
        "",
        "Published:",
        text_table(["row", *columns], published),
        "",
        "Setting of every run:",
        _setting(shared),
    ]
    for run, spec, lines_of_run in zip(document["runs"], runs, own, strict=True):
        size = count(run["parameters_trained"])
        lines += [
            "",
            f"{run['name'].removesuffix(f', seed {spec.seed}')} ({size} parameters trained):",
        ]
        lines += [_setting(lines_of_run)] if lines_of_run else ["(nothing else)"]
    swept = [
        f"- {row.name}: {setting(table.cell_runs(row, table.scores[0], request), sweep=True)}."
        for row in table.rows
        if row.select == "best"
    ]
    return "\n".join([*lines, "", *swept, *[f"- {note}" for note in table.notes]]) + "\n"


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
