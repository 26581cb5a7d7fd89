"""Runs on tasks of sentences that no training made, stored as a worker stores them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fake_contents import environment
from request_samples import made

from repro.methods.adaptable_adapters import AdaptableAdapters, LastLayers
from repro.papers.registry import TABLES
from repro.papers.request import Request
from repro.spec import GlueTask, RunSpec, Scale, run_key
from repro.spec.facts import SENTENCES
from repro.spec.glue import GLUE
from repro.spec.tasks import SentenceTask
from repro.spec.texts import TEXTS
from repro.store import Result, Score, Store, render
from repro.store.result import Activation

REVISIONS = dict.fromkeys((*GLUE, *TEXTS), "made by hand")
Value = Callable[[RunSpec, int, str, str], float | None]
"""(run, epoch, split, metric) -> score in percent; None: undefined."""


def request(table: str = "3-shared-2", scale: Scale = "smoke", **asked: Any) -> Request:
    """A request as the command line makes it, without looking for data."""
    fields: dict[str, Any] = {"id": table, "scale": scale, "seeds": 1}
    revisions = {} if scale == "paper" else {"data_revisions": REVISIONS}
    return made(**(fields | revisions | asked))


def by_task(spec: RunSpec, epoch: int, split: str, metric: str) -> float:
    """50 + task's place + 10 x seed + epoch / 100, half a point more on mismatched rows."""
    place = list(SENTENCES).index(task_of(spec).name)
    return 50 + place + 10 * spec.seed + epoch / 100 + 0.5 * ("mismatched" in split)


def task_of(spec: RunSpec) -> SentenceTask:
    """Its task, which is one of sentences."""
    assert isinstance(spec.task, SentenceTask)
    return spec.task


def metrics_of(task: SentenceTask) -> tuple[str, ...]:
    """The task's own, and the mean of two where rows are set aside for development."""
    own = SENTENCES[task.name].metrics
    divided = isinstance(task, GlueTask) and task.development is not None
    return (*own, "combined") if divided and len(own) == 2 else own


def epochs_of(spec: RunSpec) -> range:
    """All of them; of a run that only scores another, the one whose weights that one kept."""
    return range(1, 2 if isinstance(spec.method, LastLayers) else spec.recipe.epochs + 1)


def layers_of(spec: RunSpec) -> list[int] | None:
    """Layers in use: those of the method, or some drawn from the run's key."""
    method, depth = spec.method, spec.backbone.layers
    if isinstance(method, AdaptableAdapters) and method.switch == "none":
        return list(method.adapted_layers(depth))
    if isinstance(method, AdaptableAdapters):
        bits = int(run_key(spec)[:8], 16)
        return [layer for layer in range(depth) if bits >> layer & 1]
    if isinstance(method, LastLayers):
        kept = depth // 2 if method.kept == "selected" else method.kept
        return list(range(depth - kept, depth))
    return None


def activations_of(spec: RunSpec) -> dict[str, Activation] | None:
    """Layer -> the line x / 2 + layer, met from -1 - seed to 1 + layer."""
    method = spec.method
    if not isinstance(method, AdaptableAdapters) or method.activation != "rational":
        return None
    return {
        str(layer): Activation(
            form=method.form,
            numerator=[float(layer), 0.5, 0.0, 0.0, 0.0, 0.0],
            denominator=[0.0, 0.0, 0.0, 0.0],
            low=-1.0 - spec.seed,
            high=1.0 + layer,
        )
        for layer in method.adapted_layers(spec.backbone.layers)
    }


def store_run(
    store: Store,
    spec: RunSpec,
    value: Value = by_task,
    *,
    collapsed: bool = False,
    kept: int | None = None,
) -> str:
    """Stores a finished run; returns its key."""
    key, task = run_key(spec), task_of(spec)
    found = [
        (epoch, split, metric, value(spec, epoch, split, metric))
        for epoch in epochs_of(spec)
        for split in SENTENCES[task.name].evaluation
        for metric in metrics_of(task)
    ]
    used = layers_of(spec)
    parents = {role: run for role, parent in spec.parents.items() if (run := store.read(parent))}
    scores = [
        Score(
            task=task.name,
            split=split,
            protocol=task.protocol,
            epoch=epoch,
            metric=metric,
            group="ALL",
            value=number,
            n=12,
        )
        for epoch, split, metric, number in found
        if number is not None
    ]
    result = Result(
        key=key,
        parameters_trained=spec.trained_parameters(),
        parameters_total=spec.total_parameters(),
        collapsed=collapsed,
        selected_epoch=kept,
        parents={role: parent.digest for role, parent in parents.items()},
        layers=used,
        activations=activations_of(spec),
        scores=scores,
    )
    files = {"result.json": render(result), "environment.json": environment(spec)}
    store.write(key, spec, dict(files))
    return key


def store_table(store: Store, asked: Request, value: Value = by_task) -> list[RunSpec]:
    """Stores every run behind a request; returns them."""
    specs = [*TABLES[asked.id].matrix(asked).runs.values()]
    for spec in specs:
        store_run(store, spec, value)
    return specs
