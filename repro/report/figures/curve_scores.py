"""What the runs behind the points of a curve have scored, task by task and seed by seed."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import dataclass

from repro.papers.curves import Curves, Point, Scored
from repro.papers.matrix import Matrix
from repro.report.declared import runs_differ
from repro.report.files import command_line
from repro.report.runs_found import Lookup, kept_epoch
from repro.spec import RunSpec
from repro.store.entry import StoredRun

COLLAPSE = "predicts one class"


@dataclass(frozen=True, slots=True)
class Measured:
    """A point on a task: one score a seed where all are there, else why not.

    `differs`: why its runs are not those of the paper's point, "" where they are.
    """

    point: Point
    task: str
    lead: RunSpec
    values: tuple[float, ...]
    reason: str
    collapsed: int
    runs: tuple[str, ...]
    seeds: tuple[int, ...]
    differs: str

    @property
    def mean(self) -> float | None:
        """Over the seeds."""
        return statistics.fmean(self.values) if self.values else None


Cells = Mapping[tuple[Point, str], Measured]
"""(point, task) -> what was measured there."""


def measure(matrix: Matrix[Curves], point: Point, task: str, lookup: Lookup) -> Measured:
    """What the runs behind a point have on a task, and why others are absent."""
    specs, scored = matrix.of(point.name, task), matrix.artefact.scored(task, matrix.request)
    found = lookup.find(specs)
    values, rest = [], []
    for one in found:
        value = None if one.run is None else _score(one.run, task, scored)
        if value is None:
            rest.append(one)
        else:
            values.append(value)
    why = lookup.why(rest, None, COLLAPSE)
    if why == "not run":
        why = f"not run: {command_line(matrix.request)}"
    if values and rest:
        why = f"{len(values)} of {len(found)} seeds; the rest: {why}"
    stored = [one.run for one in found if one.run is not None]
    return Measured(
        point=point,
        task=task,
        lead=specs[0],
        values=() if rest else tuple(values),
        reason=why,
        collapsed=sum(bool(run.result.collapsed) for run in stored),
        runs=tuple(run.key for run in stored),
        seeds=tuple(spec.seed for spec in specs),
        differs=_differs(matrix, point, task, lookup) if stored else "",
    )


def _differs(matrix: Matrix[Curves], point: Point, task: str, lookup: Lookup) -> str:
    """Why the runs of a point are not those that the figure declares for it."""
    if matrix.request.scale == "paper" and not matrix.declared.of(point.name, task):
        return f"{point.name} is no point of the paper's figure"
    return runs_differ(matrix, lookup, (point.name, task))


def _score(run: StoredRun, task: str, scored: Scored) -> float | None:
    """The mean of the metrics; None where one was not scored."""
    epoch, found = kept_epoch(run), []
    for metric in scored.metrics:
        where = scored.split, scored.protocol, metric, scored.group, epoch
        score = run.score(*where, task=task if len(run.tasks) > 1 else None)
        if score is None:
            return None
        found.append(score.value)
    return statistics.fmean(found) + 0.0  # a zero without a sign
