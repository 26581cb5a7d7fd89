"""Curves as plain data: CSV and JSON."""

from __future__ import annotations

import csv
import io
from typing import Any

from repro.report.figures.curve_text import absent, caption, left_out, notes
from repro.report.figures.curves import CurvePanel, CurvesView, Dot, Line

CSV_COLUMNS = [
    "figure", "scale", "panel", "series", "kind", "point", "x", "y", "low", "high", "unit",
    "trained_parameters", "collapsed_runs", "of", "values", "encoder", "source",
]  # fmt: skip


def csv_text(view: CurvesView) -> str:
    """One point of one panel a line; `values` are what its y is of, named by `of` (seeds, tasks).

    A number that there is not is empty: x of a level, y of a threshold, the spread of one run.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    for panel in view.panels:
        for line in panel.lines:
            for dot in line.dots:
                writer.writerow(_record(view, panel, line, dot))
    return out.getvalue()


def _record(view: CurvesView, panel: CurvePanel, line: Line, dot: Dot) -> list[Any]:
    return [
        view.figure.id, view.request.scale, panel.name, line.series, line.kind, dot.label,
        dot.x, dot.y, dot.low, dot.high, panel.y_label, dot.trained, dot.collapsed,
        " ".join(name.replace(" ", "-") for name in dot.names),
        " ".join(str(value) for value in dot.values), line.encoder or view.lead.backbone.name,
        line.source,
    ]  # fmt: skip


def as_json(view: CurvesView) -> dict[str, Any]:
    """What `figure --json` says of it, but for the files; docs/json.md describes it."""
    return {
        "id": view.figure.id,
        "scale": view.request.scale,
        "tasks": list(view.tasks),
        "left_out": left_out(view),
        "encoder": view.lead.backbone.name,
        "caption": caption(view),
        "panels": [_panel_json(panel, view.lead.backbone.name) for panel in view.panels],
        "gaps": absent(view),
        "statements": [
            {
                "text": stated.said.text,
                "published": stated.said.published,
                "reproduced": stated.reproduced,
                "note": stated.note or None,
                "source": stated.said.source,
            }
            for stated in view.statements
        ],
        "complete": f"{view.done}/{view.cells}",
        "runs": list(view.runs),
        "notes": notes(view),
    }


def _panel_json(panel: CurvePanel, encoder: str) -> dict[str, Any]:
    return {
        "name": panel.name,
        "title": panel.title,
        "unit": panel.y_label,
        "x": panel.x_label,
        "spread": panel.spread,
        "absent": panel.absent or None,
        "lines": [
            {
                "series": line.series,
                "kind": line.kind,
                "encoder": line.encoder or encoder,
                "source": line.source or None,
                "points": [_dot_json(dot) for dot in line.dots],
            }
            for line in panel.lines
        ],
    }


def _dot_json(dot: Dot) -> dict[str, Any]:
    return {
        "point": dot.label,
        "x": dot.x,
        "y": dot.y,
        "low": dot.low,
        "high": dot.high,
        "values": list(dot.values),
        "of": list(dot.names),
        "parameters_trained": dot.trained,
        "collapsed": dot.collapsed,
    }
