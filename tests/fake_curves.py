"""Runs behind figures of curves that no training made."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from fake_contents import environment
from request_samples import made

from repro.papers.curves import Curves, Point
from repro.papers.houlsby.figures import CURVES
from repro.papers.request import Request
from repro.spec import RunSpec, Scale, run_key
from repro.store import Result, Score, Store, render

BY_ID = {figure.id: figure for figure in CURVES}
GLUE, EXTRA, SQUAD, INIT = (
    BY_ID[name] for name in ("tradeoff-glue", "tradeoff-extra", "tradeoff-squad", "init-robustness")
)
Value = Callable[[Point, str, int], float | None]
"""(point, task, seed) -> score in percent; None: the run has none."""


def request(figure: Curves, scale: Scale = "smoke", **asked: Any) -> Request:
    """A request as the command line makes it, without looking for data."""
    fields: dict[str, Any] = {"id": figure.id, "scale": scale, "seeds": 1}
    return made(**(fields | asked))


def store_curve_run(
    store: Store,
    figure: Curves,
    asked: Request,
    spec: RunSpec,
    value: float | None,
    *,
    collapsed: bool = False,
) -> str:
    """Stores a finished run with one score, that of its last epoch; returns its key."""
    key, task = run_key(spec), spec.task.name
    scored = figure.scored(task, asked)
    score = Score(
        task=task,
        split=scored.split,
        protocol=scored.protocol,
        epoch=spec.recipe.epochs,
        metric=scored.metric,
        group=scored.group,
        value=value or 0.0,
        n=12,
    )
    result = Result(
        key=key,
        parameters_trained=spec.trained_parameters(),
        parameters_total=spec.total_parameters(),
        collapsed=collapsed,
        scores=[score] if value is not None else [],
    )
    store.write(key, spec, {"result.json": render(result), "environment.json": environment(spec)})
    return key


def store_curves(
    store: Store,
    figure: Curves,
    asked: Request,
    value: Value,
    *,
    without: Iterable[tuple[str, str]] = (),
    collapsed: Iterable[tuple[str, str]] = (),
) -> None:
    """Stores every run of a request; `without` and `collapsed` name points and tasks."""
    for task in figure.available(asked):
        for point in figure.points(asked):
            if (point.name, task) in without:
                continue
            for seed, spec in enumerate(figure.matrix(asked).of(point.name, task)):
                constant = (point.name, task) in collapsed
                number = value(point, task, seed)
                store_curve_run(store, figure, asked, spec, number, collapsed=constant)
