"""`rehearse ID`: does every job of a table run here, in how much memory and time?"""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import Progress, TaskID

from repro.cli import completion
from repro.cli import options as o
from repro.cli.doctor import BUSY, load, timed
from repro.cli.execute import disk_needed
from repro.cli.requests import Asked, bare_request, with_data
from repro.engine.cost import (
    Rehearsed,
    estimate_all,
    kind_of,
    store_rehearsed,
    stored_speed,
    typical_tokens,
    work,
)
from repro.engine.dispatch import Dispatcher
from repro.engine.jobs import Execution, Job, Rehearsal
from repro.engine.local import LocalExecutor
from repro.engine.plan import Plan, make_plan
from repro.engine.rehearsal import kinds
from repro.errors import RUN_FAILED
from repro.papers.matrix import Artefact
from repro.papers.registry import find_artefact
from repro.papers.request import Request
from repro.report.layout import text_table
from repro.report.render import GAP, json_text
from repro.spec import Scale
from repro.store.atomic import remove_tree
from repro.store.entry import ENVIRONMENT
from repro.store.store import Store
from repro.store.strict_json import parse_json
from repro.store.temporary import unfinished_name
from repro.words import counted, duration, run_name, size

STEPS = {"cpu": 4, "cuda": 128}
"""A GPU is asked for the losses of many steps at once; see `repro.training.group`."""


@dataclass
class Heard:
    """When a job's events came, in seconds, and what it scores."""

    steps: list[tuple[float, int]] = field(default_factory=list)
    """And how many steps had been taken."""
    scored: list[float] = field(default_factory=list)
    batches: int = 0
    """Of the last pass over the scored rows."""
    tokens: int = 0
    """Of all scored rows."""

    def hear(self, event: dict[str, Any]) -> None:
        """Takes one event of the worker."""
        now = time.monotonic()
        if event["event"] == "step":
            self.steps.append((now, event["step"]))
        elif event["event"] == "evaluation":
            self.scored.append(now)
            self.batches = event["batches"]
        elif event["event"] == "rows":
            self.tokens = event["scored_tokens"]

    @property
    def seconds(self) -> list[float]:
        """Of a step, without those before the first event, which warm up."""
        return [
            (later - before) / (steps - taken)
            for (before, taken), (later, steps) in pairwise(self.steps)
        ]

    @property
    def seconds_a_token(self) -> float:
        """Of the last pass over the scored rows."""
        times = [*(when for when, _ in self.steps[-1:]), *self.scored]
        return (times[-1] - times[-1 - self.batches]) / max(1, self.tokens)


@dataclass(frozen=True, slots=True)
class Line:
    """What was found of a kind of job: `jobs` are those of the plan that are of it, `batch` is how
    many rows a step of its rehearsal had.
    """

    kind: str
    batch: int
    jobs: Sequence[Job]
    failure: str
    memory: int
    seconds: list[float]
    figures: Rehearsed | None


