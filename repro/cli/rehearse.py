"""`rehearse ID`: does every job of a table run here, in how much memory and time?"""

from __future__ import annotations

import os
import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import Progress

from repro.cli import options as o
from repro.cli.execute import Stopped
from repro.cli.requests import as_if_here
from repro.engine.cost import (
    Rehearsed,
    estimate_all,
    store_rehearsed,
    store_speed,
    stored_speed,
    typical_tokens,
    work,
)
from repro.engine.devices import trains_on
from repro.engine.jobs import Execution, Job
from repro.engine.plan import Plan, disk_needed, make_plan
from repro.engine.rehearsal import Asked as How
from repro.engine.rehearsal import Found, Rehearsals, is_busy, matrix_peaks, rehearse
from repro.errors import RUN_FAILED
from repro.papers.registry import find_artefact
from repro.report.layout import text_table
from repro.report.render import GAP, json_text
from repro.store.atomic import remove_tree
from repro.store.store import Store
from repro.store.temporary import unfinished_name
from repro.words import counted, duration, run_name, size

NOT_USED = (
    "Plans will not use these figures, as the machine was busy before: give the command again when "
    "nothing else runs here."
)
STEPS = {"cpu": 4, "cuda": 128}
"""A GPU is asked for the losses of many steps at once; see `repro.training.group`."""


@o.grouped
def command(
    asked: o.AskedOfNeeds,
    ids: Annotated[list[str], o.ids("Tables and figures.")],
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
            help="Smaller batches, and at most two runs of a method together, to see on a small "
            "machine that all jobs run. Plans then do not use the figures.",
        ),
    ] = None,
    again: Annotated[
        bool, typer.Option("--again", help="Rehearse again what ran before in this store.")
    ] = False,
) -> None:
    """Tries every kind of job of a table before hours are spent on it. Needs no data and no hub.

    Each kind takes a few steps and scores a batch of rows, through the code of a real run: first
    with the longest inputs that can be, which tells its peak memory, then with typical ones. The
    model has the exact shape, with random weights; inputs are random, of the published lengths. The
    store keeps what each takes as soon as that is known, also before a Ctrl-C: `plan` uses it, and
    a kind that ran is not rehearsed again.

    Example: python -m repro rehearse ResAdapters-1 --scale paper
    """
    results, scale = o.open_store(store), asked.get("scale", "paper")
    requests = [as_if_here(find_artefact(id), scale, asked) for id in ids]
    kind = trains_on(device)
    busy = is_busy(kind)
    how = How(Execution(device=device, threads=threads), steps or STEPS[kind], batch_size, not busy)
    speed = stored_speed(results.root, kind)
    known = {} if again else dict(speed.rehearsed)
    plan = make_plan(requests, Store(Path(os.devnull)), speed)
    new = _new(plan.jobs, known, how)
    rehearsals = _kept(new, results, kind, how)
    plan = replace(plan, speed=stored_speed(results.root, kind))
    if busy and new:
        print(NOT_USED, file=sys.stderr)
    found = {k: Found("", int(one.memory), one) for k, one in known.items()}
    document = _document(plan, found | dict(rehearsals.found), rehearsals.start, how)
    sys.stdout.write(json_text(document) if json else _text(document))
    if any(line["failure"] for line in document["kinds"]):
        raise typer.Exit(RUN_FAILED)


def _new(jobs: Sequence[Job], known: Mapping[str, Rehearsed], how: How) -> list[Job]:
    """The jobs whose kinds are not known, and those that their runs are made from."""
    by_key = {key: job for job in jobs for key in job.keys}
    waiting = [job for job in jobs if not _is_known(job, known, how)]
    needed = dict[str, Job]()
    while waiting:
        job = waiting.pop()
        if job.id not in needed:
            needed[job.id] = job
            waiting += [by_key[key] for key in job.parents if key in by_key]
    return [job for job in jobs if job.id in needed]


def _is_known(job: Job, known: Mapping[str, Rehearsed], how: How) -> bool:
    """Whether the kind ran before: on a machine that was idle, if this one is."""
    found = known.get(how.kind(job))
    return found is not None and (found.fit or how.smaller or not how.idle)


def rehearsed(
    jobs: Sequence[Job],
    root: Path,
    how: How,
    keep: Callable[[str, Found], None] = lambda kind, found: None,
) -> Rehearsals:
    """Rehearses with a bar on a terminal, a line for each kind elsewhere; below the store's `root`,
    in a folder that is gone afterwards.
    """
    if not jobs:
        return Rehearsals({}, 0.0)
    folder = root / unfinished_name(".tmp")  # `store gc` knows what a kill leaves
    console = Console(file=sys.stderr)
    shown = Progress(console=console, transient=True)
    task = shown.add_task("Rehearsing", total=None)

    def told(job: Job, count: int, longest: bool) -> None:
        inputs = "longest inputs" if longest else "usual inputs"
        shown.update(task, advance=1, total=count, description=f"Rehearsing, {inputs}")
        if not console.is_terminal:
            done = shown.tasks[0].completed
            print(f"{done:.0f}/{count}: {run_name(job.lead)}, {inputs}", file=sys.stderr)

    try:
        with shown:
            return rehearse(jobs, folder, how, told, keep)
    finally:
        remove_tree(folder)


