"""Results that no training made, stored as a worker stores them, for tests of what reads them."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from fake_contents import environment
from request_samples import made

from repro.papers.registry import TABLES
from repro.papers.request import Request
from repro.spec import RunSpec, Scale, run_key
from repro.spec.contents import Contents
from repro.store import Result, Score, Store, render

PROTOCOL = "legacy/argmax-pair"
SPLITS = {"smoke": "generated", "reduced": "cs224n", "paper": "cs224n"}
GROUPS = ("ALL", "NoAns", "HasAns")

Value = Callable[[RunSpec, int, str, str], float]
"""(run, epoch, metric, group) -> score."""


def by_epoch(spec: RunSpec, epoch: int, metric: str, group: str) -> float:
    """10 x epoch + seed, one more for F1, a different hundredth a group."""
    return 10 * epoch + spec.seed + (metric == "f1") + GROUPS.index(group) / 100


def request(table: str = "ResAdapters-1", scale: Scale = "smoke", **asked: object) -> Request:
    """A request as the command line makes it, without looking for data."""
    revisions = {} if scale == "paper" else {"squad2": "made by hand"}
    fields = {"id": table, "scale": scale, "seeds": 1, "data_revisions": revisions}
    return made(**(fields | asked))


def runs_of(asked: Request) -> list[RunSpec]:
    """The runs behind a request."""
    return [*TABLES[asked.id].matrix(asked).runs.values()]


def store_result(
    store: Store,
    spec: RunSpec,
    value: Value = by_epoch,
    *,
    collapsed: bool | None = False,
    groups: Iterable[str] = GROUPS,
    span_f1: float | None = None,
    seconds: float = 12.0,
    members: Iterable[str] | None = None,
    read: Contents | None = None,
    history: bytes = b'{"epoch":1,"step":1,"loss":2.5}\n',
) -> str:
    """Stores a finished run; returns its key."""
    key = run_key(spec)
    split = SPLITS[spec.scale]

    def score(epoch: int, protocol: str, metric: str, group: str, number: float) -> Score:
        return Score(
            task="squad2",
            split=split,
            protocol=protocol,
            epoch=epoch,
            metric=metric,
            group=group,
            value=number,
            n=12,
        )

    epochs = range(1, spec.recipe.epochs + 1)
    scores = [
        score(epoch, PROTOCOL, metric, group, value(spec, epoch, metric, group))
        for epoch in epochs
        for metric in ("em", "f1")
        for group in groups
    ]
    if span_f1 is not None:
        scores += [
            score(epoch, "legacy/best-span", "span_f1", "HasAns", span_f1) for epoch in epochs
        ]
    result = Result(
        key=key,
        parameters_trained=spec.trained_parameters(),
        parameters_total=spec.total_parameters(),
        collapsed=collapsed,
        scores=scores,
    )
    machine = environment(
        spec,
        read,
        seconds=seconds,
        members=list(members or [key]),
        cpu="a made-up CPU",
        device_name="a made-up CPU, 1 threads",
        resumes=0,
    )
    files = {
        "result.json": render(result),
        "environment.json": machine,
        "history.jsonl": history,
        "predictions.json": b"{}",
    }
    store.write(key, spec, dict(files))
    return key


def store_all(store: Store, asked: Request, value: Value = by_epoch) -> list[str]:
    """Stores every run behind a request; returns their keys."""
    specs = runs_of(asked)
    keys = [run_key(spec) for spec in specs]
    for spec in specs:
        store_result(store, spec, value, members=keys)
    return keys
