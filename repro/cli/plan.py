"""`plan [ID ...]`: what would run, what is stored, what it would cost. Trains nothing."""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from repro.backbones import contents
from repro.backbones.describe import mirror_of
from repro.cli import completion
from repro.cli import options as o
from repro.cli.requests import Asked, all_unavailable, as_if_here, bare_request, gap_lines, names_in
from repro.cli.scales import choose
from repro.engine.cost import CARDS, ERROR, Basis, Estimate, basis, combined, estimates
from repro.engine.devices import trains_on
from repro.engine.jobs import Job
from repro.engine.plan import Plan, PlannedRun, make_plan, with_times
from repro.errors import MissingData, ReproError
from repro.papers.matrix import Artefact, tasks_of
from repro.papers.registry import ARTEFACTS, TABLES, find_artefact
from repro.papers.request import Request
from repro.report.layout import text_table
from repro.report.render import GAP, json_text
from repro.spec import Backbone
from repro.spec.facts import KNOWN, Facts
from repro.store.store import Store
from repro.tasks import hub as data_hub
from repro.tasks import rows
from repro.tasks.catalogue import unavailable
from repro.training.environment import cpu_bf16
from repro.words import counted, duration, run_name, size

BYTES_A_SECOND = 12.5e6
"""Of a download (assumed: 100 Mbit/s)."""
MOST_SWEEPS = 6
"""Lines on sweeps, unless --runs is given."""
BYTES_A_TOKEN = 2.5
"""Of a hub's compressed rows (assumed)."""


class Column:
    """The plan as it is on one device, or on the `card` that is asked for; `fetched`: bytes to
    download; `workers`: how many train side by side.
    """

    def __init__(self, plan: Plan, fetched: float, workers: int, card: str | None = None) -> None:
        self.plan, self.fetched, self.workers, self.card = plan, fetched, workers, card
        self.name = CARDS[card].name if card else "time"
        self.each = estimates(plan.jobs, plan.speed)

    def estimate(self, jobs: Sequence[Job], fetched: float = 0.0) -> Estimate:
        """Of these jobs, with the start of a worker, and with the download of so many bytes."""
        before = self.plan.speed.start + fetched / BYTES_A_SECOND
        return combined(jobs, self.each, before, self.workers)

    def total(self) -> Estimate:
        """Of all jobs, with what is to be downloaded."""
        return self.estimate(self.plan.jobs, self.fetched)


@o.grouped
def command(
    asked: o.Asked,
    ids: Annotated[
        list[str] | None,
        o.ids("Tables and figures (default: all)."),
    ] = None,
    runs: Annotated[
        bool, typer.Option("--runs", help="List every run, job and sweep, too.")
    ] = False,
    card: Annotated[
        str | None,
        typer.Option(
            help=f"Times on these GPUs, by their datasheets: {','.join(CARDS)}.",
            autocompletion=completion.one_of(list(CARDS)),
        ),
    ] = None,
    tf32: Annotated[
        bool, typer.Option("--tf32", help="With --card: fp32 products in TF32.")
    ] = False,
    json: o.JsonOption = False,
    store: o.StoreOption = None,
    device: o.DeviceOption = "auto",
    workers: o.WorkersOption = None,
) -> None:
    """Shows what the tables need: runs that are stored or missing, hours, memory.

    Times are those of rehearsals or of stored runs of the same kind on this machine, else a
    model's. No data are needed: tables that have none here are planned as if they had.

    Example: python -m repro plan AA-2 Houlsby-2 --scale paper --card h100,l4
    """
    results = o.open_store(store)
    cards = names_in(card, "--card", "card", CARDS) if card is not None else []
    if tf32 and not cards:
        raise ReproError("--tf32 is for --card: name a card, or leave it out.")
    artefacts = [find_artefact(id) for id in ids or list(ARTEFACTS)]
    requests, bare = _requests(artefacts, asked, results, device)
    kind = trains_on(device)
    if device == "auto" and requests[0].scale == "paper":
        kind = "cuda"
    # As `table` trains it: what diverged before is tried again only with --retry.
    plan = make_plan(requests, results, retry_failed=False)
    if cards:
        fetched = bytes_to_fetch(plan, anew=True)
        on = {one: with_times(plan, results, "cuda", card=one, tf32=tf32) for one in cards}
        columns = [Column(own, fetched, workers or 1, one) for one, own in on.items()]
    else:
        plan = with_times(plan, results, kind)
        count = o.executor_for(plan, kind, workers).slots
        columns = [Column(plan, bytes_to_fetch(plan, anew=False), count)]
    if json:
        sys.stdout.write(json_text(as_json(columns, requests)))
        return
    listed = as_list(columns[0].plan) if runs else ""
    sys.stdout.write(listed + as_text(columns, requests, bare, every_sweep=runs))
    in_fp32 = any(job.lead.recipe.precision == "fp32" for job in columns[0].plan.jobs)
    if in_fp32 and kind == "cpu" and (found := cpu_bf16()):
        sys.stdout.write(f"This CPU has {found}: {o.BF16_HINT}.\n")


