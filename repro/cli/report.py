"""`report`: writes REPRODUCE.md, tables/ and figures/ from what is stored. Trains nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, TypeVar

import typer
from rich.console import Console
from rich.progress import track

from repro.cli import options as o
from repro.errors import ReproError
from repro.report.figures.view import write_figure
from repro.report.files import (
    FIGURES_FOLDER,
    saved_requests,
    saved_sweeps,
    write_table,
    write_tex,
)
from repro.report.reproduce import view_of, write_pages
from repro.report.summary import View, summarise
from repro.report.sweep import view_sweep, write_sweep
from repro.report.view import TableView
from repro.site.folder import check_replaceable, write_site
from repro.store.store import Store

T = TypeVar("T")


def command(
    out: Annotated[Path, typer.Option(help="Where REPRODUCE.md, tables/, figures/ go.")] = Path(),
    site: Annotated[
        Path | None,
        typer.Option(help="Also write a static site to this folder (docs/site.md)."),
    ] = None,
    store: o.StoreOption = None,
) -> None:
    """Writes REPRODUCE.md: each table and figure with its command, scale, status and numbers; and
    the files of sweeps.

    Example: python -m repro report --site site
    """
    results = o.open_store(store)
    views = asked_views(results)
    if site is not None:
        check_replaceable(site)
    drawn = tracked(views, "Writing tables and figures")
    paths = [path for view in drawn for path in write(view, out)]
    for sweep in saved_sweeps(results):
        paths += write_sweep(view_sweep(sweep, results), out)
    paths += write_tex([view for view in views if isinstance(view, TableView)], out)
    summary = summarise(views, results)
    paths += write_pages(summary, results, out)
    folders = dict.fromkeys(("tables", FIGURES_FOLDER), 0)
    for path in paths:
        folders[path.parent.name] += 1
    said = [f"{count} files in {out / name}" for name, count in folders.items() if count]
    if site is not None:
        from repro.site.pages import site_files

        making = partial(tracked, title="Making the site")
        pages = site_files(summary, results, out / FIGURES_FOLDER, making)
        write_site(site, pages)
        said.append(f"{len(pages)} files in {site}: open {site / 'index.html'}")
    print(f"Wrote {' and '.join([str(out / 'REPRODUCE.md'), *said])}.")


def tracked(what: Sequence[T], title: str) -> Iterable[T]:
    """Passes these on one by one, with a line of progress on a terminal's stderr."""
    console = Console(stderr=True)
    return track(what, title, console=console, transient=True, disable=not console.is_terminal)


def write(view: View, folder: Path) -> list[Path]:
    """Writes the files of a table or a figure; returns their paths."""
    if isinstance(view, TableView):
        return write_table(view, folder)
    return write_figure(view, folder)


def asked_views(results: Store) -> list[View]:
    """Everything that was asked for. Raises ReproError where that is nothing."""
    asked = tracked(saved_requests(results), "Reading results")
    views = [view_of(request, results) for request in asked]
    if not views:
        raise ReproError(
            f"No table or figure was asked for in the store {results.called} yet: there is nothing "
            "to write, and the files there stay as they are. Name the store with --store, or begin "
            "with: python -m repro table ResAdapters-1"
        )
    return views
