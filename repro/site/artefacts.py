"""The page of a table, with every cell and its verdict, and the page of a figure, with the picture
that `report` has drawn; below them notes, protocol, environment.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from statistics import fmean
from typing import Any

from repro.papers.names import PAPERS
from repro.report.captions import caption
from repro.report.figures.view import FigureView
from repro.report.files import command_line, table_name
from repro.report.notes import notes
from repro.report.protocol import choices, machines
from repro.report.summary import heading
from repro.report.view import TableView
from repro.site import plots, words
from repro.site.cells import show
from repro.site.runs import Runs, Use
from repro.words import grouped, run_name


def table_page(view: TableView, runs: Runs) -> dict[str, Any]:
    cells = [show(view, cell, runs) for cell in view.records]
    down, across = ("column", "row") if view.table.transposed else ("row", "column")
    compared = [cell.compared for cell in cells if cell.compared]
    sizes = any(cell.record["trained_parameters"] is not None for cell in cells)
    found = Counter(cell.word for cell in cells if cell.word)
    return {
        "title": heading(view),
        "view": view,
        "paper": PAPERS.get(view.table.paper, view.table.paper),
        "caption": caption(view),
        "command_line": command_line(view.request),
        "heads": list(dict.fromkeys(cell.record[across] for cell in cells)),
        "lines": grouped((cell.record[down], cell) for cell in cells),
        "sizes": sizes and not view.table.transposed,
        "cells": cells,
        "legend": [(word, found[word]) for word in words.WORDS.values() if found[word]],
        "compared": [cell for cell in cells if cell.compared],
        "forest": plots.forest(compared),
        "mean": words.difference(fmean(one.difference for one in compared), 2) if compared else "",
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