def _requests(
    artefacts: Sequence[Artefact], asked: Asked, store: Store, device: str
) -> tuple[list[Request], list[str]]:
    """The requests, and the ids of those that have no data here and are planned as if they had."""
    try:
        return choose(artefacts, asked, store, device=device), []
    except MissingData:
        if "scale" not in asked:
            raise
        scale = asked["scale"]
        bare = {}
        for artefact in artefacts:
            names = artefact.needed(bare_request(artefact, scale, asked))
            if names and all(unavailable(scale, name) is not None for name in names):
                bare[artefact.id] = as_if_here(artefact, scale, asked)
        if not bare:
            raise
    rest = [artefact for artefact in artefacts if artefact.id not in bare]
    chosen = choose(rest, asked, store, device=device) if rest else []
    found = bare | {request.id: request for request in chosen}
    return [found[a.id] for a in artefacts if a.id in found], list(bare)


def bytes_to_fetch(plan: Plan, *, anew: bool) -> float:
    """Bytes of the models and data sets that the missing runs read and the hub has: of those that
    are not on this machine, or `anew` of all. Weights are of fp32; rows are estimated.
    """
    models, names = dict[str, Backbone](), dict[str, None]()
    for run in plan.missing:
        models[run.spec.backbone.id] = run.spec.backbone
        if run.spec.task.source != "generated":
            names.update(dict.fromkeys(tasks_of(run.spec)))
    weights = (
        4.0 * one.parameters
        for one in models.values()
        if "/" in one.id and (anew or not (mirror_of(one) or contents.cached(one)))
    )
    rows = (
        BYTES_A_TOKEN * facts.tokens * sum(facts.rows.values())
        for facts in map(KNOWN.__getitem__, names)
        if facts.hub_id and (anew or not _is_here(facts))
    )
    return math.fsum((*weights, *rows))


def _is_here(facts: Facts) -> bool:
    cached = (data_hub.cached(facts, split) for split in facts.needed)
    return bool(rows.here(facts, facts.needed)) or all(path is not None for path in cached)


def sweeps(requests: Sequence[Request]) -> list[dict[str, Any]]:
    """Rows that are selected: how many runs that is, how many of them other rows need, too."""
    found = []
    for request in requests:
        table = TABLES.get(request.id)
        if table is None or all(row.select == "mean" for row in table.rows):
            continue
        matrix = table.matrix(request)
        cells = [entry for entry in matrix.entries if entry.role == "cell"]
        keys = {
            row.name: {entry.key for entry in cells if entry.row == row.name}
            for row in matrix.artefact.trained
        }
        needed = Counter(key for own in keys.values() for key in own)
        for name, own in keys.items():
            shared = sum(needed[key] > 1 for key in own)
            found.append({"table": request.id, "row": name, "runs": len(own), "shared": shared})
    return found


def as_list(plan: Plan) -> str:
    """The runs, one a line, and the jobs."""
    jobs = {key: n for n, job in enumerate(plan.jobs, 1) for key in job.keys}
    rows = [
        [
            run.key[:12],
            run_name(run.spec),
            why(run),
            ", ".join(run.tables),
            f"job {jobs[run.key]}" if run.key in jobs else "",
        ]
        for run in plan.runs
    ]
    lines = [text_table(["run", "what", "state", "tables", "job"], rows), ""]
    costs = estimates(plan.jobs, plan.speed)
    for number, job in enumerate(plan.jobs, 1):
        cost = costs[job.id]
        lines.append(
            f"job {number} ({job.id}): {counted(len(job.specs), 'run')} on one pass of "
            f"{job.lead.backbone.name}, about {duration(cost.seconds)}, {size(cost.memory_bytes)}"
        )
    return "\n".join(lines) + "\n\n"


def as_text(
    columns: Sequence[Column],
    requests: Sequence[Request],
    bare: Sequence[str],
    *,
    every_sweep: bool,
) -> str:
    """What each table needs, the sum, and where the times are from."""
    plan = columns[0].plan
    rows = [_row(request.id, columns) for request in requests]
    rows += [_row(None, columns)] if len(requests) > 1 else []
    names = ["", "runs", "stored", "missing", "jobs", "memory", *(one.name for one in columns)]
    lines = [f"Scale: {requests[0].scale}", "", text_table(names, rows), ""]
    swept = [
        f"{row['table']}, {row['row']}: the best of {counted(row['runs'], 'run')} on all tasks, "
        f"{row['shared']} of them shared with other rows."
        for row in sweeps(requests)
    ]
    many = len(swept) > MOST_SWEEPS and not every_sweep
    lines += [f"{len(swept)} rows are the best of a sweep each."] if many else swept
    lines += gap_lines(requests)
    if bare:
        lines.append(f"No data here, planned as if there were: {', '.join(bare)}.")
    shared = sum(len(run.tables) > 1 for run in plan.runs)
    lines += [
        f"{counted(len(plan.runs), 'run')}: {len(plan.runs) - len(plan.missing)} stored, "
        f"{len(plan.missing)} missing, {shared} shared between tables.",
        *(
            f"{counted(count, 'run')} {reason}"
            for reason, count in Counter(why(r) for r in plan.runs if r.reason).items()
        ),
        *(line for one in columns for line in _explained(one, named=len(columns) > 1)),
    ]
    if plan.jobs:
        lines.append("`rehearse` measures the kinds of jobs; --runs lists the runs.")
    return "\n".join(lines) + "\n"


