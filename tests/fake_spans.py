"""Trained and ablated runs that no training made, for tests of the heat map."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fake_contents import environment
from request_samples import made

from repro.papers.request import Request
from repro.papers.three_shared.tables import ABLATION
from repro.spec import Backbone, RunSpec, run_key
from repro.spec.backbones import bert
from repro.spec.glue import GLUE
from repro.spec.spans import INTACT, Span, all_spans, span_group
from repro.spec.tasks import GlueName
from repro.store import Result, Score, Store, render

FIGURE = ABLATION
Value = Callable[[int, str, Span | None], float]
"""(seed, metric, span; None: intact) -> score in percent."""


def encoder(layers: int) -> Backbone:
    """Made up, but for its depth."""
    return bert("made-up", f"Made-up-L{layers}", "1", layers=layers, hidden=384)


def request(layers: int = 3, task: GlueName | None = None, **asked: Any) -> Request:
    """A request as the command line makes it, without looking for data."""
    fields: dict[str, Any] = {
        "id": FIGURE.id,
        "scale": "smoke",
        "seeds": 1,
        "backbone": encoder(layers),
        "tasks": None if task is None else (task,),
    }
    return made(**(fields | asked))


def by_place(seed: int, metric: str, span: Span | None) -> float:
    """Intact 60 in Matthews and 80 in accuracy; a span loses 1 + first + 10 x last, half of it in
    accuracy, and seed 1 twice as much.
    """
    intact = {"matthews": 60.0, "accuracy": 80.0, "majority_share": 70.0}[metric]
    if span is None or metric == "majority_share":
        return intact
    lost = (1 + span[0] + 10 * span[1]) * (1 + seed)
    return intact - (lost if metric == "matthews" else lost / 2)


def store_chain(store: Store, asked: Request, seed: int = 0, value: Value = by_place) -> str:
    """Stores a seed's trained run, then the one that switches its adapters off; returns its key."""
    trained, ablated = [*FIGURE.matrix(asked).runs.values()][2 * seed : 2 * seed + 2]
    digest = _store(store, trained, [_score(trained, "accuracy", "ALL", 81.0)], {})
    name = GLUE[FIGURE.task(asked)]
    groups: dict[str, Span | None] = {INTACT: None}
    groups |= {span_group(span): span for span in all_spans(trained.backbone.layers)}
    scores = [
        _score(ablated, metric, group, value(seed, metric, span))
        for group, span in groups.items()
        for metric in (*name.metrics, "majority_share")
    ]
    _store(store, ablated, scores, {"trained": digest})
    return run_key(ablated)


def _score(spec: RunSpec, metric: str, group: str, value: float) -> Score:
    task: Any = spec.task.name
    return Score(
        task=task,
        split=GLUE[task].evaluation[0],
        protocol="glue",
        epoch=2,
        metric=metric,
        group=group,
        value=value,
        n=50,
    )


def _store(store: Store, spec: RunSpec, scores: list[Score], parents: dict[str, str]) -> str:
    key = run_key(spec)
    result = Result(
        key=key, parameters_trained=1, parameters_total=2, parents=parents, scores=scores
    )
    store.write(key, spec, {"result.json": render(result), "environment.json": environment(spec)})
    found = store.read(key)
    assert found is not None
    return found.digest
