"""The runs behind the cells: read once each, and the page of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from repro.comparison.results import HISTORY, history_frame
from repro.errors import ReproError
from repro.report.protocol import values
from repro.report.runs_found import kept_epoch, why_missing
from repro.site import plots
from repro.site.words import run_page
from repro.spec import RunSpec, run_key
from repro.store.entry import StoredRun
from repro.store.result import Failure, Score
from repro.store.store import Store
from repro.words import grouped

MOST_POINTS = 200
"""More losses than this are drawn as means of neighbours."""
SIDE_METRICS = ("majority_share", "null_rate", "threshold")
"""Parts of the names of what is scored beside a metric; not drawn as a learning curve."""


@dataclass(frozen=True, slots=True)
class Use:
    """A place that shows a run: page, anchor on it, title of the page, name of the cell."""

    page: str
    anchor: str
    title: str
    cell: str


class Runs:
    """Reads each run once, and remembers where it is shown."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.used: dict[str, list[Use]] = {}
        self.read = cache(store.read)
        self._why: dict[str, str] = {}

    def why(self, spec: RunSpec) -> str:
        """Why a run is missing."""
        key = run_key(spec)
        if key not in self._why:
            self._why[key] = why_missing(self.store, [spec])
        return self._why[key]

    def failure(self, key: str) -> Failure | None:
        return None if self.read(key) else self.store.failure(key)

    def shown_in(self, key: str, use: Use) -> None:
        """Notes that a cell shows this run."""
        known = self.used.setdefault(key, [])
        if use not in known:
            known.append(use)

    def pages(self) -> dict[str, tuple[str, Mapping[str, Any]]]:
        """Path -> template and what it is filled with, for every run that was shown."""
        found: dict[str, tuple[str, Mapping[str, Any]]] = {}
        for key, uses in sorted(self.used.items()):
            run, failure = self.read(key), self.failure(key)
            if run is not None:
                found[run_page(key)] = "run.html", stored_page(run, uses)
            elif failure is not None:
                found[run_page(key)] = "failed.html", {"failure": failure, "uses": uses}
        return found


def stored_page(run: StoredRun, uses: Sequence[Use]) -> dict[str, Any]:
    """What the page of a finished run shows."""
    losses, told = _losses(run)
    machine = run.environment()
    return {
        "run": run,
        "kept": kept_epoch(run),
        "epochs": sorted({score.epoch for score in run.result.scores}),
        "scores": _pivot(run.result.scores),
        "charts": _charts(run.result.scores),
        "losses": losses,
        "losses_told": told,
        "setting": values(run.spec),
        "together": len(machine.get("members", [])),
        "environment": [(k, plain(v)) for k, v in sorted(machine.items()) if k != "members"],
        "uses": uses,
    }


def plain(value: Any) -> str:
    """A value of a JSON document in words: a large count has its thousands marked."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int) and abs(value) >= 10_000:
        return f"{value:,}"
    return f"{value:g}" if isinstance(value, float) else str(value)


def by_epoch(run: StoredRun, where: tuple[str, str, str, str]) -> list[float]:
    """The score at (split, protocol, metric, group) after each scored epoch."""
    found = [
        (score.epoch, score.value)
        for score in run.result.scores
        if (score.split, score.protocol, score.metric, score.group) == where
    ]
    return [value for _, value in sorted(found)]


def _pivot(scores: Sequence[Score]) -> list[dict[str, Any]]:
    """One line a metric, its value by epoch."""
    lines = grouped(((x.task, x.split, x.protocol, x.metric, x.group), x) for x in scores)
    return [
        {"name": name, "n": own[0].n, "values": {x.epoch: f"{x.value:,.2f}" for x in own}}
        for name, own in sorted(lines.items(), key=lambda line: line[0])
    ]


def _charts(scores: Sequence[Score]) -> list[tuple[str, plots.Curves]]:
    """Title and learning curves of each split and protocol that was scored more than once."""
    main = [
        one
        for one in scores
        if not one.metric.startswith("best_") and not any(p in one.metric for p in SIDE_METRICS)
    ]
    drawn = []
    titled = grouped((f"{one.task}, {one.split}, {one.protocol}", one) for one in main)
    for title, own in titled.items():
        named = ((f"{x.metric} {x.group}".removesuffix(" ALL").strip(), x) for x in own)
        series = grouped((name, (float(x.epoch), x.value)) for name, x in named)
        chart = plots.curves({name: sorted(v) for name, v in series.items()}, "epoch", "score")
        drawn += [(title, chart)] if chart is not None else []
    return drawn


def _losses(run: StoredRun) -> tuple[plots.Curves | None, str]:
    """The training losses by step, and what is to be said of them."""
    if HISTORY not in run.files:
        return None, "This store holds no losses of the run: only scores were copied here."
    try:
        losses = history_frame(run)[["step", "loss"]].dropna().astype(float)
    except ReproError:
        return None, "The history of the run's losses cannot be read."
    size = -(-len(losses) // MOST_POINTS) or 1
    parts = losses.groupby([place // size for place in range(len(losses))])
    drawn = list(zip(parts["step"].last(), parts["loss"].mean(), strict=True))
    chart = plots.curves({"loss": drawn}, "step", "training loss", dots=False, least=0.1)
    if chart is None:
        return None, "The run has fewer than two steps."
    return chart, f"Each point is the mean of {size} steps." if size > 1 else "Every step."
