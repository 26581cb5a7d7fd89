"""The page of a figure: the picture that `report` has drawn, its data as a table, the runs."""

from __future__ import annotations

import csv
import io
from typing import Any

from repro.report.figures.view import FigureView
from repro.report.files import command_line, table_name
from repro.report.protocol import choices
from repro.site.links import page_of, run_page
from repro.site.machines import machines
from repro.site.runs import Runs, Use
from repro.words import run_name


def figure_page(view: FigureView, runs: Runs) -> dict[str, Any]:
    """What the page shows; the picture stands beside it, as `picture` names it."""
    shown = []
    for key in view.runs:
        run = runs.read(key)
        if run is not None:
            runs.shown_in(key, Use(page_of(view.request), "runs", view.id, "runs of the figure"))
            shown.append((run_name(run.spec), run_page(key)))
    head, *rows = list(csv.reader(io.StringIO(view.csv)))
    return {
        "title": f"{view.id}, {view.request.scale} scale",
        "view": view,
        "command_line": command_line(view.request),
        "picture": f"{table_name(view.request)}.svg",
        "head": [name.replace("_", " ") for name in head],
        "rows": rows,
        "runs": shown,
        "protocol": choices(view.request),
        "machines": machines(view.runs, runs),
    }
