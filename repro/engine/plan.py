"""Which runs a request needs, which of them the store holds, and what the rest will cost."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from repro.engine.cost import Estimate, Speed, estimate_all
from repro.engine.jobs import Job, group_runs, in_order, needed_weights, unfinished_jobs
from repro.papers.registry import ARTEFACTS
from repro.papers.tables import Request
from repro.spec import RunSpec, run_key
from repro.store.blocked import blocker
from repro.store.result import Failure
from repro.store.store import State, Store

RunState = State | Literal["blocked"]
"""Blocked: a run that it is made from failed."""


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """One run of a plan and how it stands. `tables` are all that need it."""

    key: str
    spec: RunSpec
    state: RunState
    tables: tuple[str, ...]
    failure: Failure | None = None
    blocked: str | None = None
    """Which parent failed, and why, in a clause."""

    @property
    def reason(self) -> str | None:
        """Why it failed or is blocked."""
        return self.failure.message if self.failure is not None else self.blocked


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
        return estimate_all(self.jobs, self.speed)


def make_plan(
    requests: Iterable[Request], store: Store, speed: Speed, *, retry_failed: bool = True
) -> Plan:
    """The plan for `requests`; a run that several tables need stands in it once.

    A run whose loss diverged would diverge again: it and what is made from it are planned anew only
    with `retry_failed`. Any executor may take the jobs as they come: parents are first.
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
    runs = tuple(_blocked(run, store, specs) for run in _with_weights(runs, store))
    barred = set() if retry_failed else _barred(runs)
    wanted = [run.spec for run in runs if run.state != "done" and run.key not in barred]
    return Plan(runs, tuple(jobs_for(wanted, store)), speed)


def _planned(key: str, spec: RunSpec, tables: list[str], store: Store) -> PlannedRun:
    state = store.state(key)
    # A process killed right after it stored a result leaves the old failure beside it.
    failure = store.failure(key) if state == "failed" else None
    return PlannedRun(key, spec, state, tuple(tables), failure)


def _with_weights(runs: tuple[PlannedRun, ...], store: Store) -> tuple[PlannedRun, ...]:
    """A run whose weights a missing one needs is missing, too, where only its scores are stored."""
    needed = needed_weights(run.spec for run in runs if run.state != "done")
    lost = {
        run.key
        for run in runs
        if run.key in needed and run.state == "done" and not store.is_whole(run.key, weights=True)
    }
    if not lost:
        return runs
    found = (replace(run, state="missing") if run.key in lost else run for run in runs)
    return _with_weights(tuple(found), store)  # they may need others themselves


def _blocked(run: PlannedRun, store: Store, specs: dict[str, RunSpec]) -> PlannedRun:
    """The run as it stands where a parent failed; what it says of itself is of less use then."""
    if run.state in ("done", "running"):
        return run
    why = blocker(run.spec, store, specs)
    return run if why is None else replace(run, state="blocked", failure=None, blocked=why)


def _barred(runs: Iterable[PlannedRun]) -> set[str]:
    """The keys of diverged runs, and of all that are made from them."""
    by_key = {run.key: run for run in runs}
    barred: dict[str, bool] = {}

    def is_barred(run: PlannedRun) -> bool:
        if run.key not in barred:
            diverged = run.failure is not None and run.failure.kind == "diverged"
            parents = [by_key[key] for key in run.spec.parents.values() if key in by_key]
            barred[run.key] = run.state != "done" and (diverged or any(map(is_barred, parents)))
        return barred[run.key]

    return {key for key, run in by_key.items() if is_barred(run)}


def jobs_for(wanted: list[RunSpec], store: Store) -> list[Job]:
    """Jobs for these runs, parents first; unfinished ones that hold some of them, as they were."""
    keys = {run_key(spec) for spec in wanted}
    resumed = [job for job in unfinished_jobs(store) if keys & set(job.keys)]
    held = {key for job in resumed for key in job.keys}
    return in_order(resumed + group_runs([spec for spec in wanted if run_key(spec) not in held]))
