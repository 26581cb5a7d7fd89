"""`bench`: how fast this machine trains, and how far from its floor each table is."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from repro.cli import options as o
from repro.cli.rehearse import NOT_USED, pace, pace_in_words, peaks_in_words, rehearsed
from repro.cli.requests import as_if_here, names_in
from repro.engine.cost import (
    Rehearsed,
    Speed,
    calibrated,
    estimate,
    floor,
    kind_of,
    modelled,
    store_speed,
    stored_speed,
    typical_tokens,
)
from repro.engine.devices import trains_on
from repro.engine.jobs import Execution, Job, make_job
from repro.engine.plan import make_plan
from repro.engine.rehearsal import Asked, Found, is_busy, matrix_peaks
from repro.errors import RUN_FAILED, ReproError
from repro.methods.lora import LoRA
from repro.papers.registry import ARTEFACTS
from repro.papers.request import Request
from repro.papers.resadapters import tables as resadapters
from repro.papers.three_shared.setting import runs_of
from repro.report.layout import markdown_table, text_table
from repro.report.render import GAP, json_text
from repro.spec import Backbone, Task
from repro.spec.backbones import BERT_BASE, BERT_LARGE, KNOWN, MINILM
from repro.store.atomic import write_text
from repro.store.store import Store
from repro.words import duration, size

SHAPES = {KNOWN[id].name: KNOWN[id] for id in (MINILM, BERT_BASE, BERT_LARGE)}
USUAL = "MiniLM-L6,BERT-base"
METHODS = ("full-fine-tuning", "pfeiffer", "houlsby")
ROWS = {"cpu": {6: 16, 12: 4, 24: 2}, "cuda": {6: 32, 12: 32, 24: 32}}
"""Of a step, by the number of layers: a CPU takes half a minute for 32 of BERT-base."""
STEPS = {"cpu": 3, "cuda": 128}
PAGE = Path("docs") / "performance.md"
BEGIN, END = "<!-- bench: begin -->", "<!-- bench: end -->"


@dataclass(frozen=True, slots=True)
class Timed:
    """A job, what its rehearsal found, and that of the same job on one short row, in which next to
    nothing is computed. `kernels`: launched in a step.
    """

    name: str
    job: Job
    found: Found
    short: Found
    kernels: float | None


@o.grouped
def command(
    shapes: Annotated[str, typer.Option(help=f"Which shapes: {', '.join(SHAPES)}.")] = USUAL,
    json: o.JsonOption = False,
    write: Annotated[
        bool, typer.Option("--write", help=f"Put the figures into {PAGE}, between its marks.")
    ] = False,
    store: o.StoreOption = None,
    device: o.DeviceOption = "auto",
    threads: o.ThreadsOption = None,
    compiled: o.CompiledOption = False,
) -> None:
    """Measures how fast this machine trains; takes about two minutes. Needs no data and no hub.

    Steps of the usual methods, on random weights of the shapes of MiniLM and BERT-base and on rows
    like MRPC's: tokens a second, share of what a matrix product reaches, kernels, memory, and the
    milliseconds of a step in which next to nothing is computed. Then, of every table at paper
    scale, its estimate over its floor: the arithmetic on tokens that are no padding, at the speed
    of a matrix product. `plan` uses the speed found.

    Example: python -m repro bench
    """
    results, kind = o.open_store(store), trains_on(device)
    chosen = [SHAPES[name] for name in names_in(shapes, "--shapes", "shape", SHAPES)]
    if write and BEGIN not in (PAGE.read_text(encoding="utf-8") if PAGE.is_file() else ""):
        raise ReproError(f"{PAGE} is not here or has no line {BEGIN}: run from a checkout.")
    busy = is_busy(kind)
    execution = Execution(device=device, threads=threads, compiled=compiled)
    peaks = matrix_peaks(execution)
    precision = "bf16" if "bf16" in peaks else "fp32"
    how = Asked(execution, STEPS[kind])
    timed = _timed(jobs_on(kind, precision, chosen), how, results.root)
    speed = speed_of(timed, stored_speed(results.root, kind), peaks)
    if busy:
        print(NOT_USED, file=sys.stderr)
    elif not compiled and any(one.found.figures for one in timed):
        store_speed(results.root, kind, speed)
    document = _document(timed, speed, peaks, precision)
    document |= {"compiled": compiled, "busy": busy}
    if write:
        _write(document)
    sys.stdout.write(json_text(document) if json else as_text(document))
    if any(one["failure"] for one in document["steps"]):
        raise typer.Exit(RUN_FAILED)


def jobs_on(device: str, precision: str, shapes: Sequence[Backbone]) -> dict[str, Job]:
    """Name -> a job of each method on each shape."""
    found = {}
    for shape in shapes:
        request = Request("3-shared-2", "paper", 1, backbone=shape)
        specs = {name: runs_of(name, "mrpc", request).run(0) for name in METHODS}
        specs["lora"] = specs["pfeiffer"].model_copy(update={"method": LoRA()})
        asked = Request(resadapters.ONE.id, "paper", 1, backbone=shape)
        cells = resadapters.runs_of("attention-resnext", "squad2", asked)
        specs["resadapters"] = cells.run(0)
        for name, spec in specs.items():
            rows = min(ROWS[device][shape.layers], spec.recipe.batch_size)
            changed = {"precision": precision, "batch_size": rows}
            recipe = spec.recipe.model_copy(update=changed)
            job = make_job([spec.model_copy(update={"recipe": recipe})])
            found[f"{name}, {shape.name}"] = job
    return found


def _short(job: Job) -> Job:
    """The same job on single rows like CoLA's, the shortest of GLUE."""
    request = Request("3-shared-2", "paper", 1)
    task: Task = runs_of("pfeiffer", "cola", request).run(0).task
    if job.lead.method.reads_states:
        task = job.lead.task
    recipe = job.lead.recipe.model_copy(update={"batch_size": 1})
    return make_job([job.lead.model_copy(update={"task": task, "recipe": recipe})])


