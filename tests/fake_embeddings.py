"""Runs with task embeddings that no training made, stored as a worker stores them."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from request_samples import made

from repro.methods.t5 import HyperFormer
from repro.papers.hyperformer.tables import TASK_EMBEDDINGS
from repro.papers.request import Request
from repro.spec import RunSpec, Scale, TextToText, run_key
from repro.store import Result, Score, Store, render

FIGURE = TASK_EMBEDDINGS
Vectors = dict[str, list[float]]


def request(scale: Scale = "paper", **asked: Any) -> Request:
    """A request as the command line makes it, without looking for data."""
    fields: dict[str, Any] = {"id": FIGURE.id, "scale": scale, "seeds": 1}
    revisions: dict[str, str | None] = dict.fromkeys(FIGURE.tasks, "made by hand")
    return made(**(fields | {"data_revisions": revisions} | asked))


def drawn(spec: RunSpec, likeness: float = 1.0) -> Vectors:
    """Task -> N(0, 1) from a seed, and `likeness` times a vector that its kind shares."""
    assert isinstance(spec.method, HyperFormer)
    assert isinstance(spec.task, TextToText)
    stream, width = np.random.default_rng(7), spec.method.task_embedding
    shared = {kind: stream.normal(size=width) for kind in FIGURE.kinds}
    return {
        task: (stream.normal(size=width) + likeness * shared[FIGURE.kind_of(task)]).tolist()
        for task in spec.task.tasks
    }


def alike(value: float) -> Vectors:
    """Task -> the same vector of 64 equal numbers."""
    return {task: [value] * 64 for task in FIGURE.tasks}


def store_run(
    store: Store, spec: RunSpec, embeddings: Vectors | None, *, collapsed: bool = False
) -> str:
    """Stores a finished run, its parents' results unasked; returns its key."""
    key = run_key(spec)
    parents = {role: run for role, parent in spec.parents.items() if (run := store.read(parent))}
    score = Score(
        task="rte", split="test", protocol="text-to-text", epoch=1, metric="accuracy", group="ALL",
        value=60.0, n=12,
    )  # fmt: skip
    result = Result(
        key=key,
        parameters_trained=1,
        parameters_total=2,
        collapsed=collapsed,
        parents={role: parent.digest for role, parent in parents.items()},
        embeddings=embeddings,
        scores=[score],
    )
    machine = {"seconds": 12.0, "members": [key], "device": "cpu", "device_name": "a made-up CPU"}
    files = {"result.json": render(result), "environment.json": json.dumps(machine).encode()}
    store.write(key, spec, dict(files))
    return key


def store_figure(store: Store, asked: Request, likeness: float = 1.0) -> RunSpec:
    """Stores every run behind the figure; returns the one that is drawn."""
    *parents, spec = [*FIGURE.matrix(asked).runs.values()]
    for parent in parents:
        store_run(store, parent, None)
    store_run(store, spec, drawn(spec, likeness))
    return spec
