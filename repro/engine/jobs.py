"""A job: runs that share one backbone pass, trained in one process.

A job's members and their order are written before its first step. A job that was cut short keeps
them, finished ones included, so that it continues bit for bit.
"""

from __future__ import annotations

import hashlib
import heapq
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter
from operator import attrgetter
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from repro.spec import RunSpec, canonical_json, run_key
from repro.spec.identity import identity_json
from repro.spec.types import WITH_WEIGHTS
from repro.store.atomic import write_text
from repro.store.entry import read_document
from repro.store.store import Store

FILE = "job.json"
SHARED = ("epochs", "batch_size", "padding", "order", "precision", "keep")
"""Recipe fields that the members of a job have in common: they take steps together."""
OF_RECIPE = attrgetter(*SHARED)
MOST_RUNS, MOST_JOINED = 12, 4
"""Inside the encoder: runs of one method in a job, and runs of several methods.

What a job has trained is stored at its end, and on a GPU only runs of one method are stacked; but a
job's start costs seconds, so few runs are joined.
"""


class Rehearsal(BaseModel):
    """A run of few steps on a made-up model and inputs; see `repro.engine.made_up`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    steps: int
    longest: bool
    smaller: bool
    kernels: bool = False


class Execution(BaseModel):
    """How a job is executed on this machine. No run's identity depends on it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    device: str = "auto"
    threads: int | None = None
    deterministic: bool = False
    tf32: bool = False
    keep_weights: bool = False
    micro_batch: int | None = None
    compiled: bool = False
    checkpoint_seconds: float = 60.0
    checkpoint_steps: int | None = None
    folders: dict[str, str] = {}
    rehearsal: Rehearsal | None = None


class JobFile(BaseModel):
    """What `job.json` holds."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    specs: list[RunSpec]
    execution: Execution
    code: str = ""
    """Digest of the program that planned it; a worker that is another one does not train it."""


@dataclass(frozen=True, slots=True)
class Job:
    """`id` names the work folder; `specs` are the members in their order, `keys` their run keys.
    `parents` are the keys of the runs that must be stored before it starts; none is a member.
    """

    id: str
    specs: tuple[RunSpec, ...]
    keys: tuple[str, ...]
    parents: frozenset[str]

    @property
    def lead(self) -> RunSpec:
        """Any member, for what all share."""
        return self.specs[0]


def make_job(specs: list[RunSpec]) -> Job:
    """The job of these members in this order."""
    keys = tuple(map(run_key, specs))
    parents = frozenset(key for spec in specs for key in spec.parents.values())
    return Job(name_of_job(keys), tuple(specs), keys, parents)


def name_of_job(keys: Sequence[str]) -> str:
    """What a job is called that has these runs in this order."""
    return hashlib.sha256(canonical_json(keys).encode()).hexdigest()[:16]


def group_runs(specs: list[RunSpec]) -> list[Job]:
    """The jobs that train `specs`, each run once: parents first, else by their first member."""
    groups: dict[tuple[Any, ...], list[RunSpec]] = {}
    for spec in specs:
        groups.setdefault(_group(spec), []).append(spec)
    return in_order([make_job(part) for members in groups.values() for part in _parts(members)])


def in_order(jobs: Sequence[Job], rank: Callable[[Job], Any] = lambda job: 0) -> list[Job]:
    """The jobs with those of parents before those of their children; of what may come next, the
    job with the least rank, then the one that is given first.
    """
    waiting = _by_parents(jobs)
    ready: list[tuple[Any, int]] = []
    found = []
    while waiting.is_active():
        for place in waiting.get_ready():
            heapq.heappush(ready, (rank(jobs[place]), place))
        _, place = heapq.heappop(ready)
        waiting.done(place)
        found.append(jobs[place])
    return found


def makespan(jobs: Sequence[Job], seconds: Callable[[Job], float], workers: int) -> float:
    """Seconds until so many workers have trained the jobs, as the dispatcher starts them."""
    waiting = _by_parents(jobs)
    ready: list[int] = []
    running: list[tuple[float, int]] = []
    now = 0.0
    while waiting.is_active():
        for place in waiting.get_ready():
            heapq.heappush(ready, place)
        while ready and len(running) < workers:
            place = heapq.heappop(ready)
            heapq.heappush(running, (now + seconds(jobs[place]), place))
        now, place = heapq.heappop(running)
        waiting.done(place)
    return now


def _by_parents(jobs: Sequence[Job]) -> TopologicalSorter[int]:
    """The places of the jobs, each once those are done that it is made from."""
    holders = {key: place for place, job in enumerate(jobs) for key in job.keys}
    before = {
        place: [holders[key] for key in job.parents if key in holders]
        for place, job in enumerate(jobs)
    }
    waiting = TopologicalSorter(before)
    waiting.prepare()
    return waiting


def finishing_soonest(
    jobs: Sequence[Job], seconds: Callable[[Job], float], tables: Mapping[str, Sequence[str]]
) -> list[Job]:
    """The jobs, which are given parents first, in the order that completes tables soonest: those of
    the table that lacks least first; in it the first seed of every cell before the second; then the
    longest first, with all that is made from it. Jobs of one task follow each other: a worker has
    its data at hand then.

    `tables`: run -> those that need it.
    """
    needing = {job.id: {name for key in job.keys for name in tables.get(key, ())} for job in jobs}
    left: dict[str, float] = {}
    chains: dict[str, float] = {}
    children: dict[str, float] = {}
    for job in reversed(jobs):
        own = seconds(job)
        for name in needing[job.id]:
            left[name] = left.get(name, 0.0) + own
        chains[job.id] = own + max(children.get(key, 0.0) for key in job.keys)
        for key in job.parents:
            children[key] = max(children.get(key, 0.0), chains[job.id])
    seeds: dict[int, int] = {}
    tasks: dict[str, int] = {}
    named, longest = {}, dict[str, float]()
    for job in jobs:
        for spec in job.specs:
            seeds.setdefault(spec.seed, len(seeds))
        task = named[job.id] = identity_json(job.lead.task)
        tasks.setdefault(task, len(tasks))
        longest[task] = max(longest.get(task, 0.0), chains[job.id])

    def rank(job: Job) -> tuple[float, int, float, int, float]:
        task = named[job.id]
        return (
            min((left[name] for name in needing[job.id]), default=0.0),
            min(seeds[spec.seed] for spec in job.specs),
            -longest[task],
            tasks[task],
            -chains[job.id],
        )

    return in_order(jobs, rank)


def _parts(members: list[RunSpec]) -> list[list[RunSpec]]:
    """The members as jobs hold them: all together, or by method inside the encoder."""
    if not members[0].method.own_rows:
        return [members]
    by_method: dict[str, list[RunSpec]] = {}
    for spec in members:
        by_method.setdefault(identity_json(spec.method), []).append(spec)
    parts: list[list[RunSpec]] = []
    for runs in by_method.values():
        if parts and len(parts[-1]) + len(runs) <= MOST_JOINED:
            parts[-1] = parts[-1] + runs
        else:
            parts += [runs[i : i + MOST_RUNS] for i in range(0, len(runs), MOST_RUNS)]
    return parts


def split_job(job: Job) -> list[Job]:
    """Two jobs of half the members each: what is tried when memory runs out."""
    half = len(job.specs) // 2
    return [make_job(list(job.specs[:half])), make_job(list(job.specs[half:]))]


def _group(spec: RunSpec) -> tuple[Any, ...]:
    method = spec.method
    alone = method.trains_encoder or method.evaluates or method.family == "t5"
    return (
        identity_json(spec.backbone),
        identity_json(spec.task),
        OF_RECIPE(spec.recipe),
        None if method.own_rows else spec.seed,  # rows of its own may be another seed's
        *sorted(spec.parents.items()),  # what a job waits for, all its members need
        run_key(spec) if alone else None,
        method.kind if method.foreign else None,  # what is wrong with it must not cost others
    )


def write_job(store: Store, job: Job, execution: Execution, code: str = "") -> Path:
    """Writes the job's file; returns its work folder. A job that exists keeps its members."""
    folder = store.work_dir(job.id)
    document = JobFile(specs=list(job.specs), execution=execution, code=code)
    write_text(folder / FILE, document.model_dump_json(indent=1) + "\n")
    return folder


