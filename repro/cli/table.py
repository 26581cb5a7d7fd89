"""`table ID`: trains what is missing, lays out the table, writes it to tables/."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Annotated

import typer

from repro.cli import options as o
from repro.cli.run import exit_code, train
from repro.cli.scales import choose_shown
from repro.engine.plan import make_plan
from repro.papers.registry import find_table
from repro.report.counted import count_missing
from repro.report.files import (
    check_writable,
    stands_fuller,
    table_name,
    write_table,
)
from repro.report.latex import latex
from repro.report.render import LAYOUTS, Layout, as_json, csv_text, json_text, markdown
from repro.report.reproduce import write_page
from repro.report.terminal import show
from repro.report.view import TableView, view_table
from repro.store.store import Store

_LAYOUTS = ", ".join(f"{name} ({said})" for name, said in LAYOUTS.items())
FORMATS: dict[str, Callable[[TableView, Layout | None], str]] = {
    "md": markdown,
    "csv": lambda view, _: csv_text(view),
    "json": lambda view, _: json_text(as_json(view)),
    "tex": lambda view, layout: latex(view, table_name(view.request), layout),
}


@o.grouped
def command(
    id: Annotated[str, o.ids("Table, for example ResAdapters-1.", "TABLES")],
    asked: o.Asked,
    how: o.How,
    made: o.Made,
    format: Annotated[
        str | None,
        o.choice(
            "format",
            FORMATS,
            "md, csv, json or tex on the screen (default: a table as wide as the terminal, md "
            "where output is piped).",
        ),
    ] = None,
    layout: Annotated[
        str | None,
        o.choice(
            "layout",
            LAYOUTS,
            f"What to show of each cell on a terminal, in md and in tex: {_LAYOUTS} (default: "
            "all that can be compared).",
        ),
    ] = None,
    notes: Annotated[
        bool, typer.Option("--notes", help="The notes on the table, too, on a terminal.")
    ] = False,
) -> None:
    """Lays published and reproduced numbers side by side; trains the runs that are missing.

    Example: python -m repro table ResAdapters-1 --scale smoke
    """
    chosen = next((one for one in LAYOUTS if one == layout), None)
    results = o.open_store(made.store)
    table = find_table(id)
    request, trained = choose_shown(table, asked, results, device=how.device)
    if not made.no_run:
        check_writable(made.out / "tables")
        if trained:
            train([request], results, how.execution(asked, request.backbone), how, retry=made.retry)
        for problem in count_missing(table, request, results):
            print(f"Not counted: {problem}", file=sys.stderr)
    view = view_table(table, request, results)
    kind = "json" if made.json else format
    if kind is None and sys.stdout.isatty():
        from rich.console import Console

        show(view, Console(file=sys.stdout), chosen, with_notes=notes)
    else:
        sys.stdout.write(FORMATS[kind or "md"](view, chosen))
    write(view, results, made)
    raise typer.Exit(0 if view.settled else exit_code(make_plan([request], results), gaps=True))


def write(view: TableView, results: Store, made: o.Made) -> None:
    """Writes the table's files and page, unless those that are there show more."""
    if made.no_run and stands_fuller(view, made.out):
        print(
            f"{made.out / 'tables'} keeps this table as it is: it shows more cells than this store "
            "and this data give. Name another folder with --out, or leave out --no-run.",
            file=sys.stderr,
        )
    else:
        write_table(view, made.out, anew=False)
        write_page(view, results, made.out)
