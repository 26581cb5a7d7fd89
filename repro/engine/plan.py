"""Which runs a request needs, which of them the store holds, and what the rest will cost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from statistics import median
from typing import Any, Literal

from repro.engine.cost import (
    ASSUMED,
    Estimate,
    Range,
    Speed,
    basis,
    estimate_all,
    estimates,
    is_of,
    kind_of,
    modelled,
    stored_speed,
)
from repro.engine.jobs import (
    Execution,
    Job,
    finishing_soonest,
    group_runs,
    in_order,
    keeps_weights,
    make_job,
    needed_weights,
    unfinished_jobs,
)
from repro.papers.matrix import Artefact, Matrix
from repro.papers.registry import ARTEFACTS
from repro.papers.request import Request
from repro.spec import RunSpec, run_key
from repro.store.blocked import blocker, lacking
from repro.store.result import Failure
from repro.store.store import State, Store
from repro.training.environment import cpu_name

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

    def estimate(self, workers: int = 1) -> Estimate:
        """Of all jobs, by so many workers side by side."""
        return estimate_all(self.jobs, self.speed, workers)


def make_plan(
    requests: Iterable[Request],
    store: Store,
    speed: Speed = ASSUMED["cpu"],
    *,
    retry_failed: bool = True,
) -> Plan:
    """The plan for `requests`; a run that several tables need stands in it once. `speed` is for who
    asks what it costs.

    It holds the runs that are wanted, what these lack to be trained, and of the other parents those
    that are stored. A run whose loss diverged would diverge again: it and what is made from it get
    jobs only with `retry_failed`. Any executor may take the jobs as they come: parents are first.
    """
    specs, wanted, tables = runs_of(ARTEFACTS[one.id].matrix(one) for one in requests)
    runs, trained = plan_runs(specs, wanted, tables, store, retry_failed=retry_failed)
    jobs = jobs_for(trained, store)
    costs = estimates(jobs, speed)
    jobs = finishing_soonest(jobs, lambda job: costs[job.id].seconds, tables)
    return Plan(tuple(runs), tuple(jobs), speed)


def runs_of(
    matrices: Iterable[Matrix[Artefact]],
) -> tuple[dict[str, RunSpec], set[str], dict[str, list[str]]]:
    """All runs of these by key, the keys of those that are wanted, and which tables need each."""
    specs: dict[str, RunSpec] = {}
    tables: dict[str, list[str]] = {}
    wanted: set[str] = set()
    for matrix in matrices:
        wanted.update(matrix.wanted)
        for key, spec in matrix.runs.items():
            specs.setdefault(key, spec)
            if matrix.request.id not in tables.setdefault(key, []):
                tables[key].append(matrix.request.id)
    return specs, wanted, tables


def with_times(
    plan: Plan, store: Store, device: str, *, card: str | None = None, tf32: bool = False
) -> Plan:
    """The plan with all that is known here of its cost: rehearsals, its own stored runs, and the
    model's measured speed. `device`: cpu or cuda; `card`: see `stored_speed`.
    """
    plan = replace(plan, speed=stored_speed(store.root, device, card, tf32=tf32))
    return replace(plan, speed=replace(plan.speed, stored=_times(plan, store, device, card)))


def _times(plan: Plan, store: Store, device: str, card: str | None) -> dict[str, Range]:
    """Kind of a job to be trained -> how many times the model's seconds its stored runs took here.

    Runs of one kind lay within a quarter of each other on one machine, that did other things, too.
    """
    wanted = {kind_of(job) for job in plan.jobs if basis(job, plan.speed) == "model"}
    specs = {run.key: run.spec for run in plan.runs if run.state == "done"}
    found: dict[str, list[float]] = {}
    seen: set[str] = set()
    for key in specs if wanted else ():
        run = store.read(key) if key not in seen else None
        machine = run.environment() if run is not None else {}
        members = [member for member in machine.get("members", ()) if member in specs]
        seen.update(members)
        whole = members and len(members) == len(machine["members"])
        if not whole or not _was_here(machine, device, card):
            continue
        job = make_job([specs[member] for member in members])
        predicted = modelled(job, plan.speed)
        if kind_of(job) in wanted and predicted > 0:
            found.setdefault(kind_of(job), []).append(float(machine["seconds"]) / predicted)
    return {
        kind: Range(median(times), 0.8 * min(times), 1.25 * max(times))
        for kind, times in found.items()
    }


def _was_here(machine: Mapping[str, Any], device: str, card: str | None) -> bool:
    """Whether a run was trained from start to end on a machine like this one, or on that card."""
    if machine.get("device") != device or machine.get("resumes"):
        return False
    if device == "cuda":
        return is_of(card, str(machine.get("gpu")))
    return card is None and machine.get("cpu") == cpu_name()


def plan_runs(
    specs: Mapping[str, RunSpec],
    wanted: Set[str],
    tables: Mapping[str, Sequence[str]],
    store: Store,
    *,
    retry_failed: bool,
) -> tuple[list[PlannedRun], list[RunSpec]]:
    """The runs of a plan, and those of them to train.

    `specs` (key -> run) are the `wanted` runs and all that they are made from. A run is to be
    trained only if it is wanted and has no result, or if a run to be trained lacks it: a parent
    whose children are all stored is not trained again.
    """
    store.fetch(specs)
    states = {key: store.state(key, spec) for key, spec in specs.items()}
    open_ = [key for key in specs if key in wanted and states[key] != "done"]
    needed = _with_parents(open_, specs, store)
    for key in needed:
        if states[key] == "done":  # its scores are stored, but not the weights that a child needs
            states[key] = "missing"
    runs = [
        planned(key, spec, states[key], tables.get(key, ()), store, specs)
        for key, spec in specs.items()
        if key in wanted or key in needed or states[key] == "done"
    ]
    barred = set() if retry_failed else _barred(runs, store)
    left = [key for key in open_ if key not in barred]
    trained = needed if left == open_ else _with_parents(left, specs, store)
    return runs, [spec for key, spec in specs.items() if key in trained]


def _with_parents(keys: Iterable[str], specs: Mapping[str, RunSpec], store: Store) -> set[str]:
    """These runs and what they lack to be trained, their parents' parents included."""
    found: set[str] = set()
    waiting = list(keys)
    while waiting:
        key = waiting.pop()
        if key in specs and key not in found:
            found.add(key)
            waiting += lacking(specs[key], store)
    return found


