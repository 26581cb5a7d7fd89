"""The files of the site: every page from its template, and the two files that all pages share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from repro.report.figures.view import FigureView
from repro.report.files import table_name
from repro.report.render import count, csv_text
from repro.report.view import TableView
from repro.site.documents import audit_page, claims_page
from repro.site.figures import figure_page
from repro.site.links import page_of
from repro.site.runs import Runs, plain
from repro.site.summary import entry, index_page
from repro.site.tables import table_page
from repro.site.words import interval
from repro.store.store import Store

SHARED = ("style.css", "script.js")


def site_files(
    views: Sequence[TableView | FigureView], store: Store, pictures: Path
) -> dict[str, bytes]:
    """Relative path -> content of everything in the site; the same store gives the same bytes.

    `pictures` is the folder in which `report` has just drawn the figures of `views`.
    """
    runs = Runs(store)
    found: dict[str, bytes] = {
        name: (files("repro.site") / "templates" / name).read_bytes() for name in SHARED
    }
    entries = []
    for view in views:
        base = page_of(view.request).removesuffix(".html")
        if isinstance(view, TableView):
            page = table_page(view, runs)
            found[f"{base}.html"] = fill("table.html", f"{base}.html", page)
            found[f"{base}.csv"] = csv_text(view).encode()
            entries.append(entry(view, page["cells"]))
        else:
            found[f"{base}.html"] = fill("figure.html", f"{base}.html", figure_page(view, runs))
            found[f"{base}.csv"] = view.csv.encode()
            found[f"{base}.svg"] = (pictures / f"{table_name(view.request)}.svg").read_bytes()
            entries.append(entry(view, ()))
    for path, (template, of_run) in runs.pages().items():
        found[path] = fill(template, path, of_run)
    pages = {table_name(view.request): page_of(view.request) for view in views}
    audit, claims = audit_page(), claims_page(store, pages)
    found["audit.html"] = fill("audit.html", "audit.html", audit)
    found["claims.html"] = fill("claims.html", "claims.html", claims)
    index = index_page(entries, views, runs) | {"audit": audit, "claims": claims}
    found["index.html"] = fill("index.html", "index.html", index)
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
    environment.globals |= {
        "table_name": table_name,
        "interval": interval,
        "count": count,
        "plain": plain,
    }
    return environment


def _told(value: Any) -> Any:
    """Refuses to print an absent number: a gap has a sign and a reason of its own."""
    if value is None:
        raise ValueError("a page prints an absent value")
    return value