@o.grouped
def command(
    asked: o.AskedOfNeeds,
    ids: Annotated[
        list[str], typer.Argument(help="Tables and figures.", autocompletion=completion.ids)
    ],
    json: o.JsonOption = False,
    store: o.StoreOption = None,
    device: o.DeviceOption = "auto",
    threads: o.ThreadsOption = None,
    steps: Annotated[
        int | None,
        typer.Option(min=2, max=1000, help="Steps of each kind of job (default: 4; on a GPU 128)."),
    ] = None,
    batch_size: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Smaller batches, to see on a small machine that all jobs run. Plans then do not "
            "use the figures.",
        ),
    ] = None,
) -> None:
    """Tries every kind of job of a table before hours are spent on it. Needs no data and no hub.

    Each kind takes a few steps and scores a few rows, through the code of a real run: first with
    the longest inputs that can be, which tells its peak memory, then with typical ones. The model
    has the exact shape, with random weights; inputs are random, of the published lengths. What it
    takes is kept in the store, and `plan` uses it.

    Example: python -m repro rehearse ResAdapters-1 --scale paper
    """
    results, scale = o.open_store(store), asked.get("scale", "paper")
    requests = [_without_data(find_artefact(id), scale, asked) for id in ids]
    kind = o.trains_on(device)
    busy = kind == "cpu" and load() > BUSY * (os.cpu_count() or 1)
    folder = results.root / unfinished_name(".tmp")  # `store gc` knows what a kill leaves
    try:
        plan = make_plan(requests, Store(folder / "none"), stored_speed(results.root, kind))
        execution = Execution(device=device, threads=threads)
        lines = _rehearsed(plan, folder, execution, steps or STEPS[kind], batch_size)
    finally:
        remove_tree(folder)
    if batch_size is None and not busy:
        figures = {line.kind: line.figures for line in lines if line.figures is not None}
        store_rehearsed(results.root, kind, figures)
        plan = replace(plan, speed=stored_speed(results.root, kind))
    if busy:
        print("Not kept for plans: the machine was busy before this began.", file=sys.stderr)
    document = _document(plan, lines, matrix_peak(device, threads))
    sys.stdout.write(json_text(document) if json else _text(document))
    if any(line.failure for line in lines):
        raise typer.Exit(RUN_FAILED)


def _without_data(artefact: Artefact, scale: Scale, asked: Asked) -> Request:
    """The request as if the published rows of all its tasks were here."""
    request = bare_request(artefact, scale, asked)
    if scale == "smoke":
        return with_data(request, artefact)
    tasks = (*artefact.needed(request), *getattr(artefact, "also", ()))
    return replace(request, data_revisions=dict.fromkeys(tasks))


def _rehearsed(
    plan: Plan, folder: Path, execution: Execution, steps: int, batch_size: int | None
) -> list[Line]:
    """What the rehearsal of each kind of job found."""
    known = kinds(plan.jobs, steps, batch_size)
    console = Console(file=sys.stderr)
    with Progress(console=console, transient=True) as shown:
        task = shown.add_task("Rehearsing", total=2 * len(known))
        heard = {
            longest: _train(
                [job for job, _ in known],
                Store(folder / ("longest" if longest else "typical")),
                execution.model_copy(update={"rehearsal": Rehearsal(steps=steps, longest=longest)}),
                lambda job: _tell(job, shown, task),
            )
            for longest in (True, False)
        }
    return [_line(job, alike, heard) for job, alike in known]


def _tell(job: Job, shown: Progress, task: TaskID) -> None:
    """Moves the bar; a line where stderr is no terminal."""
    shown.advance(task)
    if not shown.console.is_terminal:
        done = shown.tasks[0]
        print(f"{done.completed:.0f}/{done.total:.0f}: {run_name(job.lead)}", file=sys.stderr)


Outcomes = dict[str, tuple[Heard, str, int]]
"""Job -> its events, why it failed ("": it did not), its peak bytes."""


def _train(
    jobs: Sequence[Job], store: Store, execution: Execution, ended: Callable[[Job], None]
) -> Outcomes:
    heard: dict[str, Heard] = {job.id: Heard() for job in jobs}
    over: set[str] = set()

    def listen(job: Job, event: dict[str, Any]) -> None:
        heard.setdefault(job.id, Heard()).hear(event)
        if event["event"] in ("stored", "failed", "diverged") and job.id not in over:
            over.add(job.id)
            ended(job)

    outcomes = Dispatcher(LocalExecutor(), listen).run(jobs, store, execution)
    problems = {
        key: f"{one.kind}: {one.message}"
        for one in outcomes if one.kind is not None for key in one.job.keys
    }  # fmt: skip
    whole = {one.job.id for one in outcomes}
    parts = "memory ran out: it runs in parts of fewer runs"
    return {
        job.id: (
            heard[job.id],
            problems.get(job.keys[0], "") or ("" if job.id in whole else parts),
            _peak(store, job),
        )
        for job in jobs
    }


