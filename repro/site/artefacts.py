"""The page of a table, with every cell and its verdict, and the page of a figure, with the picture
that `report` has drawn; below them notes, protocol, environment.
"""

from __future__ import annotations

import csv
import io
import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the table as the paper lays it out: its name, cells, trained parameters."""

    name: str
    section: str
    cells: tuple[Shown, ...]
    size: int | None


def table_page(view: TableView, runs: Runs) -> dict[str, Any]:
    """What the page shows."""
    lines_of = {(line["row"], line["column"]): line for line in view.records}
    cells = [
        [
            show(view, row, column, runs, lines_of.get((of.row.name, cell.column.name), {}))
            for column, cell in enumerate(of.cells)
        ]
        for row, of in enumerate(view.rows)
    ]
    flat = [cell for row in cells for cell in row]
    compared = [cell.compared for cell in flat if cell.compared]
    heads, lines = _transposed(view, cells) if view.table.transposed else _upright(view, cells)
    return {
        "title": heading(view),
        "view": view,
        "paper": PAPERS.get(view.table.paper, view.table.paper),
        "caption": caption(view),
        "command_line": command_line(view.request),
        "heads": heads,
        "lines": lines,
        "sizes": any(line.size is not None for line in lines),
        "cells": flat,
        "legend": legend(flat),
        "compared": [cell for cell in flat if cell.compared],
        "forest": plots.forest(compared),
        "delta": plots.delta(compared),
        "mean": mean_difference(compared),
        "notes": notes(view),
        "protocol": choices(view.request),
        "machines": machines(view.runs, runs.read),
    }


def _upright(view: TableView, cells: Sequence[Sequence[Shown]]) -> tuple[list[str], list[Line]]:
    lines = [
        Line(of.row.name, of.row.section, tuple(row), of.parameters[0] if of.parameters else None)
        for of, row in zip(view.rows, cells, strict=True)
    ]
    return [column.name for column in view.table.columns], lines


def _transposed(view: TableView, cells: Sequence[Sequence[Shown]]) -> tuple[list[str], list[Line]]:
    lines = [
        Line(column.name, "", tuple(row[place] for row in cells), None)
        for place, column in enumerate(view.table.columns)
    ]
    return [of.row.name for of in view.rows], lines


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
