"""The files of a figure: the picture in three formats, its grids as CSV and JSON, its caption."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any
from urllib.parse import quote

from repro.report.figures.ablation import AblationView, Panel
from repro.report.figures.text import alternative, caption, notes
from repro.report.files import table_name, write_artefact
from repro.report.render import json_text
from repro.spec.spans import Span

FOLDER = "figures"
ENDINGS = ("png", "svg", "pdf", "csv", "json", "md")
CSV_COLUMNS = [
    "figure", "scale", "task", "panel", "unit", "first_layer", "last_layer", "value", "one_class",
]  # fmt: skip


def file_names(view: AblationView) -> list[str]:
    """What `write_figure` writes, relative to its folder."""
    return [f"{FOLDER}/{table_name(view.request)}.{ending}" for ending in ENDINGS]


def write_figure(view: AblationView, folder: Path) -> list[Path]:
    """Writes figures/NAME.{png,svg,pdf,csv,json,md} where content changed; returns the paths.

    Raises StoreError, which names --out, for a folder that cannot be written.
    """
    from repro.report.figures.heatmap import draw_ablation
    from repro.report.figures.style import rendered, styled

    texts = {"csv": csv_text(view), "json": json_text(as_json(view)), "md": markdown(view)}
    with styled():
        contents = rendered(draw_ablation(view))
    contents |= {ending: text.encode() for ending, text in texts.items()}
    paths = [folder / name for name in file_names(view)]
    for path in paths:
        content = contents[path.suffix[1:]]
        if not path.exists() or path.read_bytes() != content:
            write_artefact(path, content)
    return paths


def as_json(view: AblationView) -> dict[str, Any]:
    """The object of `figure --json`; docs/json.md describes it."""
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
        "files": file_names(view),
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


def markdown(view: AblationView, folder: str = "") -> str:
    """The picture with its caption and notes; `folder` is where the file stands, with a slash."""
    picture = quote(f"{folder}{table_name(view.request)}.png")
    lines = [
        f"![{alternative(view)}]({picture})",
        "",
        f"**{view.figure.id}.** {caption(view)}",
        "",
        *(f"- {note}" for note in notes(view)),
    ]
    # An exception's message may hold <something>, which Markdown would take for a tag.
    return "\n".join(lines).replace("<", "&lt;") + "\n"
