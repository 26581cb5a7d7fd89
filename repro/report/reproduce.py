"""REPRODUCE.md: the summary, then every table and figure with its command.

The same store, the same bytes.
"""

from __future__ import annotations

from collections.abc import Sequence

from repro.backbones.describe import LOCAL
from repro.papers.registry import ARTEFACTS, FIGURES, TABLES
from repro.papers.tables import Request
from repro.report.figures.files import FOLDER
from repro.report.figures.files import markdown as figure_markdown
from repro.report.figures.kinds import view_figure
from repro.report.figures.view import FigureView
from repro.report.files import command_line, table_name
from repro.report.layout import markdown_table
from repro.report.render import markdown
from repro.report.view import TableView, view_table
from repro.report.words import counted, duration
from repro.store.store import Store

View = TableView | FigureView


def view_of(request: Request, store: Store) -> View:
    """The table or figure as it stands."""
    if request.table in FIGURES:
        return view_figure(FIGURES[request.table], request, store)
    return view_table(TABLES[request.table], request, store)


def document(views: Sequence[View], store: Store) -> str:
    """The whole file."""
    lines = ["# Reproduced tables and figures", "", *_summary(views), ""]
    for view in views:
        lines += [
            f"## {table_name(view.request)}",
            "",
            f"    {command_line(view.request)}",
            "",
            f"Status: {_status(view)}. {_ran(view, store)}{_folder(view)}",
            "",
            _body(view),
        ]
    return "\n".join(lines)


def _body(view: View) -> str:
    if isinstance(view, FigureView):
        return figure_markdown(view, f"{FOLDER}/")
    return markdown(view)


def _summary(views: Sequence[View]) -> list[str]:
    """One line a table or figure asked for, and those that nobody asked for."""
    rows = [
        [
            view.request.table,
            view.request.scale,
            view.lead.backbone.name,
            f"{view.done}/{view.cells}",
            _collapsed(view),
        ]
        for view in views
    ]
    asked = {view.request.table for view in views}
    absent = [name for name in ARTEFACTS if name not in asked]
    lines = markdown_table(
        ["Table", "Scale", "Encoder", "Cells reproduced", "Collapsed rows"], rows, left=5
    )
    lines += ["", "Only the paper scale is comparable with the published numbers."]
    if absent:
        lines.append(f"Not asked for yet: {', '.join(absent)}.")
    return lines


def _collapsed(view: View) -> str:
    """The rows of a table, or models of a figure, whose runs give a constant answer."""
    if isinstance(view, FigureView):
        return view.collapsed or "none"
    return ", ".join(row.row.name for row in view.rows if row.collapsed) or "none"


def _status(view: View) -> str:
    return "complete" if view.complete else f"incomplete, {view.done} of {view.cells} cells"


def _folder(view: View) -> str:
    """What the command leaves open: where a local model's folder is."""
    if view.lead.backbone.id != LOCAL:
        return ""
    return (
        f" The encoder {view.lead.backbone.name} is a local folder: set REPRO_MODELS to its parent."
    )


def _ran(view: View, store: Store) -> str:
    """On what the runs were trained, and for how long; jobs are counted once."""
    jobs: dict[tuple[str, ...], tuple[str, float]] = {}
    for key in view.runs:
        run = store.read(key)
        machine = run.environment() if run is not None else {}
        if machine:
            members = tuple(machine["members"])
            jobs[members] = machine["device_name"], float(machine["seconds"])
    if not jobs:
        return ""
    devices = sorted({device for device, _ in jobs.values()})
    total = sum(seconds for _, seconds in jobs.values())
    return f"Trained on {', '.join(devices)}, {duration(total)} in {counted(len(jobs), 'job')}."
