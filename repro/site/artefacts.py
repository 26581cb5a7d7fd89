"""The page of a table, with every cell and its verdict, and the page of a figure, with the picture
that `report` has drawn; below them notes, protocol, environment.
"""

from __future__ import annotations

import csv
import io
import statistics
from collections import Counter
from collections.abc import Sequence
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
from repro.site.cells import Shown, show
from repro.site.runs import Runs, Use
from repro.words import run_name


def table_page(view: TableView, runs: Runs) -> dict[str, Any]:
    """What the page shows."""
    cells = [show(view, cell, runs) for cell in view.records]
    down, across = ("column", "row") if view.table.transposed else ("row", "column")
    lines: dict[str, list[Shown]] = {}
    for cell in cells:
        lines.setdefault(cell.record[down], []).append(cell)
    compared = [cell.compared for cell in cells if cell.compared]
    sizes = any(cell.record["trained_parameters"] is not None for cell in cells)
    return {
        "title": heading(view),
        "view": view,
        "paper": PAPERS.get(view.table.paper, view.table.paper),
        "caption": caption(view),
        "command_line": command_line(view.request),
        "heads": list(dict.fromkeys(cell.record[across] for cell in cells)),
        "lines": lines,
        "sizes": sizes and not view.table.transposed,
        "cells": cells,
        "legend": legend(cells),
        "compared": [cell for cell in cells if cell.compared],
        "forest": plots.forest(compared),
        "delta": plots.delta(compared),
        "mean": mean_difference(compared),
        "notes": notes(view),
        "protocol": choices(view.request),
        "machines": machines(view.runs, runs.read),
    }


def mean_difference(compared: Sequence[plots.Compared]) -> str:
    """In points: a common offset hints at another evaluation or other data."""
    found = [one.difference for one in compared]
    return words.difference(statistics.fmean(found), 2) if found else ""


def legend(cells: Sequence[Shown]) -> list[tuple[words.Word, int]]:
    """The verdicts that stand on the page, each with how often."""
    found = Counter(cell.word for cell in cells if cell.word)
    return [(word, found[word]) for word in words.WORDS.values() if found[word]]


def figure_page(view: FigureView, runs: Runs) -> dict[str, Any]:
    """What the page shows; the picture stands beside it, as `picture` names it."""
    shown = []
    for key in view.runs:
        run = runs.read(key)
        if run is not None:
            runs.shown_in(
                key, Use(words.page_of(view.request), "runs", view.id, "runs of the figure")
            )
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