def _kept(jobs: Sequence[Job], results: Store, kind: str, how: How) -> Rehearsals:
    """Rehearses. The store keeps the figures of a kind as soon as it ran, and in the end how
    long a worker takes to start, and a job beside its steps. Raises Stopped at Ctrl-C.
    """
    kept = set[str]()

    def keep(name: str, found: Found) -> None:
        if found.figures is not None:
            store_rehearsed(results.root, kind, {name: found.figures})
            kept.add(name)

    try:
        found = rehearsed(jobs, results.root, how, keep)
    except KeyboardInterrupt:
        every = len({how.kind(job) for job in jobs})
        raise Stopped(f"The figures of {len(kept)} of {every} kinds of jobs are stored.") from None
    for name, one in found.found.items():
        keep(name, one)
    beside = [one.beside for one in found.found.values() if one.beside]
    if beside and how.idle and not how.smaller:
        speed = stored_speed(results.root, kind)
        changed = replace(speed, start=found.start, job=statistics.median(beside))
        store_speed(results.root, kind, changed)
    return found


def _document(plan: Plan, found: Mapping[str, Found], start: float, how: How) -> dict[str, Any]:
    """The object of `rehearse --json`; docs/json.md describes it."""
    of_kind: dict[str, list[Job]] = {}
    for job in plan.jobs:
        of_kind.setdefault(how.kind(job), []).append(job)
    peaks = matrix_peaks(how.execution)
    lines = [_line(jobs, found[kind], peaks, plan, how) for kind, jobs in of_kind.items()]
    return {
        "kinds": lines,
        "seconds": plan.estimate().seconds,
        "memory_bytes": max((line["memory_bytes"] for line in lines), default=0),
        "disk_bytes": disk_needed(plan),
        "start_seconds": start or None,
        "matrix_flops": peaks,
    }


def _line(
    jobs: Sequence[Job], found: Found, peaks: Mapping[str, float], plan: Plan, how: How
) -> dict[str, Any]:
    """What was found of the jobs of one kind."""
    lead, figures, made = jobs[0].lead, found.figures, how.made(jobs[0])
    length = lead.task.max_length if how.smaller else typical_tokens(lead.task)
    peak = peaks.get(lead.recipe.precision, peaks["fp32"])
    steps = figures is not None and figures.step > 0  # else it only scores
    return {
        "example": run_name(lead),
        "jobs": len(jobs),
        "runs": sum(len(job.specs) for job in jobs),
        "failure": found.failure or None,
        "memory_bytes": found.memory,
        "batch": figures.batch if figures is not None and steps else None,
        **pace(figures if steps else None, made, length, peak),
        "seconds": estimate_all(jobs, plan.speed).seconds,
    }


def pace(figures: Rehearsed | None, job: Job, length: int, peak: float) -> dict[str, float | None]:
    """What steps of a job took, on inputs of so many tokens; `peak`: FLOP a second at most."""
    if figures is None:
        return dict.fromkeys(("seconds_a_step", "spread", "tokens_a_second", "share_of_peak"))
    tokens = figures.batch * length
    return {
        "seconds_a_step": figures.step,
        "spread": figures.spread,
        "tokens_a_second": tokens * len(job.specs) / figures.step,
        "share_of_peak": work(job, tokens, 0.0)[0] / figures.step / peak,
    }


def pace_in_words(line: Mapping[str, Any]) -> list[str]:
    """Milliseconds a step, tokens a second and the share of the peak, for a table: none above 1,
    which only says that the peak was measured while the machine had other work.
    """
    step, spread = line["seconds_a_step"], line["spread"]
    if step is None:
        return [GAP] * 3
    around = f" ± {1000 * spread:,.0f}" if spread is not None else ""
    taken = f"{1000 * step:,.0f}{around}"
    share = f"{line['share_of_peak']:.0%}" if line["share_of_peak"] <= 1 else GAP
    return [taken, f"{line['tokens_a_second']:,.0f}", share]


def peaks_in_words(peaks: Mapping[str, float]) -> str:
    """80 GFLOP/s in fp32 and 300 GFLOP/s in bf16."""
    return " and ".join(f"{peak / 1e9:,.0f} GFLOP/s in {name}" for name, peak in peaks.items())


def _text(document: dict[str, Any]) -> str:
    rows = [
        [
            one["example"],
            str(one["runs"]),
            "FAILED" if one["failure"] else "ok",
            size(one["memory_bytes"]) if one["memory_bytes"] else GAP,
            *pace_in_words(one),
            duration(one["seconds"]),
        ]
        for one in document["kinds"]
    ]
    names = ["job, for example", "runs", "", "memory", "ms a step", "tokens/s", "of peak", "time"]
    failed = [one for one in document["kinds"] if one["failure"]]
    lines = [text_table(names, rows), ""]
    lines += [f"FAILED: {one['example']}: {one['failure']}" for one in failed]
    start = document["start_seconds"]
    begins = "" if start is None else f", a worker starts in {duration(start)}"
    lines += [
        f"{counted(len(rows), 'kind')} of jobs: {len(rows) - len(failed)} ran, {len(failed)} "
        "failed.",
        f"All runs: {duration(document['seconds'])}, at most {size(document['memory_bytes'])} of "
        f"memory, {size(document['disk_bytes'])} of disk{begins}. A matrix product reaches "
        f"{peaks_in_words(document['matrix_flops'])} here.",
    ]
    return "\n".join(lines) + "\n"
