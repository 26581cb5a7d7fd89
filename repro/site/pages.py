"""The files of the site: what each page shows and its template, and the two files that all share.

The first page, claims and audit say what REPRODUCE.md says; the page of a table has every cell with
its verdict, that of a figure the picture that `report` has drawn.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from statistics import fmean
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from repro.papers.claims import KINDS
from repro.papers.names import PAPERS
from repro.report.captions import caption
from repro.report.figures.view import FigureView
from repro.report.files import command_line, table_name
from repro.report.notes import notes
from repro.report.protocol import choices, machines
from repro.report.render import count, csv_text
from repro.report.summary import (
    Summary,
    View,
    answer,
    contradictions,
    decided,
    encoder,
    heading,
    missing,
    status,
    tally,
    title,
    training_rows,
)
from repro.report.view import TableView
from repro.site import words
from repro.site.cells import show
from repro.site.plots import differences
from repro.site.runs import Runs, Use, plain
from repro.store.store import Store
from repro.words import grouped, run_name

Track = Callable[[Sequence[View]], Iterable[View]]
SHARED = ("style.css", "script.js")
SEVERITIES = {
    "error": ("✗", "a number that cannot be right"),
    "doubt": ("?", "a number that needs an explanation"),
    "note": ("i", "a rule left open, or a difference that a reading of text and code shows"),
}
LOOKS = {
    "holds": ("match", "✓"),
    "does not hold": ("lower", "✗"),
    "not printed": ("gap", "—"),
    "confirmed": ("match", "✓"),
    "reversed": ("lower", "✗"),
    "direction holds": ("higher", "↗"),
    "direction reversed": ("undecided", "↘"),
    "open": ("single", "?"),
}
"""Verdict on a claim -> its name in the style sheet, its sign; "(one seed)" changes neither."""


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
        base = words.page_of(view.request).removesuffix(".html")
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
    environment.filters["label"] = words.label
    environment.globals |= {
        "table_name": table_name,
        "interval": words.interval,
        "count": count,
        "plain": plain,
        "page_of": words.page_of,
        "verdicts": words.WORDS,
        "title_of": title,
        "encoder": encoder,
        "training_rows": training_rows,
        "status": status,
        "tally": tally,
    }
    return environment


def _told(value: Any) -> Any:
    """Refuses to print an absent number: a gap has a sign and a reason of its own."""
    if value is None:
        raise ValueError("a page prints an absent value")
    return value


def table_page(view: TableView, runs: Runs) -> dict[str, Any]:
    records = view.records
    cells = [show(view, record, runs) for record in records]
    down, across = ("column", "row") if view.table.transposed else ("row", "column")
    compared = [cell for cell in cells if cell["plotted"]]
    off = [cell["record"]["difference"] for cell in compared]
    sizes = any(record["trained_parameters"] is not None for record in records)
    found = Counter(cell["word"] for cell in cells if cell["word"])
    return {
        "title": heading(view),
        "view": view,
        "paper": PAPERS.get(view.table.paper, view.table.paper),
        "caption": caption(view),
        "command_line": command_line(view.request),
        "heads": list(dict.fromkeys(record[across] for record in records)),
        "lines": grouped((cell["record"][down], cell) for cell in cells),
        "sizes": sizes and not view.table.transposed,
        "cells": cells,
        "legend": [(word, found[word]) for word in words.WORDS.values() if found[word]],
        "compared": compared,
        "x": differences([cell["record"] for cell in compared]) if compared else None,
        "mean": words.difference(fmean(off), 2) if compared else "",
        "notes": notes(view),
        "protocol": choices(view.request),
        "machines": machines(view.runs, runs.read),
    }


def figure_page(view: FigureView, runs: Runs) -> dict[str, Any]:
    """What the page shows; the picture stands beside it, as `picture` names it."""
    use = Use(words.page_of(view.request), "runs", view.id, "runs of the figure")
    shown = []
    for key in view.runs:
        if (run := runs.read(key)) is not None:
            runs.shown_in(key, use)
            shown.append((run_name(run.spec), words.run_page(key)))
    head, *rows = list(csv.reader(io.StringIO(view.csv)))
    return {
        "title": heading(view),
        "view": view,
        "command_line": command_line(view.request),
        "picture": f"{table_name(view.request)}.svg",
        "head": [name.replace("_", " ") for name in head],
        "rows": rows,
        "runs": shown,
        "protocol": choices(view.request),
        "machines": machines(view.runs, runs.read),
    }


def index_page(summary: Summary) -> dict[str, Any]:
    """What the first page shows: the answer, the index, what is missing, what is decided."""
    keys = sorted({key for view in summary.views for key in view.runs})
    places = [
        (
            words.page_of(view.request),
            words.cell_id(view.table, cell),
            view.request.id,
            f"{cell['row']}, {cell['column']}",
            words.WORDS[cell["verdict"]],
        )
        for view, cell in contradictions(summary)
    ]
    return {
        "title": "Do the published numbers reproduce?",
        "answer": answer(summary),
        "against": places,
        "read": summary.read,
        "views": summary.at("paper", "reduced"),
        "smoke": summary.at("smoke"),
        "missing": missing(summary),
        "decided": decided(summary),
        "machines": machines(keys, summary.read),
    }


def audit_page(summary: Summary) -> dict[str, Any]:
    counts = Counter(str(one.severity) for one in summary.findings)
    return {
        "title": "Audit of the printed numbers",
        "papers": summary.findings_by_paper(),
        "severities": SEVERITIES,
        "counts": [(name, counts[name]) for name in SEVERITIES],
        "total": len(summary.findings),
    }


def claims_page(summary: Summary) -> dict[str, Any]:
    judged = summary.claims
    return {
        "title": "What the papers claim",
        "papers": summary.claims_by_paper(),
        "look": look,
        "published": Counter(str(one.published) for one in judged).most_common(),
        "ours": Counter(str(one.ours) for one in judged).most_common(),
        "kinds": KINDS,
        "total": len(judged),
    }


def look(verdict: str) -> tuple[str, str]:
    """How a verdict on a claim looks: its name in the style sheet, its sign."""
    return LOOKS[verdict.partition(" (")[0]]
