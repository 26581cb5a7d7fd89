"""The words of task embeddings, and their coordinates and distances as CSV and JSON."""

from __future__ import annotations

import csv
import io
from typing import Any

from repro.report.figures.embedding_maps import PERPLEXITY
from repro.report.figures.embeddings import EmbeddingsView, Map
from repro.report.files import command_line
from repro.spec.t5 import WrittenName
from repro.spec.text_to_text import TEXT_TO_TEXT
from repro.words import counted

CSV_COLUMNS = [
    "figure", "scale", "model", "encoder", "seed", "part", "task", "kind", "x", "y", "x_share",
    "y_share", "other", "distance", "nearest",
]  # fmt: skip
TITLES = {"pca": "Principal components", "tsne": f"t-SNE, perplexity {PERPLEXITY:g}"}
NOT_RUN = "not run"
NAMES = {"hyperformer++": "HyperFormer++", "hyperformer": "HyperFormer"}


def model(view: EmbeddingsView) -> str:
    """As the paper writes it."""
    method = view.figure.method(view.request)
    return NAMES.get(method, method)


def named(task: WrittenName) -> str:
    """SST-2."""
    return TEXT_TO_TEXT[task].facts.title


def stamp(view: EmbeddingsView) -> str:
    """Scale, encoder, model, width of an embedding and seed."""
    backbone, request = view.lead.backbone, view.request
    return " · ".join(
        [
            f"{request.scale.capitalize()} scale",
            f"{backbone.name} ({backbone.layers} + {backbone.layers} layers)",
            f"{model(view)}, {view.width} dimensions, seed {view.lead.seed}",
            "no published coordinates to compare with",
        ]
    )


def axis_labels(one: Map) -> tuple[str, str]:
    """PC 1 (31 %), PC 2 (20 %); the axes of t-SNE have no meaning of their own."""
    if one.name == "tsne":
        return "t-SNE 1 (no unit)", "t-SNE 2 (no unit)"
    if not one.shares:
        return "PC 1", "PC 2"
    first, second = (f"PC {n} ({100 * share:.0f} %)" for n, share in enumerate(one.shares[:2], 1))
    return first, second


def by_kind(view: EmbeddingsView) -> dict[str, list[WrittenName]]:
    """Kind -> those of its tasks that are shown, in order; none of some kinds, perhaps."""
    return {
        kind: [task for task in tasks if task in view.tasks]
        for kind, tasks in view.figure.kinds.items()
    }


def caption(view: EmbeddingsView) -> str:
    """What a reader must know of the maps."""
    return " ".join(
        [
            f"{view.figure.title}.",
            f"{stamp(view)}.",
            f"Each point is the embedding z of a task as trained, of one run on "
            f"{counted(len(view.tasks), 'task')}. Left: the principal components of their "
            "covariance, with their shares of the variance. Right: t-SNE of perplexity "
            f"{PERPLEXITY:g}, which starts from the left map and draws no random number; only who "
            "is near to whom means something. Colour and shape: kind of task. Grey: from each task "
            f"to the nearest one by cosine distance in all {view.width} dimensions.",
            *spread(view),
            f"Embeddings drawn: {view.done}/{view.cells}.",
        ]
    )


def spread(view: EmbeddingsView) -> list[str]:
    """How near tasks of one kind are beside tasks of two, and what chance gives."""
    within, pairs = view.mean_distance(within=True)
    between, others = view.mean_distance(within=False)
    if within is None or between is None:
        return []
    return [
        f"Mean cosine distance of two tasks of one kind {within:.2f} "
        f"({counted(pairs, 'pair')}), of two kinds {between:.2f} ({counted(others, 'pair')}); at "
        f"the start, where embeddings are drawn from N(0, 1), 1 with a standard deviation of "
        f"{view.width**-0.5:.2f} a pair."
    ]