def _timed(jobs: Mapping[str, Job], asked: Asked, root: Path) -> list[Timed]:
    """Rehearses the jobs, then the short ones, then these again with their kernels counted: in
    eager mode, as what is compiled is one graph.
    """
    asked = replace(asked, longest=False)
    eager = asked.execution.model_copy(update={"compiled": False})
    short = {name: _short(job) for name, job in jobs.items()}
    passes = [
        rehearsed(list(which.values()), root, how).found
        for which, how in (
            (jobs, asked),
            (short, asked),
            (short, replace(asked, kernels=True, execution=eager)),
        )
    ]
    return [
        Timed(
            name,
            job,
            passes[0][kind_of(job)],
            passes[1][kind_of(short[name])],
            passes[2][kind_of(short[name])].kernels,
        )
        for name, job in jobs.items()
    ]


def speed_of(timed: Sequence[Timed], known: Speed, peaks: Mapping[str, float]) -> Speed:
    """The speed at which the model meets what was measured: what a layer takes at least is that of
    the short rows, the rest is arithmetic and traffic.
    """
    pairs = [(one, one.found.figures) for one in timed if one.found.figures is not None]
    short = [
        one.short.figures.step / one.job.lead.backbone.layers
        for one in timed
        if one.short.figures is not None and not one.job.lead.method.trains_encoder
    ]
    if not pairs or not short:
        return known
    ratio = peaks["bf16"] / peaks["fp32"] if "bf16" in peaks else 1.0
    speed = replace(known, layer=min(short), fp32=ratio)
    taken = [(one.job, _seconds(one.job, figures, speed)) for one, figures in pairs]
    return calibrated(taken, speed, pairs[0][1].device)


def _seconds(job: Job, figures: Rehearsed, speed: Speed) -> float:
    """Of a whole run at the pace of its rehearsal."""
    fit = {kind_of(job): replace(figures, fit=True)}
    return estimate(job, replace(speed, rehearsed=fit, job=0.0)).seconds