def _jobs(table: str, plan: Plan) -> list[Job]:
    """The jobs that train what a table lacks."""
    keys = {run.key for run in plan.runs if table in run.tables}
    return [job for job in plan.jobs if not keys.isdisjoint(job.keys)]


def _row(table: str | None, columns: Sequence[Column]) -> list[str]:
    """A table's numbers, or the sum's, in which a run counts once."""
    plan = columns[0].plan
    runs = [run for run in plan.runs if table is None or table in run.tables]
    stored = sum(run.state == "done" for run in runs)
    jobs = list(plan.jobs) if table is None else _jobs(table, plan)
    estimates = [one.total() if table is None else one.estimate(jobs) for one in columns]
    return [
        table or "all",
        *(str(number) for number in (len(runs), stored, len(runs) - stored, len(jobs))),
        size(estimates[0].memory_bytes) if jobs else GAP,
        *(_time(one) if jobs else GAP for one in estimates),
    ]


def _time(found: Estimate) -> str:
    """2.1 h (1.0 to 4.2 h)."""
    low, high = duration(found.low), duration(found.high)
    if low.split()[1] == high.split()[1]:
        low = low.split()[0]
    return f"{duration(found.seconds)} ({low} to {high})"


def _explained(column: Column, *, named: bool) -> list[str]:
    """The estimate, where its times are from, and what they hold beside the runs."""
    plan, total, on = column.plan, column.total(), f" on {column.name}" * named
    where = f"{'measured on' if plan.speed.measured else 'assuming'} {plan.speed.device}"
    lines = [
        f"Estimate{on}: {_time(total)}, {size(total.memory_bytes)}, with "
        f"{counted(column.workers, 'worker')} ({where})."
    ]
    if not plan.jobs:
        return lines
    names: dict[Basis, str] = {
        "rehearsed": "a rehearsal",
        "stored": "stored runs of their kind",
        "model": "a model",
    }
    count = Counter(basis(job, plan.speed) for job in plan.jobs)
    how = ", ".join(f"{count[one]} by {name}" for one, name in names.items() if count[one])
    error = ERROR["measured" if plan.speed.measured else "assumed"]
    within = f" (nine of ten within {error:g} times)" if count["model"] else ""
    start = plan.speed.start + plan.speed.job * len(plan.jobs)
    fetched = f" and a download of {size(column.fetched)}" if column.fetched else ""
    lines.append(
        f"Times{on} of {counted(len(plan.jobs), 'job')}: {how}{within}. Starts "
        f"({duration(start)}){fetched} are included."
    )
    return lines


def why(run: PlannedRun) -> str:
    """The state of a run and the reason for it."""
    if run.failure is not None:
        return f"failed: {run.failure.kind}"
    if run.blocked is not None:
        return f"blocked: {run.blocked}"
    return "stored" if run.state == "done" else run.state


def as_json(columns: Sequence[Column], requests: Sequence[Request]) -> dict[str, Any]:
    """The object of `plan --json`; docs/json.md describes it."""
    plan = columns[0].plan
    jobs = {key: job.id for job in plan.jobs for key in job.keys}
    return {
        "scale": requests[0].scale,
        "unavailable": all_unavailable(requests),
        "sweeps": sweeps(requests),
        "tables": [
            {
                "id": request.id,
                "estimate": _estimate(columns[0], columns[0].estimate(jobs_of)),
                "cards": [_estimate(one, one.estimate(jobs_of)) for one in columns if one.card],
            }
            for request in requests
            for jobs_of in [_jobs(request.id, plan)]
        ],
        "runs": [
            {
                "key": run.key,
                "name": run_name(run.spec),
                "state": run.state,
                "reason": run.reason,
                "tables": list(run.tables),
                "parents": run.spec.parents,
                "job": jobs.get(run.key),
            }
            for run in plan.runs
        ],
        "jobs": [
            {
                "id": job.id,
                "runs": job.keys,
                "after": sorted({jobs[key] for key in job.parents if key in jobs}),
                "seconds": cost.seconds,
                "low": cost.low,
                "high": cost.high,
                "basis": basis(job, plan.speed),
                "memory_bytes": round(cost.memory_bytes),
            }
            for job in plan.jobs
            for cost in [columns[0].each[job.id]]
        ],
        "estimate": _estimate(columns[0], columns[0].total()),
        "cards": [_estimate(one, one.total()) for one in columns if one.card],
    }


def _estimate(column: Column, found: Estimate) -> dict[str, Any]:
    return {
        "seconds": found.seconds,
        "low": found.low,
        "high": found.high,
        "memory_bytes": round(found.memory_bytes),
        "workers": column.workers,
        "device": column.plan.speed.device,
        "measured": column.plan.speed.measured,
    }
