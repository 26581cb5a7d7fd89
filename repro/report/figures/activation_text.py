"""The words of learned activations, and their curves as CSV and JSON."""

from __future__ import annotations

import csv
import io
from typing import Any

from repro.papers.activations import Panel
from repro.report.captions import not_comparable
from repro.report.figures.activations import ActivationsView, Line
from repro.spec.glue import GLUE
from repro.words import counted

PANELS: tuple[Panel, ...] = ("layers", "tasks")
X_LABEL, Y_LABEL = "x, input of the activation", "R(x)"
CSV_COLUMNS = [
    "figure", "scale", "panel", "task", "layer", "published_layer", "kind", "x", "y", "met",
    "in_use", "model", "encoder", "source",
]  # fmt: skip
MOST = 15.0
"""What is farther from 0 is not drawn."""


def model(view: ActivationsView) -> str:
    """The row of the table whose runs are drawn."""
    return view.figure.method(view.request)


def stamp(view: ActivationsView) -> str:
    """Scale, encoder, model and rows, and whether the layers are the published ones."""
    backbone, request = view.lead.backbone, view.request
    parts = [
        f"{request.scale.capitalize()} scale",
        f"{backbone.name} ({backbone.layers} layers)",
        f"{model(view)}, {view.figure.rows(request)}, seed {view.lead.seed}",
    ]
    parts += not_comparable(request.scale, view.differs, "curves")
    return " · ".join(parts)


def title(view: ActivationsView, panel: Panel) -> str:
    """Layers of one adapter: QNLI; layer 2 on several tasks."""
    if panel == "layers":
        return f"Layers of one run: {GLUE[view.figure.task].title}"
    layers = sorted({line.layer for line in view.panel(panel) if line.layer is not None})
    of = f"Layer {layers[0]}" if layers else "No layer"
    return (
        f"{of}{_stands_for(view, view.figure.layer)} on {counted(len(view.panel(panel)), 'task')}"
    )


def name(view: ActivationsView, line: Line) -> str:
    """layer 4 (for layer 7 of 24); CoLA."""
    if line.curve.panel == "tasks":
        return GLUE[line.curve.task].title
    own = "no layer" if line.layer is None else f"layer {line.layer}"
    return own + _stands_for(view, line.curve.layer)


def _stands_for(view: ActivationsView, layer: int) -> str:
    return "" if view.same_depth else f" (for {layer} of {view.figure.depth})"


def label(view: ActivationsView, line: Line) -> str:
    """What a legend says of a curve: its name, the inputs that it met, whether it is in use."""
    if line.learned is None:
        return f"{name(view, line)}: {line.absent}"
    off = "" if line.used else ", switched off"
    return f"{name(view, line)}, inputs {_range(line)}{off}"


def _range(line: Line) -> str:
    assert line.learned is not None
    return f"{line.learned.low:.2g} to {line.learned.high:.2g}"


def published_label(view: ActivationsView) -> str:
    """What the dashed lines are."""
    return f"published, {view.figure.encoder} (digitised from a picture)"


def caption(view: ActivationsView) -> str:
    """What a reader must know of the curves."""
    task = view.lead.task
    kind = "generated" if task.source == "generated" else "published"
    rows = f"{task.train_rows:,} {kind} rows" if task.train_rows else f"all {kind} rows"
    errors = {one.error for one in view.figure.published().values()}
    parts = [
        f"{view.figure.title}.",
        f"{stamp(view)}.",
        f"Each adapter of {rows}, a quarter of them for development; inputs are those of the "
        "scored rows.",
        "Solid: where inputs were met; thin: beyond them. Dashed, in the same colour: "
        f"{published_label(view)}, each point within ±{min(errors):g} or ±{max(errors):g}.",
        f"Curves drawn: {view.done}/{view.cells}.",
    ]
    return " ".join(parts)