def floors(speed: Speed, peaks: Mapping[str, float]) -> list[dict[str, Any]]:
    """Of every table and figure that trains at paper scale: estimate, floor and their ratio."""
    every = {"bf16": peaks["fp32"]} | dict(peaks)
    found = []
    for artefact in ARTEFACTS.values():
        plan = make_plan([as_if_here(artefact, "paper", {})], Store(Path(os.devnull)), speed)
        least = math.fsum(floor(job, every) for job in plan.jobs)
        seconds = math.fsum(modelled(job, speed) for job in plan.jobs)
        if least:
            line = {"id": artefact.id, "seconds": seconds, "floor": least}
            found.append(line | {"ratio": seconds / least})
    return found


def _document(
    timed: Sequence[Timed], speed: Speed, peaks: Mapping[str, float], precision: str
) -> dict[str, Any]:
    """The object of `bench --json`; docs/json.md describes it."""
    return {
        "device": speed.device,
        "precision": precision,
        "matrix_flops": dict(peaks),
        "steps": [_line(one, peaks[precision]) for one in timed],
        "floors": floors(speed, peaks),
    }


def _line(one: Timed, peak: float) -> dict[str, Any]:
    short = one.short.figures
    return {
        "name": one.name,
        "failure": one.found.failure or one.short.failure or None,
        "batch": one.job.lead.recipe.batch_size,
        "memory_bytes": one.found.memory,
        "kernels": one.kernels,
        **pace(one.found.figures, one.job, typical_tokens(one.job.lead.task), peak),
        "overhead_seconds": short.step if short is not None else None,
    }


OVERHEAD = (
    "Overhead: a step on one row of 16 tokens; of ResAdapters' cells, on one window. Floor: the "
    "arithmetic on tokens that are no padding, at the speed of a matrix product."
)
STEP_NAMES = [
    "method, shape", "rows", "ms a step", "tokens/s", "of peak", "memory", "kernels", "overhead",
]  # fmt: skip
FLOOR_NAMES = ["table or figure", "estimate", "floor", "ratio"]


def tables(document: Mapping[str, Any]) -> list[tuple[list[str], list[list[str]]]]:
    """The head and the lines of both tables: the steps, and the tables and figures."""
    steps = [
        [
            one["name"],
            str(one["batch"]),
            *(pace_in_words(one) if one["seconds_a_step"] else ["FAILED", GAP, GAP]),
            size(one["memory_bytes"]),
            f"{one['kernels']:,.0f}" if one["kernels"] else GAP,
            f"{1000 * one['overhead_seconds']:,.0f} ms" if one["overhead_seconds"] else GAP,
        ]
        for one in document["steps"]
    ]
    floors = [
        [one["id"], duration(one["seconds"]), duration(one["floor"]), f"{one['ratio']:.1f}"]
        for one in document["floors"]
    ]
    return [(STEP_NAMES, steps), (FLOOR_NAMES, floors)]


def summary(document: Mapping[str, Any]) -> str:
    """The machine, in a sentence."""
    busy = " The machine was busy with other work." if document["busy"] else ""
    return (
        f"{document['device']}: a matrix product reaches "
        f"{peaks_in_words(document['matrix_flops'])}; steps in "
        f"{document['precision']}{', compiled' if document['compiled'] else ''}.{busy}"
    )


def as_text(document: Mapping[str, Any]) -> str:
    """Both tables."""
    failed = [one for one in document["steps"] if one["failure"]]
    lines = [summary(document), ""]
    lines += [f"{text_table(*table)}\n" for table in tables(document)]
    lines += [f"FAILED: {one['name']}: {one['failure']}" for one in failed]
    return "\n".join([*lines, OVERHEAD]) + "\n"


def _write(document: Mapping[str, Any]) -> None:
    """Replaces what stands between the marks of the page."""
    text = PAGE.read_text(encoding="utf-8")
    before, after = text.partition(BEGIN)[0], text.partition(END)[2]
    made = ["\n".join(markdown_table(*table, left=1)) for table in tables(document)]
    parts = "\n\n".join([BEGIN, summary(document), *made, OVERHEAD, END])
    write_text(PAGE, before + parts + after)
