"""`report`: writes REPRODUCE.md, tables/ and figures/ from what is stored. Trains nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from repro.cli import options as o
from repro.errors import ReproError
from repro.report.figures.files import FOLDER, write_figure
from repro.report.files import saved_requests, write_artefact, write_table, write_tex
from repro.report.reproduce import document, view_of
from repro.report.summary import View
from repro.report.view import TableView
from repro.site.folder import check_replaceable, write_site
from repro.store.store import Store


def command(
    out: Annotated[Path, typer.Option(help="Where REPRODUCE.md, tables/, figures/ go.")] = Path(),
    site: Annotated[
        Path | None,
        typer.Option(help="Also write a static site to this folder (docs/site.md)."),
    ] = None,
    store: o.StoreOption = None,
) -> None:
    """Writes REPRODUCE.md: each table and figure with its command, scale, status and numbers.

    Example: python -m repro report --site site
    """
    results = o.open_store(store)
    views = asked_views(results)
    if site is not None:
        check_replaceable(site)
    paths = [path for view in views for path in write(view, out)]
    paths += write_tex([view for view in views if isinstance(view, TableView)], out)
    write_artefact(out / "REPRODUCE.md", document(views, results))
    folders = dict.fromkeys(("tables", FOLDER), 0)
    for path in paths:
        folders[path.parent.name] += 1
    said = [f"{count} files in {out / name}" for name, count in folders.items() if count]
    if site is not None:
        from repro.site.pages import site_files

        pages = site_files(views, results, out / FOLDER)
        write_site(site, pages)
        said.append(f"{len(pages)} files in {site}: open {site / 'index.html'}")
    print(f"Wrote {' and '.join([str(out / 'REPRODUCE.md'), *said])}.")


def write(view: View, folder: Path) -> list[Path]:
    """Writes the files of a table or a figure; returns their paths."""
    if isinstance(view, TableView):
        return write_table(view, folder)
    return write_figure(view, folder)


def asked_views(results: Store) -> list[View]:
    """Everything that was asked for. Raises ReproError where that is nothing."""
    views = [view_of(request, results) for request in saved_requests(results)]
    if not views:
        raise ReproError(
            f"No table or figure was asked for in the store {results.root} yet: there is nothing "
            "to write, and the files there stay as they are. Name the store with --store, or begin "
            "with: python -m repro table ResAdapters-1"
        )
    return views
