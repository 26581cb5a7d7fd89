"""The grids of a heat map as plain data: CSV and JSON."""

from __future__ import annotations

import csv
import io
from typing import Any

from repro.report.figures.ablation import AblationView, Panel
from repro.report.figures.text import caption, notes
from repro.spec.spans import Span

CSV_COLUMNS = [
    "figure", "scale", "task", "panel", "unit", "first_layer", "last_layer", "value", "one_class",
]  # fmt: skip


def as_json(view: AblationView) -> dict[str, Any]:
    """What `figure --json` says of it, but for the files; docs/json.md describes it."""
    return {
        "id": view.figure.id,
        "scale": view.request.scale,
        "task": view.task,
        "method": view.figure.method(view.request),
        "encoder": view.trained.backbone.name,
        "caption": caption(view),
        "intact": {
            "reproduced": dict(view.intact),
            "published": view.published_intact,
            "collapsed": view.collapsed,
        },
        "panels": [_panel_json(panel) for panel in view.panels],
        "rank_correlation": {"value": view.correlation, "reason": view.correlation_reason},
        "statements": [
            {
                "text": said.text,
                "published": said.published,
                "reproduced": said.reproduced,
                "note": said.note or None,
                "source": said.source,
            }
            for said in view.statements
        ],
        "complete": f"{view.done}/{view.cells}",
        "runs": list(view.runs),
        "notes": notes(view),
    }


def _panel_json(panel: Panel) -> dict[str, Any]:
    return {
        "name": panel.name,
        "title": panel.title,
        "unit": panel.unit,
        "layers": panel.layers,
        "absent": panel.absent or None,
        "cells": [
            {
                "first": span[0],
                "last": span[1],
                "value": panel.grid.get(span),
                "undefined": panel.undefined.get(span),
                "one_class": one_class(panel, span),
            }
            for span in shown(panel)
        ],
    }


def shown(panel: Panel) -> list[Span]:
    """The spans that a panel has, with a number or undefined, by first layer, then by last."""
    return [] if panel.absent else sorted({*panel.grid, *panel.undefined})


def one_class(panel: Panel, span: Span) -> bool | None:
    """Whether every row gets one class; None where nobody says."""
    return None if panel.constant is None else span in panel.constant


def csv_text(view: AblationView) -> str:
    """One cell of one panel a line, layers from 0; `one_class`: all rows get one. An undefined
    value is empty.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    for panel in view.panels:
        head = [view.figure.id, view.request.scale, view.task, panel.name, panel.unit]
        for span in shown(panel):
            writer.writerow([*head, *span, panel.grid.get(span), one_class(panel, span)])
    return out.getvalue()
