"""The files of the site: every page from its template, and the two files that all pages share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from repro.report.files import table_name
from repro.report.render import count, csv_text
from repro.report.summary import Summary, View
from repro.report.view import TableView
from repro.site.artefacts import figure_page, table_page
from repro.site.overview import audit_page, claims_page, index_page
from repro.site.runs import Runs, plain
from repro.site.words import WORDS, interval, label, page_of
from repro.store.store import Store

Track = Callable[[Sequence[View]], Iterable[View]]
SHARED = ("style.css", "script.js")


def site_files(
    summary: Summary, store: Store, pictures: Path, track: Track = iter
) -> dict[str, bytes]:
    """Relative path -> content of everything in the site; the same store gives the same bytes.

    `pictures` is the folder in which `report` has just drawn the figures. `track` passes on the
    tables and figures one by one, and may show how far it is.
    """
    runs = Runs(store)
    found: dict[str, bytes] = {
        name: (files("repro.site") / "templates" / name).read_bytes() for name in SHARED
    }
    for view in track(summary.views):
        base = page_of(view.request).removesuffix(".html")
        if isinstance(view, TableView):
            found[f"{base}.html"] = fill("table.html", f"{base}.html", table_page(view, runs))
            found[f"{base}.csv"] = csv_text(view).encode()
        else:
            found[f"{base}.html"] = fill("figure.html", f"{base}.html", figure_page(view, runs))
            found[f"{base}.csv"] = view.csv.encode()
            found[f"{base}.svg"] = (pictures / f"{table_name(view.request)}.svg").read_bytes()
    for path, (template, of_run) in runs.pages().items():
        found[path] = fill(template, path, of_run)
    for name, page in (("index", index_page), ("claims", claims_page), ("audit", audit_page)):
        found[f"{name}.html"] = fill(f"{name}.html", f"{name}.html", page(summary))
    return found


def fill(template: str, path: str, page: Mapping[str, Any]) -> bytes:
    """The page that stands at `path`; what it names and is not given is an error, and so is None.

    Text is escaped wherever it comes from.
    """
    root = "../" * path.count("/")
    text = _templates().get_template(template).render({**page, "root": root, "path": path})
    return text.encode()


@cache
def _templates() -> Environment:
    environment = Environment(
        loader=PackageLoader("repro.site"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_told,
    )
    environment.filters["label"] = label
    environment.globals |= {
        "table_name": table_name,
        "interval": interval,
        "count": count,
        "plain": plain,
        "page_of": page_of,
        "verdicts": WORDS,
    }
    return environment


def _told(value: Any) -> Any:
    """Refuses to print an absent number: a gap has a sign and a reason of its own."""
    if value is None:
        raise ValueError("a page prints an absent value")
    return value
