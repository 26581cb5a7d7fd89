"""`report`: writes REPRODUCE.md and tables/ from what is stored. Trains nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from repro.cli import options as o
from repro.papers.registry import TABLES
from repro.report.files import saved_requests, write_artefact, write_table
from repro.report.reproduce import document
from repro.report.view import view_table


def command(
    out: Annotated[Path, typer.Option(help="Where REPRODUCE.md and tables/ are written.")] = Path(),
    store: o.StoreOption = None,
) -> None:
    """Writes REPRODUCE.md: each table with its command, scale, status and numbers.

    Example: python -m repro report
    """
    results = o.open_store(store)
    views = [view_table(TABLES[r.table], r, results) for r in saved_requests(results)]
    for view in views:
        write_table(view, out)
    write_artefact(out / "REPRODUCE.md", document(views, results))
    print(f"Wrote {out / 'REPRODUCE.md'} and {3 * len(views)} files in {out / 'tables'}.")
