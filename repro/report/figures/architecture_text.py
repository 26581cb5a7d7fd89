"""The words of a drawing, and its boxes as CSV and JSON."""

from __future__ import annotations

import csv
import io
from typing import Any

from repro.report.figures.architecture import ArchitectureView, Box, Panel
from repro.words import counted

STACKS = 2
CSV_COLUMNS = [
    "figure", "scale", "panel", "box", "what", "tokens", "width", "parameters", "trained", "inputs",
]  # fmt: skip


def headline(view: ArchitectureView) -> str:
    """What is drawn, in one line."""
    method = view.panels[0].method
    return (
        f"ResAdapters on {view.lead.backbone.name}: {view.layers} layers of width "
        f"{view.lead.backbone.hidden_size}, cells of bottleneck {method.bottleneck}, stages of "
        f"{method.stage}"
    )


def stamp(view: ArchitectureView) -> str:
    """Scale and reading, and what the numbers in a box are."""
    reading = "as released" if view.request.as_released else "repaired"
    return (
        f"{view.request.scale.capitalize()} scale · reading: {reading} · in a box: parameters, "
        "then tokens × width of what leaves it"
    )


def title(panel: Panel) -> str:
    """What a panel shows, and whose model it is."""
    return f"{panel.sketch.title}: {panel.sketch.rows}"


def sums(panel: Panel) -> str:
    """How the counts of a panel's boxes add up."""
    if panel.wiring is None:
        return f"One cell: {panel.stack:,} parameters"
    cells = [box for box in panel.boxes if box.name.startswith("C")]
    scorer = panel.box("scorer").parameters
    return (
        f"Of {panel.sketch.rows.split(',')[0]}: {len(cells)} cells × {cells[0].parameters:,} + "
        f"scorer {scorer:,} = {panel.stack:,} a stack; two stacks train "
        f"{STACKS * panel.stack:,} parameters"
    )


def caption(view: ArchitectureView) -> str:
    """What a reader must know of the drawing."""
    totals = "; ".join(
        f"{panel.sketch.rows.split(',')[0]} {STACKS * panel.stack:,}"
        for panel in view.panels
        if panel.wiring is not None
    )
    return (
        f"{view.figure.title}. {headline(view)}. {stamp(view)}. Grey: the frozen encoder; blue: "
        "what is trained, one stack of two; dashed green: a residual path, which adds no "
        f"parameter; ⊕: a sum. Trained in both stacks: {totals}."
    )


def notes(view: ArchitectureView) -> list[str]:
    """What holds for the drawing at every scale."""
    return list(view.figure.notes)


def alternative(view: ArchitectureView) -> str:
    """What stands in the picture, for who cannot see it: each panel's boxes and lines."""
    return f"Drawings of {headline(view)}. " + " ".join(_said(panel) for panel in view.panels)


def _said(panel: Panel) -> str:
    if panel.wiring is None:
        steps = ", ".join(box.title.lower() if box.what else box.title for box in panel.boxes)
        return f"{panel.sketch.title}: {steps}."
    layers = len(panel.wiring.inputs)
    extra = [box for box in panel.boxes if box.name.startswith("C") and _residual(box)]
    later = f"; residual paths also reach {', '.join(box.name for box in extra)}" if extra else ""
    out = " + ".join(panel.wiring.output.terms)
    return f"{panel.sketch.title}: {counted(layers, 'cell')}{later}; the scorer reads {out}."


def _residual(box: Box) -> list[str]:
    """Frozen layers that a cell reads beside its own."""
    return [name for name in box.inputs if name.startswith("T") and name[1:] != box.name[1:]]


def csv_text(view: ArchitectureView) -> str:
    """One box of one panel a line; `inputs` are the boxes that are summed into it."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    for panel in view.panels:
        head = [view.figure.id, view.request.scale, panel.sketch.name]
        for box in panel.boxes:
            what = f"{plain(box)} {box.what}".strip()
            inputs = " ".join(box.inputs)
            line = [box.name, what, *box.shape, box.parameters, box.trained, inputs]
            writer.writerow([*head, *line])
    return out.getvalue()


def plain(box: Box) -> str:
    """A box's title without the marks of a formula."""
    return "" if box.title.startswith("$") else box.title


def as_json(view: ArchitectureView) -> dict[str, Any]:
    """What `figure --json` says of it, but for the files; docs/json.md describes it."""
    return {
        "id": view.figure.id,
        "scale": view.request.scale,
        "encoder": view.lead.backbone.name,
        "caption": caption(view),
        "panels": [_panel_json(panel) for panel in view.panels],
        "complete": f"{len(view.panels)}/{len(view.panels)}",
        "runs": [],
        "notes": notes(view),
    }


def _panel_json(panel: Panel) -> dict[str, Any]:
    return {
        "name": panel.sketch.name,
        "title": title(panel),
        "parameters_trained": panel.stack,
        "boxes": [
            {
                "box": box.name,
                "what": f"{plain(box)} {box.what}".strip(),
                "shape": list(box.shape),
                "parameters": box.parameters,
                "trained": box.trained,
                "inputs": list(box.inputs),
            }
            for box in panel.boxes
        ],
    }