def notes(view: EmbeddingsView) -> list[str]:
    """What is missing, who is nearest to whom, and what holds for the figure at every scale."""
    found: list[str] = []
    if view.absent:
        found.append(f"Not drawn: {view.absent.removesuffix('.')}.{_command(view)}")
    else:
        found += [
            f"{TITLES[one.name]}: not drawn, {one.absent}." for one in view.maps if one.absent
        ]
    found += nearest(view)
    if view.collapsed:
        found.append(
            "The run gives a constant answer on every task: its embeddings may mean nothing."
        )
    if view.request.seeds > 1:
        found.append("Of several seeds the first one is drawn.")
    return found + list(view.figure.notes)


def _command(view: EmbeddingsView) -> str:
    """What trains the run, where it never ran."""
    return f" It is trained by: {command_line(view.request)}" if view.absent == NOT_RUN else ""


def nearest(view: EmbeddingsView) -> list[str]:
    """Nearest to each: CoLA: RTE (0.71); ..."""
    said = [
        f"{named(task)}: {named(other)} ({view.distances[task, other]:.2f})"
        for task in view.tasks
        if (other := view.nearest(task)) is not None
    ]
    return [f"Nearest to each task, with the cosine distance: {'; '.join(said)}."] if said else []


def alternative(view: EmbeddingsView) -> str:
    """What stands in the picture, for who cannot see it."""
    said = " ".join(f"{TITLES[one.name]}: {_said(one)}." for one in view.maps)
    return f"Two maps of task embeddings, {stamp(view)}. {said}"


def _said(one: Map) -> str:
    if one.absent:
        return f"not drawn ({one.absent})"
    places = "; ".join(f"{named(task)} {x:.2f}, {y:.2f}" for task, (x, y) in one.points.items())
    return f"{', '.join(axis_labels(one))}: {places}"


def csv_text(view: EmbeddingsView) -> str:
    """Coordinates, a line a task and map (`part`: pca, tsne); then distances, a line a pair."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    lead = view.lead
    head = [view.figure.id, view.request.scale, model(view), lead.backbone.name, lead.seed]
    for one in view.maps:
        shares = one.shares[:2] or ("", "")
        for task, place in one.points.items():
            of = [one.name, task, view.figure.kind_of(task)]
            writer.writerow([*head, *of, *place, *shares, "", "", ""])
    for (task, other), far in view.distances.items():
        of = ["distance", task, view.figure.kind_of(task), "", "", "", ""]
        writer.writerow([*head, *of, other, far, other == view.nearest(task)])
    return out.getvalue()


def as_json(view: EmbeddingsView) -> dict[str, Any]:
    """What `figure --json` says of it, but for the files; docs/json.md describes it."""
    return {
        "id": view.figure.id,
        "scale": view.request.scale,
        "method": view.figure.method(view.request),
        "encoder": view.lead.backbone.name,
        "seed": view.lead.seed,
        "dimensions": view.width,
        "caption": caption(view),
        "panels": [_map_json(view, one) for one in view.maps],
        "distances": [
            {
                "task": task,
                "kind": view.figure.kind_of(task),
                "nearest": view.nearest(task),
                "to": [
                    {"task": other, "cosine": far}
                    for (one, other), far in view.distances.items()
                    if one == task
                ],
            }
            for task in view.tasks
            if view.distances
        ],
        "mean_distance": {
            "within_kinds": _four(view.mean_distance(within=True)[0]),
            "between_kinds": _four(view.mean_distance(within=False)[0]),
        },
        "published": None,
        "complete": f"{view.done}/{view.cells}",
        "runs": list(view.runs),
        "notes": notes(view),
    }


def _map_json(view: EmbeddingsView, one: Map) -> dict[str, Any]:
    return {
        "name": one.name,
        "title": TITLES[one.name],
        "absent": one.absent or None,
        "perplexity": PERPLEXITY if one.name == "tsne" else None,
        "variance_shares": list(one.shares),
        "points": [
            {"task": task, "kind": view.figure.kind_of(task), "x": x, "y": y}
            for task, (x, y) in one.points.items()
        ],
    }


def _four(value: float | None) -> float | None:
    return None if value is None else round(value, 4)
