"""A table as Markdown, CSV and JSON: the same view gives the same bytes."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from typing import Any

from repro.papers.tables import Column, Fact, Mean, Score
from repro.report.captions import caption, many_tasks
from repro.report.cells import Cell
from repro.report.layout import markdown_table
from repro.report.notes import notes
from repro.report.view import RowView, TableView
from repro.server.layout import PROTOCOL
from repro.stats.evidence import Evidence
from repro.stats.summary import Summary

GAP = "—"


def number(value: float | None, digits: int = 1) -> str:
    """With as many decimals as the paper prints; a gap for None."""
    return GAP if value is None else f"{value:,.{digits}f}"


def with_spread(summary: Summary | None, digits: int = 1, kind: str = "sd") -> str:
    """mean, or mean ± sd (or s.e.m.) where there is more than one run."""
    if summary is None:
        return GAP
    found = summary.sem if kind == "sem" else summary.sd
    spread = f" ± {found:.{digits}f}" if found is not None else ""
    return number(summary.mean, digits) + spread


def signed(value: float | None, digits: int = 1) -> str:
    """A difference with its sign; none of zero."""
    return GAP if value is None else f"{round(value, digits) + 0.0:+,.{digits}f}"


def digits(column: Column) -> int:
    """Decimals of a column's numbers."""
    return column.digits if isinstance(column, (Mean, Fact)) else 1


def count(value: int) -> str:
    """7,444,034."""
    return f"{value:,}"


def markdown(view: TableView) -> str:
    """Three lines a row: published, reproduced (mean ± spread over seeds), difference; and the
    verdict, where there is one.
    """
    lines = [f"**{view.table.id}.** {caption(view)}", "", *markdown_table(*grid(view), left=2)]
    # An exception's message may hold <something>, which Markdown would take for a tag.
    footnotes = [f"- {note.replace('<', '&lt;')}" for note in notes(view)]
    return "\n".join([*lines, "", *footnotes]) + "\n"


def grid(view: TableView) -> tuple[list[str], list[list[str]]]:
    """The table in words, for every format: its head, and the lines below."""
    return _transposed(view) if view.table.transposed else _upright(view)


def _transposed(view: TableView) -> tuple[list[str], list[list[str]]]:
    """Rows and columns changed places: the lines of each column."""
    head = ["", "", *(row.row.name for row in view.rows)]
    body: list[list[str]] = []
    for place, column in enumerate(view.table.columns):
        cells = [row.cells[place] for row in view.rows]
        body += [
            [column.name, "published", *map(_published, cells)],
            ["", "reproduced", *(_reproduced(cell, view) for cell in cells)],
            ["", "difference", *map(_difference, cells)],
            *[["", "verdict", *map(verdict, cells)]] * judged(cells),
        ]
    if any(row.parameters for row in view.rows):
        sizes = [count(row.parameters[0]) if row.parameters else "" for row in view.rows]
        body.append(["Trained parameters", "", *sizes])
    return head, body


def _upright(view: TableView) -> tuple[list[str], list[list[str]]]:
    sizes = any(row.parameters for row in view.rows)
    head = ["Model", "", *(column.name for column in view.table.columns)]
    body = [line if sizes else line[:-1] for row in view.rows for line in _lines(row, view)]
    return head + ["Trained parameters"] * sizes, body


def _lines(row: RowView, view: TableView) -> list[list[str]]:
    size = count(row.parameters[0]) if row.parameters else ""
    reproduced = ["reproduced", *(_reproduced(cell, view) for cell in row.cells), size]
    if not any(cell.published for cell in row.cells):
        return [[row_name(row, view), *reproduced]]
    if row.row.only_printed:
        printed = [_published(cell) for cell in row.cells]
        return [[row_name(row, view), "published", *printed, ""]]
    return [
        [row_name(row, view), "published", *(_published(cell) for cell in row.cells), ""],
        ["", *reproduced],
        ["", "difference", *(_difference(cell) for cell in row.cells), ""],
        *[["", "verdict", *map(verdict, row.cells), ""]] * judged(row.cells),
    ]


def row_name(row: RowView, view: TableView) -> str:
    """The row's name, marked where its runs collapsed; in a table of many tasks cells are."""
    return row.row.name + (" †" if row.collapsed and not many_tasks(view) else "")


def _reproduced(cell: Cell, view: TableView) -> str:
    if cell.text is not None:
        return cell.text
    if cell.verdict == "GAP" and isinstance(cell.column, Mean):
        return f"{GAP} ({cell.reason.split()[0]})"
    mark = " †" if cell.collapsed and many_tasks(view) else ""
    return with_spread(cell.reproduced, digits(cell.column), view.table.spread) + mark


def _difference(cell: Cell) -> str:
    return signed(cell.difference, digits(cell.column))


