"""`compare A B --table ID`: two rows of a table, column by column and over tasks."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated

import typer

from repro.cli import options as o
from repro.cli import requests
from repro.cli.scales import requests_at, stored_variants
from repro.comparison.pairs import Pair, compare_rows
from repro.errors import MissingData, ReproError, UnknownName
from repro.papers.registry import find_table
from repro.papers.request import Request
from repro.papers.tables import Table
from repro.report.files import saved_requests
from repro.report.pairs import as_json, csv_text, latex, markdown, write_plot
from repro.report.render import json_text
from repro.report.view import view_table
from repro.store.store import Store

FORMATS: dict[str, Callable[[Pair], str]] = {"md": markdown, "csv": csv_text, "tex": latex}


@o.grouped
def command(
    first: Annotated[
        str,
        typer.Argument(
            help='A row, for example "Ours (3-shared)"; "published: NAME" or "reproduced: NAME" '
            "says which of its numbers (default: reproduced where there are any)."
        ),
    ],
    second: Annotated[str, typer.Argument(help="Another row, or the same in the other form.")],
    table: Annotated[str, typer.Option(help="The table that both are rows of.")],
    asked: o.AskedOfWhole,
    format: Annotated[str, typer.Option(help="md, csv or tex.")] = "md",
    json: o.JsonOption = False,
    out: Annotated[Path, typer.Option(help="Folder in which figures/ is written.")] = Path(),
    store: o.StoreOption = None,
) -> None:
    """Compares two rows of a table: published, reproduced, external or yours. Gives the difference
    on each column with its interval, and over tasks, and draws them. Trains nothing.

    Example: python -m repro compare "Mine" "Ours (3-shared)" --table 3-shared-2
    """
    if format not in FORMATS:
        raise UnknownName("format", format, FORMATS)
    results = o.open_store(store)
    pair = find_pair(find_table(table), asked, results, first, second)
    files = write_plot(pair, out)
    sys.stdout.write(json_text(as_json(pair, files)) if json else FORMATS[format](pair))
    if files:
        print(f"Wrote {out / files[0]}, also as SVG and PDF.", file=sys.stderr)


def find_pair(table: Table, asked: requests.Asked, store: Store, first: str, second: str) -> Pair:
    """The two rows in the variant of the table that says most of them: one that has columns to
    compare, then reproduced numbers, then the largest scale, then the most columns.

    Raises ReproError where no variant has both rows.
    """
    problems: list[ReproError] = []
    pairs: list[Pair] = []
    for request in _candidates(table, asked, store):
        try:
            pairs.append(compare_rows(view_table(table, request, store), first, second))
        except ReproError as problem:
            problems.append(problem)
    if not pairs:
        raise problems[0]

    def says(pair: Pair) -> tuple[bool, int, int, int]:
        reproduced = [pair.first.kind, pair.second.kind].count("reproduced")
        place = requests.SCALES.index(pair.view.request.scale)
        return pair.comparable > 0, reproduced, -place, pair.comparable

    return max(pairs, key=says)


def _candidates(table: Table, asked: requests.Asked, store: Store) -> Iterator[Request]:
    """What can be shown of the table: the stored variants, the best one first, then what the scales
    ask for, whether their data are here or not.
    """
    scale = asked.get("scale")
    if asked.keys() <= {"budget", "scale"}:
        stored = [one.request for one in stored_variants(table, store)]
        yield from (one for one in stored if scale in (None, one.scale))
    saved = saved_requests(store)
    for one in requests.SCALES if scale is None else (scale,):
        try:
            yield from requests_at(one, [(table, asked)], store, saved)
        except MissingData:
            yield requests.bare_request(table, one, asked, saved)
