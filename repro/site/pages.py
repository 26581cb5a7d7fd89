"""The files of the site: what each page shows and its template, and the two files that all share.

The first page, claims and audit say what REPRODUCE.md says; the page of a table has every cell with
its verdict, that of a figure the picture that `report` has drawn.
"""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from statistics import fmean
from typing import Any

from jinja2 import Environment

from repro.papers.claims import KINDS
from repro.papers.names import PAPERS
from repro.report import summary as report
from repro.report.captions import caption
from repro.report.figures.view import FigureView
from repro.report.files import command_line, table_name
from repro.report.layout import templates
from repro.report.notes import notes
from repro.report.protocol import choices, machines
from repro.report.render import count, csv_text
from repro.report.summary import Summary, View
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
            template, own, text = "table.html", table_page(view, runs), csv_text(view)
        else:
            template, own, text = "figure.html", figure_page(view, runs), view.csv
            found[f"{base}.svg"] = (pictures / f"{table_name(view.request)}.svg").read_bytes()
        shown = {"view": view, "machines": machines(view.runs, summary.read)} | own
        found[f"{base}.html"] = fill(template, f"{base}.html", shown)
        found[f"{base}.csv"] = text.encode()
    for path, (template, of_run) in runs.pages().items():
        found[path] = fill(template, path, of_run)
    keys = sorted({key for view in summary.views for key in view.runs})
    whole = {"summary": summary, "machines": machines(keys, summary.read)}
    for page in ("index.html", "claims.html", "audit.html"):
        found[page] = fill(page, page, whole)
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
    environment = templates("repro.site", autoescape=True, finalize=_told)
    environment.filters |= {"label": words.label, "most_common": most_common, "pretty": pretty}
    environment.globals |= {
        "report": report,
        "table_name": table_name,
        "command_line": command_line,
        "choices": choices,
        "run_name": run_name,
        "interval": words.interval,
        "count": count,
        "plain": plain,
        "page_of": words.page_of,
        "cell_id": words.cell_id,
        "verdicts": words.WORDS,
        "kinds": KINDS,
        "severities": SEVERITIES,
        "look": look,
    }
    return environment


def pretty(document: Any) -> str:
    return json.dumps(document, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False)


def most_common(values: Iterable[object]) -> list[tuple[str, int]]:
    """Each value and how often it is there, the commonest first."""
    return Counter(map(str, values)).most_common()


def _told(value: Any) -> Any:
    """Refuses to print an absent number: a gap has a sign and a reason of its own."""
    if value is None:
        raise ValueError("a page prints an absent value")
    return value


def table_page(view: TableView, runs: Runs) -> dict[str, Any]:
    """What the page of a table shows, in which every cell opens the runs behind it."""
    records = view.records
    cells = [show(view, record, runs) for record in records]
    down, across = ("column", "row") if view.table.transposed else ("row", "column")
    compared = [cell for cell in cells if cell["plotted"]]
    off = [cell["record"]["difference"] for cell in compared]
    sizes = any(record["trained_parameters"] is not None for record in records)
    found = Counter(cell["word"] for cell in cells if cell["word"])
    return {
        "paper": PAPERS.get(view.table.paper, view.table.paper),
        "caption": caption(view),
        "heads": list(dict.fromkeys(record[across] for record in records)),
        "lines": grouped((cell["record"][down], cell) for cell in cells),
        "sizes": sizes and not view.table.transposed,
        "cells": cells,
        "legend": [(word, found[word]) for word in words.WORDS.values() if found[word]],
        "compared": compared,
        "x": differences([cell["record"] for cell in compared]) if compared else None,
        "mean": words.difference(fmean(off), 2) if compared else "",
        "notes": notes(view),
    }


def figure_page(view: FigureView, runs: Runs) -> dict[str, Any]:
    """What the page of a figure shows. The picture is a file of its own, in the same folder."""
    use = Use(words.page_of(view.request), "runs", view.id, "runs of the figure")
    shown = []
    for key in view.runs:
        if (run := runs.read(key)) is not None:
            runs.shown_in(key, use)
            shown.append((run_name(run.spec), words.run_page(key)))
    head, *rows = list(csv.reader(io.StringIO(view.csv)))
    return {
        "head": [name.replace("_", " ") for name in head],
        "rows": rows,
        "runs": shown,
    }


def look(verdict: str) -> tuple[str, str]:
    """How a verdict on a claim looks: its name in the style sheet, its sign."""
    return LOOKS[verdict.partition(" (")[0]]