def judged(cells: Sequence[Cell]) -> bool:
    """Whether one of them could be compared."""
    return any(verdict(cell) for cell in cells)


def verdict(cell: Cell) -> str:
    """The verdict, but for a gap and what cannot be compared: their cells say so themselves."""
    return "" if cell.verdict in (None, "GAP", "NOT COMPARABLE") else str(cell.verdict)


def _published(cell: Cell) -> str:
    if cell.published is None:
        return GAP
    if cell.published.value is None or cell.text is not None:
        return cell.published.text
    spread = f" ± {cell.published.sd:.1f}" if cell.published.sd is not None else ""
    places = digits(cell.column)
    if isinstance(cell.column, Fact):
        places = min(places, cell.published.decimals)
    return number(cell.published.value, places) + spread


def as_json(view: TableView) -> dict[str, Any]:
    """The object of `table --json`; docs/json.md describes it."""
    return {
        "id": view.table.id,
        "scale": view.request.scale,
        "protocol": PROTOCOL if view.request.server else view.table.protocol,
        "spread": view.table.spread,
        "caption": caption(view),
        "columns": [column.name for column in view.table.columns],
        "rows": [_row_json(row, view) for row in view.rows],
        "complete": f"{view.done}/{view.cells}",
        "notes": notes(view),
    }


def _row_json(row: RowView, view: TableView) -> dict[str, Any]:
    size = row.parameters
    return {
        "name": row.row.name,
        "section": row.row.section,
        "reference": row.row.reference,
        "parameters": {"trained": size[0], "total": size[1]} if size else None,
        "collapsed": row.collapsed,
        "best_span_f1": row.span_f1.mean if row.span_f1 else None,
        "cells": [_cell_json(cell) | _more_json(cell, view) for cell in row.cells],
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
        "evidence": cell.evidence and _evidence_json(cell.evidence),
        "runs": list(cell.runs),
    }


def _evidence_json(found: Evidence) -> dict[str, Any]:
    return {
        "margin": found.margin,
        "equivalence": found.equivalence and list(found.equivalence),
        "interval": found.interval and list(found.interval),
        "p_adjusted": found.adjusted,
        "sd": found.sd,
        "freedom": found.freedom,
        "column_sd": found.column_sd,
        "cv_star": found.variation,
        "seeds_to_settle": found.seeds,
        "basis": found.basis,
    }


def _more_json(cell: Cell, view: TableView) -> dict[str, Any]:
    """What only some cells have: words, collapsed runs of one task, a selected run."""
    more: dict[str, Any] = {}
    if cell.text is not None:
        more["text"] = {
            "published": cell.published.text if cell.published else None,
            "reproduced": cell.text,
        }
    if many_tasks(view) and isinstance(cell.column, Score):
        more["collapsed"] = len(cell.collapsed)
    if cell.chosen is not None:
        more["chosen"] = cell.chosen
    return more


def json_text(document: Any) -> str:
    """Strict JSON, indented."""
    return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


CSV_COLUMNS = [
    "table", "scale", "row", "column", "published", "published_sd", "published_n", "reproduced",
    "reproduced_sd", "reproduced_n", "difference", "margin", "low_95", "high_95", "p_adjusted",
    "cv_star", "verdict", "reason", "trained_parameters", "collapsed_runs", "source", "runs",
]  # fmt: skip


def csv_text(view: TableView) -> str:
    """Tidy long form, one cell a line; an absent number is an empty field.

    A table that selects runs has one column more: what was chosen.
    """
    selects = any(row.row.swept for row in view.rows)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(CSV_COLUMNS + ["chosen"] * selects)
    for row in view.rows:
        for cell in row.cells:
            writer.writerow(_csv_line(view, row, cell) + [_chosen(cell)] * selects)
    return out.getvalue()


def _csv_line(view: TableView, row: RowView, cell: Cell) -> list[Any]:
    published, ours = cell.published, cell.reproduced
    words = published.text if published and cell.text is not None else None
    collapsed = len(cell.collapsed) if many_tasks(view) else row.collapsed
    return [
        view.table.id, view.request.scale, row.row.name, cell.column.name,
        words or (published.value if published else None), published.sd if published else None,
        published.n if published else None,
        ours.mean if ours else cell.text, ours.sd if ours else None, ours.n if ours else None,
        cell.difference, *_evidence(cell.evidence), cell.verdict, cell.reason,
        row.parameters[0] if row.parameters else None, collapsed,
        published.source if published else None, " ".join(cell.runs),
    ]  # fmt: skip


def _evidence(found: Evidence | None) -> list[float | None]:
    if found is None:
        return [None] * 5
    low, high = found.interval or (None, None)
    return [found.margin, low, high, found.adjusted, found.variation]


def _chosen(cell: Cell) -> str | None:
    return None if cell.chosen is None else json.dumps(cell.chosen, sort_keys=True)