def _peak(store: Store, job: Job) -> int:
    run = store.read(job.keys[0])
    return 0 if run is None else int(parse_json(run.source.read(ENVIRONMENT))["peak_memory_bytes"])


def _line(job: Job, alike: Sequence[Job], heard: dict[bool, Outcomes]) -> Line:
    _, worst, memory = heard[True][job.id]
    usual, failure, _ = heard[False][job.id]
    figures = None
    if usual.seconds and usual.scored and not (worst or failure):
        step = statistics.median(usual.seconds)
        figures = Rehearsed(step=step, token=usual.seconds_a_token, memory=memory)
    batch = job.lead.recipe.batch_size
    return Line(kind_of(alike[0]), batch, alike, worst or failure, memory, usual.seconds, figures)


def matrix_peak(device: str, threads: int | None) -> float:
    """FLOP a second of a large matrix product in fp32 on this device."""
    import torch

    from repro.training.environment import prepare_process, prepare_torch

    prepare_process(deterministic=False)
    where = prepare_torch(device, threads=threads, deterministic=False, tf32=False)
    width = 8192 if where.type == "cuda" else 2048
    matrix = torch.rand(width, width, device=where)
    return 2 * width**3 / timed(lambda: matrix @ matrix, where)


def _document(plan: Plan, lines: Sequence[Line], peak: float) -> dict[str, Any]:
    """The object of `rehearse --json`; docs/json.md describes it."""
    found = []
    for line in lines:
        lead, step = line.jobs[0].lead, statistics.median(line.seconds) if line.seconds else None
        tokens = line.batch * typical_tokens(lead.task)
        flops = work(line.jobs[0], tokens, 0.0)[0]
        found.append({
            "example": run_name(lead),
            "jobs": len(line.jobs),
            "runs": sum(len(job.specs) for job in line.jobs),
            "failure": line.failure or None,
            "memory_bytes": line.memory,
            "seconds_a_step": step,
            "spread": statistics.stdev(line.seconds) if len(line.seconds) > 1 else None,
            "tokens_a_second": tokens * len(line.jobs[0].specs) / step if step else None,
            "share_of_peak": flops / step / peak if step else None,
            "seconds": estimate_all(line.jobs, plan.speed).seconds,
        })  # fmt: skip
    return {
        "kinds": found,
        "seconds": plan.estimate().seconds,
        "memory_bytes": max((line.memory for line in lines), default=0),
        "disk_bytes": disk_needed(plan),
        "matrix_flops": peak,
    }


def _text(document: dict[str, Any]) -> str:
    rows = [
        [
            one["example"],
            str(one["runs"]),
            "FAILED" if one["failure"] else "ok",
            size(one["memory_bytes"]) if one["memory_bytes"] else GAP,
            _milliseconds(one["seconds_a_step"], one["spread"]),
            f"{one['tokens_a_second']:,.0f}" if one["tokens_a_second"] else GAP,
            f"{one['share_of_peak']:.0%}" if one["share_of_peak"] else GAP,
            duration(one["seconds"]),
        ]
        for one in document["kinds"]
    ]
    names = ["job, for example", "runs", "", "memory", "ms a step", "tokens/s", "of peak", "time"]
    failed = [one for one in document["kinds"] if one["failure"]]
    lines = [text_table(names, rows), ""]
    lines += [f"FAILED: {one['example']}: {one['failure']}" for one in failed]
    lines += [
        f"{counted(len(rows), 'kind')} of jobs: {len(rows) - len(failed)} ran, {len(failed)} "
        "failed.",
        f"All runs: {duration(document['seconds'])}, at most {size(document['memory_bytes'])} of "
        f"memory, {size(document['disk_bytes'])} of disk. A matrix product reaches "
        f"{document['matrix_flops'] / 1e9:,.0f} GFLOP/s here.",
    ]
    return "\n".join(lines) + "\n"


def _milliseconds(step: float | None, spread: float | None) -> str:
    if step is None:
        return GAP
    return f"{1000 * step:,.0f}" + (f" ± {1000 * spread:,.0f}" if spread is not None else "")
