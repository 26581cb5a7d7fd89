"""A table as Markdown, CSV and JSON: the same view gives the same bytes."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

from repro.report.layout import markdown_table
from repro.report.view import Cell, RowView, TableView
from repro.stats.verdicts import Summary

GAP = "—"


def number(value: float | None) -> str:
    """One decimal, as the paper prints; a gap for None."""
    return GAP if value is None else f"{value:.1f}"


def with_spread(summary: Summary | None) -> str:
    """mean, or mean ± sd where there is more than one run."""
    if summary is None:
        return GAP
    return number(summary.mean) + (f" ± {summary.sd:.1f}" if summary.sd is not None else "")


def signed(value: float | None) -> str:
    """A difference with its sign."""
    return GAP if value is None else f"{value:+.1f}"


def count(value: int) -> str:
    """7,444,034."""
    return f"{value:,}"


def caption(view: TableView) -> str:
    """Title, scale, encoder, data, protocol, seeds: what a reader must know of the numbers."""
    request, lead = view.request, view.lead
    task, recipe = lead.task, lead.recipe
    share = f", {task.answerable_share:.0%} answerable" if task.answerable_share else ""
    rows = f"{task.train_rows:,} questions of " if task.train_rows else ""
    scored = f"{task.evaluation_rows:,} questions of " if task.evaluation_rows else ""
    parts = [
        f"{view.table.title}.",
        f"Scale: {request.scale}"
        + ("." if request.scale == "paper" else " (not comparable with the published numbers)."),
        f"Encoder: {lead.backbone.name}, {lead.backbone.layers} layers, frozen.",
        f"Training: {rows}{task.train}{share}, {recipe.epochs} epochs, batch {recipe.batch_size}, "
        f"rate {recipe.learning_rate:g}, {recipe.precision}.",
        f"Scored: {scored}{view.table.splits[request.scale]}, {view.table.protocol}.",
        f"Reading: {'as released' if request.as_released else 'repaired'}.",
        f"Seeds: {request.seeds}.",
        f"Cells reproduced: {view.done}/{view.cells}.",
    ]
    return " ".join(parts)


def markdown(view: TableView) -> str:
    """Three lines a row: published, reproduced (mean ± sd over seeds), difference."""
    head = ["Model", "", *(column.name for column in view.table.columns), "Trained parameters"]
    body = [line for row in view.rows for line in _lines(row)]
    lines = [f"**{view.table.id}.** {caption(view)}", "", *markdown_table(head, body, left=2)]
    # An exception's message may hold <something>, which Markdown would take for a tag.
    footnotes = [f"- {note.replace('<', '&lt;')}" for note in notes(view)]
    return "\n".join([*lines, "", *footnotes]) + "\n"


def _lines(row: RowView) -> list[list[str]]:
    size = count(row.parameters[0]) if row.parameters else ""
    reproduced = ["reproduced", *(with_spread(cell.reproduced) for cell in row.cells), size]
    if not any(cell.published for cell in row.cells):
        return [[row_name(row), *reproduced]]
    return [
        [row_name(row), "published", *(_published(cell) for cell in row.cells), ""],
        ["", *reproduced],
        ["", "difference", *(signed(cell.difference) for cell in row.cells), ""],
    ]


def row_name(row: RowView) -> str:
    """The row's name, marked where its runs answer nothing."""
    return row.row.name + (" †" if row.collapsed else "")


def _published(cell: Cell) -> str:
    if cell.published is None or cell.published.value is None:
        return GAP
    spread = f" ± {cell.published.sd:.1f}" if cell.published.sd is not None else ""
    return number(cell.published.value) + spread


def notes(view: TableView) -> list[str]:
    """Footnotes: collapsed rows, gaps and missing seeds with their reasons, the table's own."""
    found = []
    collapsed = [row for row in view.rows if row.collapsed]
    if collapsed:
        named = "; ".join(f"{row.row.name}: {_collapse(row, view)}" for row in collapsed)
        found.append(f"† collapsed, answers no question: {named}.")
    for row in view.rows:
        reasons = sorted({cell.reason for cell in row.cells if cell.verdict == "GAP"})
        reasons = [f"gap, {reason}" for reason in reasons] + [row.partial] * bool(row.partial)
        found += [f"{row.row.name}: {reason.removesuffix('.')}." for reason in reasons]
    found += [f"{row.row.name}: {row.row.note}." for row in view.rows if row.row.note]
    return found + list(view.table.notes)


def _collapse(row: RowView, view: TableView) -> str:
    text = f"{row.collapsed} of {view.request.seeds} runs"
    if row.span_f1 is not None:
        text += f", best non-null span F1 on HasAns {with_spread(row.span_f1)}"
    return text


def as_json(view: TableView) -> dict[str, Any]:
    """The object of `table --json`; docs/json.md describes it."""
    return {
        "id": view.table.id,
        "scale": view.request.scale,
        "protocol": view.table.protocol,
        "caption": caption(view),
        "columns": [column.name for column in view.table.columns],
        "rows": [_row_json(row) for row in view.rows],
        "complete": f"{view.done}/{view.cells}",
        "notes": notes(view),
    }


def _row_json(row: RowView) -> dict[str, Any]:
    size = row.parameters
    return {
        "name": row.row.name,
        "section": row.row.section,
        "reference": row.row.reference,
        "parameters": {"trained": size[0], "total": size[1]} if size else None,
        "collapsed": row.collapsed,
        "best_span_f1": row.span_f1.mean if row.span_f1 else None,
        "cells": [_cell_json(cell) for cell in row.cells],
    }


def _cell_json(cell: Cell) -> dict[str, Any]:
    published, reproduced = cell.published, cell.reproduced
    return {
        "column": cell.column.name,
        "published": published and {"value": published.value, "sd": published.sd, "n": published.n},
        "reproduced": reproduced
        and {
            "mean": reproduced.mean,
            "sd": reproduced.sd,
            "n": reproduced.n,
            "values": list(reproduced.values),
        },
        "difference": cell.difference,
        "verdict": cell.verdict,
        "reason": cell.reason,
        "runs": list(cell.runs),
    }


def json_text(document: Any) -> str:
    """Strict JSON, indented."""
    return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


CSV_COLUMNS = [
    "table", "scale", "row", "column", "published", "published_sd", "published_n", "reproduced",
    "reproduced_sd", "reproduced_n", "difference", "verdict", "reason", "trained_parameters",
    "collapsed_runs", "source", "runs",
]  # fmt: skip


def csv_text(view: TableView) -> str:
    """Tidy long form, one cell a line; an absent number is an empty field."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    for row in view.rows:
        for cell in row.cells:
            published, ours = cell.published, cell.reproduced
            writer.writerow([
                view.table.id, view.request.scale, row.row.name, cell.column.name,
                published.value if published else None, published.sd if published else None,
                published.n if published else None,
                ours.mean if ours else None, ours.sd if ours else None, ours.n if ours else None,
                cell.difference, cell.verdict, cell.reason,
                row.parameters[0] if row.parameters else None, row.collapsed,
                published.source if published else None, " ".join(cell.runs),
            ])  # fmt: skip
    return out.getvalue()