def notes(view: ActivationsView) -> list[str]:
    """What is missing or cut off, and what holds for the figure at every scale."""
    found = [f"Not drawn, {name(view, line)}: {line.absent}."
             for line in view.lines if line.learned is None]  # fmt: skip
    cut = [line for line in view.lines if any(abs(y) > MOST for _, y in line.points(view.x))]
    if cut:
        named = ", ".join(name(view, line) for line in cut)
        found.append(f"Cut off in the picture beyond ±{MOST:g}, whole in its CSV: {named}.")
    drawn = [task for task in view.figure.needed(view.request) if task in view.request.pools]
    if drawn:
        titles = ", ".join(GLUE[task].title for task in drawn)
        found.append(f"Training rows drawn from validation rows, of which others score: {titles}.")
    if constant(view):
        found.append(f"Runs that predict one class: {constant(view)}.")
    if view.request.seeds > 1:
        found.append("Of several seeds the first one is drawn.")
    return list(dict.fromkeys(found)) + list(view.figure.notes)


def constant(view: ActivationsView) -> str:
    """The tasks whose run gives a constant answer."""
    titles = [GLUE[line.curve.task].title for line in view.lines if line.constant]
    return ", ".join(dict.fromkeys(titles))


def alternative(view: ActivationsView) -> str:
    """What stands in the picture, for who cannot see it: each curve at both ends and at 0."""
    return f"Curves of learned activations, {stamp(view)}. " + " ".join(
        f"{title(view, panel)}: {'; '.join(_said(view, line) for line in view.panel(panel))}."
        for panel in PANELS
    )


def _said(view: ActivationsView, line: Line) -> str:
    """layer 0 1.2 at -4, 0.9 at 0, 0.3 at 4; published -2.0 at -3.5, ..."""
    if line.learned is None:
        words = f"{name(view, line)} not drawn ({line.absent})"
    else:
        words = f"{name(view, line)} {_ends(line.points(view.x))}"
    published = line.published
    return words + (f", published {_ends(published.points)}" if published is not None else "")


def _ends(points: tuple[tuple[float, float], ...]) -> str:
    chosen = [points[0], min(points, key=lambda point: abs(point[0])), points[-1]]
    return ", ".join(f"{y:.2f} at {x:g}" for x, y in chosen)


def csv_text(view: ActivationsView) -> str:
    """One point a line. `met`: x lies within the inputs that the activation met."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    x, head = view.x, [view.figure.id, view.request.scale]
    for line in view.lines:
        curve, one = line.curve, line.learned
        of = [curve.panel, curve.task]
        for place, y in line.points(x):
            assert one is not None
            met = one.low <= place <= one.high
            own = [line.layer, curve.layer, "reproduced", place, round(y, 6), met, line.used]
            writer.writerow([*head, *of, *own, model(view), view.lead.backbone.name, ""])
        for place, y in line.published.points if line.published else ():
            own = ["", curve.layer, "digitised", place, y, "", ""]
            source = line.published.source if line.published else ""
            writer.writerow([*head, *of, *own, view.figure.methods[0], view.figure.encoder, source])
    return out.getvalue()


def as_json(view: ActivationsView) -> dict[str, Any]:
    """What `figure --json` says of it, but for the files; docs/json.md describes it."""
    return {
        "id": view.figure.id,
        "scale": view.request.scale,
        "method": model(view),
        "section": view.figure.rows(view.request),
        "encoder": view.lead.backbone.name,
        "caption": caption(view),
        "panels": [
            {
                "name": panel,
                "title": title(view, panel),
                "unit": Y_LABEL,
                "curves": [_curve_json(line) for line in view.panel(panel)],
            }
            for panel in PANELS
        ],
        "complete": f"{view.done}/{view.cells}",
        "runs": list(view.runs),
        "notes": notes(view),
    }


def _curve_json(line: Line) -> dict[str, Any]:
    one, published = line.learned, line.published
    return {
        "task": line.curve.task,
        "layer": line.layer,
        "published_layer": line.curve.layer,
        "absent": line.absent or None,
        "in_use": line.used,
        "learned": one.model_dump(mode="json") if one is not None else None,
        "published": {
            "points": [list(point) for point in published.points],
            "error": published.error,
            "source": published.source,
        }
        if published is not None
        else None,
    }
