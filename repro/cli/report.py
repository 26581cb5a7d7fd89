"""`report`: writes REPRODUCE.md and tables/ from what is stored. Trains nothing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from repro.cli import options as o
from repro.errors import ReproError
from repro.papers.registry import TABLES
from repro.report.counted import copy_counts
from repro.report.files import save_request, saved_requests, write_artefact, write_table
from repro.report.reproduce import document
from repro.report.view import TableView, view_table
from repro.store.store import Store


def command(
    out: Annotated[Path, typer.Option(help="Where REPRODUCE.md and tables/ are written.")] = Path(),
    reference: Annotated[
        Path | None,
        typer.Option(help="Also copy spec, result and environment of the runs to this folder."),
    ] = None,
    store: o.StoreOption = None,
) -> None:
    """Writes REPRODUCE.md: each table with its command, scale, status and numbers.

    Example: python -m repro report --reference runs/reference
    """
    results = o.open_store(store)
    tables = [r for r in saved_requests(results) if r.table in TABLES]
    views = [view_table(TABLES[r.table], r, results) for r in tables]
    if not views:
        raise ReproError(
            f"No table was asked for in the store {results.root} yet: there is nothing to report, "
            "and REPRODUCE.md stays as it is. Name the store with --store, or begin with: "
            "python -m repro table ResAdapters-1"
        )
    for view in views:
        write_table(view, out)
    write_artefact(out / "REPRODUCE.md", document(views, results))
    if reference is not None:
        save_reference(views, results, reference)
    print(f"Wrote {out / 'REPRODUCE.md'} and {3 * len(views)} files in {out / 'tables'}.")


def save_reference(views: Sequence[TableView], store: Store, folder: Path) -> None:
    """Copies what the tables' cells need, and the requests, to a small store to commit."""
    store.export({key for view in views for key in view.runs}, folder)
    for view in views:
        copy_counts(view.table, view.request, store, folder)
        save_request(Store(folder), view.request)
