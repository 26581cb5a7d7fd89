"""REPRODUCE.md: the summary, then every table and figure with its command.

The same store, the same bytes.
"""

from __future__ import annotations

from collections.abc import Sequence

from repro.audit.run import findings as audit
from repro.backbones.describe import LOCAL
from repro.papers.registry import FIGURES, TABLES
from repro.papers.request import Request
from repro.report.claims import judge_all
from repro.report.figures.files import FOLDER
from repro.report.figures.files import markdown as figure_markdown
from repro.report.figures.kinds import view_figure
from repro.report.figures.view import FigureView
from repro.report.files import command_line, table_name
from repro.report.layout import markdown_table, prose
from repro.report.protocol import protocol_table
from repro.report.render import markdown
from repro.report.summary import (
    View,
    audit_section,
    claims_section,
    machines,
    verdict_counts,
    what_holds,
)
from repro.report.view import view_table
from repro.store.store import Store

MOST_NAMED = 6
"""Rows whose runs collapsed and that are named one by one."""


def view_of(request: Request, store: Store) -> View:
    """The table or figure as it stands."""
    if request.id in FIGURES:
        return view_figure(FIGURES[request.id], request, store)
    return view_table(TABLES[request.id], request, store)


def document(views: Sequence[View], store: Store) -> str:
    """The whole file: what holds, one line a table and figure, then each with its protocol."""
    claims, findings = judge_all(store), audit()
    lines = [
        "# Reproduced tables and figures",
        "",
        *what_holds(views, claims, findings, store),
        "",
        *_overview(views),
        "",
    ]
    for view in views:
        lines += [
            f"## {prose(table_name(view.request))}",
            "",
            f"    {command_line(view.request)}",
            "",
            f"Status: {_status(view)}. {_ran(view, store)}{_folder(view)}".rstrip(),
            "",
            _body(view),
            *_protocol(view),
        ]
    lines += [*claims_section(claims), *audit_section(findings)]
    return "\n".join(lines)


def _protocol(view: View) -> list[str]:
    """How it is trained, folded away: a reader opens it."""
    if not view.runs:
        return []
    return [
        "<details><summary>Protocol: what the paper says, what is used, and the source</summary>",
        "",
        *protocol_table(view.request),
        "",
        "</details>",
        "",
    ]


def _body(view: View) -> str:
    if isinstance(view, FigureView):
        return figure_markdown(view, f"{FOLDER}/")
    return markdown(view)


def _overview(views: Sequence[View]) -> list[str]:
    """One line a table or figure asked for."""
    rows = [
        [
            view.request.id,
            view.request.scale,
            view.lead.backbone.name,
            f"{view.done}/{view.cells}",
            ", ".join(verdict_counts(view)),
            _collapsed(view),
        ]
        for view in views
    ]
    head = ["Table", "Scale", "Encoder", "Cells reproduced", "Verdicts", "Collapsed rows"]
    return markdown_table(head, rows, left=6)


def _collapsed(view: View) -> str:
    """The rows of a table, or models of a figure, whose runs give a constant answer."""
    if isinstance(view, FigureView):
        return view.collapsed or "none"
    names = [row.row.name for row in view.rows if row.collapsed]
    if len(names) > MOST_NAMED:
        return f"in {len(names)} of {len(view.rows)} rows"
    return ", ".join(names) or "none"


def _status(view: View) -> str:
    return "complete" if view.complete else f"incomplete, {view.done} of {view.cells} cells"


def _folder(view: View) -> str:
    """Where a local model's folder has to be, should more be trained with it."""
    backbone = view.lead.backbone
    if backbone.id != LOCAL:
        return ""
    return (
        f" The encoder {prose(backbone.name)} is a model folder ({backbone.revision}): to train "
        "more with it, set REPRO_MODELS to the folder that holds it; what is stored is shown "
        "without it."
    )


def _ran(view: View, store: Store) -> str:
    """On what the runs were trained, and for how long; jobs are counted once."""
    return f"Trained on {prose(machines(view.runs, store))}." if view.runs else ""