def planned(
    key: str,
    spec: RunSpec,
    state: State,
    tables: Sequence[str],
    store: Store,
    specs: Mapping[str, RunSpec],
) -> PlannedRun:
    """A run that waits for a failed parent is blocked, whatever it says of itself."""
    why = blocker(spec, store, specs) if state in ("missing", "failed") else None
    if why is not None:
        return PlannedRun(key, spec, "blocked", tuple(tables), blocked=why)
    # A process killed right after it stored a result leaves the old failure beside it.
    failure = store.failure(key) if state == "failed" else None
    return PlannedRun(key, spec, state, tuple(tables), failure)


def _barred(runs: Iterable[PlannedRun], store: Store) -> set[str]:
    """The keys of diverged runs, and of all that are made from them."""
    by_key = {run.key: run for run in runs}
    barred: dict[str, bool] = {}

    def is_barred(run: PlannedRun) -> bool:
        if run.key not in barred:
            failure = store.failure(run.key)
            diverged = failure is not None and failure.kind == "diverged"
            parents = [by_key[key] for key in run.spec.parents.values() if key in by_key]
            barred[run.key] = run.state != "done" and (diverged or any(map(is_barred, parents)))
        return barred[run.key]

    return {key for key, run in by_key.items() if is_barred(run)}


def jobs_for(wanted: list[RunSpec], store: Store) -> list[Job]:
    """Jobs for these runs, parents first; unfinished ones that hold some of them, as they were."""
    keyed = [(run_key(spec), spec) for spec in wanted]
    keys = {key for key, _ in keyed}
    resumed = [job for job in unfinished_jobs(store) if keys & set(job.keys)]
    held = {key for job in resumed for key in job.keys}
    grouped = group_runs([spec for key, spec in keyed if key not in held])
    return in_order(resumed + grouped) if resumed else grouped


def disk_needed(plan: Plan, execution: Execution | None = None, workers: int = 1) -> int:
    """Bytes that training may write at most: what the runs keep, and what the jobs that run at once
    need until they end.

    A run keeps its trained weights in fp32, if any, and about a megabyte of predictions and
    history. A job that runs has a checkpoint (values and two moments) beside the one that it
    replaces, and weights of the best epoch beside those that they replace.
    """
    how = execution or Execution()
    specs = {key: spec for job in plan.jobs for key, spec in zip(job.keys, job.specs, strict=True)}
    needed = needed_weights(specs.values())
    sizes = {key: spec.trained_parameters() for key, spec in specs.items()}
    kept = [key for key, spec in specs.items() if keeps_weights(spec, how) or key in needed]
    at_once = sorted(sum(sizes[key] for key in job.keys) for job in plan.jobs)[-workers:]
    written = 1_000_000 * len(specs) + 4 * sum(sizes[key] for key in kept)
    return 100_000_000 + written + (2 * 12 + 2 * 4) * sum(at_once)
