"""REPRODUCE.md: the summary, then every table with its command. The same store, the same bytes."""

from __future__ import annotations

from collections.abc import Sequence

from repro.backbones.describe import LOCAL
from repro.papers.registry import TABLES
from repro.report.files import command_line, table_name
from repro.report.layout import markdown_table
from repro.report.render import markdown
from repro.report.view import TableView
from repro.report.words import counted, duration
from repro.store.store import Store


def document(views: Sequence[TableView], store: Store) -> str:
    """The whole file."""
    lines = ["# Reproduced tables", "", *_summary(views), ""]
    for view in views:
        lines += [
            f"## {table_name(view.request)}",
            "",
            f"    {command_line(view.request)}",
            "",
            f"Status: {_status(view)}. {_ran(view, store)}{_folder(view)}",
            "",
            markdown(view),
        ]
    return "\n".join(lines)


def _summary(views: Sequence[TableView]) -> list[str]:
    """One line a table asked for, and the tables that nobody asked for."""
    rows = [
        [
            view.table.id,
            view.request.scale,
            view.lead.backbone.name,
            f"{view.done}/{view.cells}",
            ", ".join(row.row.name for row in view.rows if row.collapsed) or "none",
        ]
        for view in views
    ]
    asked = {view.table.id for view in views}
    absent = [name for name in TABLES if name not in asked]
    lines = markdown_table(
        ["Table", "Scale", "Encoder", "Cells reproduced", "Collapsed rows"], rows, left=5
    )
    lines += ["", "Only the paper scale is comparable with the published numbers."]
    if absent:
        lines.append(f"Not asked for yet: {', '.join(absent)}.")
    return lines


def _status(view: TableView) -> str:
    return "complete" if view.complete else f"incomplete, {view.done} of {view.cells} cells"


def _folder(view: TableView) -> str:
    """What the command leaves open: where a local model's folder is."""
    if view.lead.backbone.id != LOCAL:
        return ""
    return (
        f" The encoder {view.lead.backbone.name} is a local folder: set REPRO_MODELS to its parent."
    )


def _ran(view: TableView, store: Store) -> str:
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
