"""Which runs a request needs, which of them the store holds, and what the rest will cost."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from repro.engine.cost import Estimate, Speed, estimate
from repro.engine.jobs import Job, group_runs, unfinished_jobs
from repro.papers.registry import ARTEFACTS
from repro.papers.tables import Request
from repro.spec import RunSpec, run_key
from repro.store.result import Failure
from repro.store.store import State, Store


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """One run of a plan and how it stands. `tables` are all that need it."""

    key: str
    spec: RunSpec
    state: State
    tables: tuple[str, ...]
    failure: Failure | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """Runs in the order in which they are wanted, and the jobs that train the missing ones."""

    runs: tuple[PlannedRun, ...]
    jobs: tuple[Job, ...]
    speed: Speed

    @property
    def missing(self) -> list[PlannedRun]:
        """The runs that have no result."""
        return [run for run in self.runs if run.state != "done"]

    def estimate(self) -> Estimate:
        """Of all jobs, one after the other."""
        return sum((estimate(job, self.speed) for job in self.jobs), Estimate(0.0, 0.0))


def make_plan(
    requests: Iterable[Request], store: Store, speed: Speed, *, retry_failed: bool = True
) -> Plan:
    """The plan for `requests`; a run that several tables need stands in it once.

    A run whose loss diverged would diverge again: it is planned anew only with `retry_failed`.
    """
    specs: dict[str, RunSpec] = {}
    tables: dict[str, list[str]] = {}
    for request in requests:
        for spec in ARTEFACTS[request.table].runs(request):
            key = run_key(spec)
            specs.setdefault(key, spec)
            if request.table not in tables.setdefault(key, []):
                tables[key].append(request.table)
    runs = tuple(_planned(key, spec, tables[key], store) for key, spec in specs.items())
    runs = _with_weights(runs, store)
    wanted = [run.spec for run in runs if _wanted(run, retry_failed)]
    return Plan(runs, tuple(jobs_for(wanted, store)), speed)


def _planned(key: str, spec: RunSpec, tables: list[str], store: Store) -> PlannedRun:
    state = store.state(key)
    # A process killed right after it stored a result leaves the old failure beside it.
    failure = store.failure(key) if state == "failed" else None
    return PlannedRun(key, spec, state, tuple(tables), failure)


def _with_weights(runs: tuple[PlannedRun, ...], store: Store) -> tuple[PlannedRun, ...]:
    """A parent of a missing run is missing, too, where only its scores are stored."""
    needed = {key for run in runs if run.state != "done" for key in run.spec.parents.values()}
    return tuple(
        replace(run, state="missing")
        if run.key in needed and run.state == "done" and not store.is_whole(run.key)
        else run
        for run in runs
    )


def jobs_for(wanted: list[RunSpec], store: Store) -> list[Job]:
    """Jobs for these runs: first the unfinished ones that hold some of them, as they were."""
    keys = {run_key(spec) for spec in wanted}
    resumed = [job for job in unfinished_jobs(store) if keys & set(job.keys)]
    held = {key for job in resumed for key in job.keys}
    return resumed + group_runs([spec for spec in wanted if run_key(spec) not in held])


def _wanted(run: PlannedRun, retry_failed: bool) -> bool:
    if run.state == "done":
        return False
    diverged = run.failure is not None and run.failure.kind == "diverged"
    return retry_failed or not diverged