def read_job(folder: Path) -> JobFile | None:
    """The job in a work folder; None where there is none that can be read."""
    return read_document(folder / FILE, JobFile)


def unfinished_jobs(store: Store) -> list[Job]:
    """The jobs whose work folders a killed process left behind, with members that have no result.

    A folder whose name is not that of its members' keys is another revision's: its checkpoint is
    never continued under today's keys.
    """
    folders = sorted((store.root / "work").glob("*"))
    found = ((folder, read_job(folder)) for folder in folders)
    jobs = ((folder, make_job(file.specs)) for folder, file in found if file is not None)
    return [job for folder, job in jobs if job.id == folder.name and not is_stored(store, job)]


def sweep_jobs(store: Store) -> None:
    """Removes work folders whose results are all stored: what a kill right after them left."""
    for folder in sorted((store.root / "work").glob("*")):
        file = read_job(folder)
        if file is not None and is_stored(store, make_job(file.specs), file.execution):
            shutil.rmtree(folder, ignore_errors=True)


def is_stored(store: Store, job: Job, execution: Execution | None = None) -> bool:
    """Whether every member has its result, and what else it keeps when so executed."""
    return all(holds(store, spec, execution or Execution()) for spec in job.specs)


def holds(store: Store, spec: RunSpec, execution: Execution) -> bool:
    """Whether the run is stored with all that it keeps when so executed."""
    weights = spec.method.trains_encoder and keeps_weights(spec, execution)
    return store.is_whole(run_key(spec), weights=weights)


def keeps_weights(spec: RunSpec, execution: Execution) -> bool:
    """Whether its weights are stored: those of a fine-tuned model where others need them."""
    method = spec.method
    return not method.trains_encoder or execution.keep_weights or method.starts_others(spec)


def needed_weights(specs: Iterable[RunSpec]) -> set[str]:
    """Keys of the runs whose weights these need."""
    return {key for spec in specs for role, key in spec.parents.items() if role in WITH_WEIGHTS}
