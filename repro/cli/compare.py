"""`compare A B --table ID`: two rows of a table, column by column and over tasks."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import typer

from repro.cli import completion, requests
from repro.cli import options as o
from repro.cli.scales import requests_at, stored_variants
from repro.comparison.pairs import Pair, compare_rows, sides
from repro.errors import MissingData, ReproError
from repro.papers.registry import find_table
from repro.papers.request import Request
from repro.papers.tables import Table
from repro.report.files import saved_requests
from repro.report.pairs import as_json, csv_text, latex, markdown, write_plot
from repro.report.render import json_text
from repro.report.view import TableView, view_table
from repro.store.store import Store

FORMATS: dict[str, Callable[[Sequence[Pair]], str]] = {
    "md": markdown, "csv": csv_text, "tex": latex,
}  # fmt: skip


@o.grouped
def command(
    first: Annotated[
        str,
        typer.Argument(
            help='A row, for example "Ours (3-shared)"; "published: NAME" or "reproduced: NAME" '
            "says which of its numbers (default: reproduced where there are any).",
            autocompletion=completion.parts_of("rows"),
        ),
    ],
    table: Annotated[
        str,
        typer.Option(
            help="The table that both are rows of.", autocompletion=completion.ids_of("TABLES")
        ),
    ],
    asked: o.AskedOfWhole,
    second: Annotated[
        str | None,
        typer.Argument(
            help="Another row, or the same in the other form (default: all, a line each).",
            autocompletion=completion.parts_of("rows"),
        ),
    ] = None,
    format: Annotated[str, o.choice("format", FORMATS, "md, csv or tex.")] = "md",
    json: o.JsonOption = False,
    out: Annotated[Path, typer.Option(help="Folder in which figures/ is written.")] = Path(),
    store: o.StoreOption = None,
) -> None:
    """Compares two rows of a table: published, reproduced, external or yours. Gives the difference
    on each column with its interval, and over tasks, and draws them. Trains nothing.

    Example: python -m repro compare "Mine" "Ours (3-shared)" --table 3-shared-2
    """
    views = find_views(find_table(table), asked, o.open_store(store))
    pairs = find_pairs(views, first) if second is None else [find_pair(views, first, second)]
    files = write_plot(pairs[0], out) if second is not None else []
    sys.stdout.write(json_text(as_json(pairs, files)) if json else FORMATS[format](pairs))
    if files:
        print(f"Wrote {out / files[0]}, also as SVG and PDF.", file=sys.stderr)


def find_views(table: Table, asked: requests.Asked, store: Store) -> list[TableView]:
    """What can be shown of the table: the stored variants, the best one first, then what the scales
    ask for, whether their data are here or not.
    """
    found: list[Request] = []
    scale = asked.get("scale")
    if asked.keys() <= {"budget", "scale"}:
        stored = [one.request for one in stored_variants(table, store)]
        found += [one for one in stored if scale in (None, one.scale)]
    saved = saved_requests(store)
    for one in requests.SCALES if scale is None else (scale,):
        try:
            found += requests_at(one, [(table, asked)], store, saved)
        except MissingData:
            found.append(requests.bare_request(table, one, asked, saved))
    return [view_table(table, request, store) for request in dict.fromkeys(found)]


def find_pair(views: Sequence[TableView], first: str, second: str) -> Pair:
    """The two rows in the variant of the table that says most of them: one that has columns to
    compare, then reproduced numbers, then the largest scale, then the most columns.

    Raises ReproError where no variant has both rows.
    """
    problems: list[ReproError] = []
    pairs: list[Pair] = []
    for view in views:
        try:
            pairs.append(compare_rows(view, first, second))
        except ReproError as problem:
            problems.append(problem)
    if not pairs:
        raise problems[0]

    def says(pair: Pair) -> tuple[bool, int, int, int]:
        reproduced = [pair.first.kind, pair.second.kind].count("reproduced")
        place = requests.SCALES.index(pair.view.request.scale)
        return pair.comparable > 0, reproduced, -place, pair.comparable

    return max(pairs, key=says)


def find_pairs(views: Sequence[TableView], first: str) -> list[Pair]:
    """The row against every other one that holds the same and has numbers, each pair once.

    Raises ReproError where there is none.
    """
    found: dict[str, Pair] = {}
    problems: list[ReproError] = []
    for second in dict.fromkeys(name for view in views for name in sides(view)):
        try:
            pair = find_pair(views, first, second)
        except ReproError as problem:  # the same row, or one without a number or of another kind
            problems.append(problem)
        else:
            found[pair.second.label] = pair
    if not found:
        raise problems[0]
    return [*found.values()]
