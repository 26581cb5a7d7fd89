"""Runs on tasks as texts that no training made, stored as a worker stores them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fake_contents import environment
from request_samples import made

from repro.papers.hyperformer.tables import PRINTED
from repro.papers.registry import ARTEFACTS
from repro.papers.request import Request
from repro.spec import RunSpec, Scale, TextToText, run_key
from repro.spec.contents import Contents
from repro.spec.text_to_text import FEW_SHOT, TEXT_TO_TEXT
from repro.store import Result, Score, Store, render

REVISIONS: dict[str, str | None] = dict.fromkeys((*PRINTED, *FEW_SHOT), "made by hand")
Value = Callable[[RunSpec, str, str], float]
"""(run, task, metric) -> score in percent, of test rows."""


def request(table: str = "Hyperformer-1", scale: Scale = "paper", **asked: Any) -> Request:
    """A request as the command line makes it, without looking for data."""
    fields: dict[str, Any] = {"id": table, "scale": scale, "seeds": 1}
    revisions = {} if scale == "paper" else {"data_revisions": REVISIONS}
    return made(**(fields | revisions | asked))


def store_run(
    store: Store,
    spec: RunSpec,
    value: Value,
    *,
    collapsed: bool = False,
    read: Contents | None = None,
) -> str:
    """Stores a finished run that kept its second look; returns its key."""
    key, task = run_key(spec), spec.task
    assert isinstance(task, TextToText)
    scores = [
        Score(
            task=name,
            split=split,
            protocol="text-to-text",
            epoch=2,
            metric=metric,
            group="ALL",
            value=value(spec, name, metric) if split == "test" else 1.0,
            n=12,
        )
        for name in task.tasks
        for metric in TEXT_TO_TEXT[name].metrics
        for split in ("validation", "test")
    ]
    parents = {role: run for role, parent in spec.parents.items() if (run := store.read(parent))}
    result = Result(
        key=key,
        parameters_trained=spec.trained_parameters(),
        parameters_total=spec.total_parameters(),
        collapsed=collapsed,
        selected_epoch=2,
        parents={role: parent.digest for role, parent in parents.items()},
        scores=scores,
    )
    store.write(
        key,
        spec,
        {"result.json": render(result), "environment.json": environment(spec, read)},
    )
    return key


def store_all(store: Store, asked: Request, value: Value) -> list[RunSpec]:
    """Stores every run behind a request; returns them."""
    specs = [*ARTEFACTS[asked.id].matrix(asked).runs.values()]
    for spec in specs:
        store_run(store, spec, value)
    return specs
