"""`plan [ID ...]`: what would run, what is stored, what it would cost. Trains nothing."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from repro.cli import completion
from repro.cli import options as o
from repro.cli.requests import all_unavailable, gap_lines
from repro.cli.scales import choose
from repro.engine.cost import estimate, stored_speed
from repro.engine.plan import Plan, PlannedRun, make_plan
from repro.papers.matrix import Matrix
from repro.papers.registry import ARTEFACTS, TABLES, find_artefact
from repro.papers.request import Request
from repro.papers.tables import Table
from repro.report.layout import text_table
from repro.report.render import json_text
from repro.words import counted, duration, run_name, size


@o.grouped
def command(
    asked: o.Asked,
    ids: Annotated[
        list[str] | None,
        typer.Argument(help="Tables and figures (default: all).", autocompletion=completion.ids),
    ] = None,
    json: o.JsonOption = False,
    store: o.StoreOption = None,
    device: o.DeviceOption = "auto",
    workers: o.WorkersOption = None,
) -> None:
    """Shows every run behind the tables: stored, missing, shared, and what the rest costs.

    Example: python -m repro plan ResAdapters-1 --scale paper
    """
    results = o.open_store(store)
    artefacts = [find_artefact(id) for id in ids or list(ARTEFACTS)]
    requests = choose(artefacts, asked, results, device=device)
    kind = o.trains_on(device)
    if device == "auto" and requests[0].scale == "paper":
        kind = "cuda"
    # As `table` trains it: what diverged before is tried again only with --retry.
    plan = make_plan(requests, results, stored_speed(results.root, kind), retry_failed=False)
    count = o.executor_for(plan, kind, workers).slots
    shown = json_text(as_json(plan, requests, count)) if json else as_text(plan, requests, count)
    sys.stdout.write(shown)


def sweeps(requests: Sequence[Request]) -> list[dict[str, Any]]:
    """Rows that are selected: how many runs that is, how many of them other rows need, too."""
    found = []
    for request in requests:
        table = TABLES.get(request.id)
        if table is None or all(row.select == "mean" for row in table.rows):
            continue
        matrix = table.matrix(request)
        keys = {row.name: _keys(matrix, row.name) for row in matrix.artefact.trained}
        needed = Counter(key for own in keys.values() for key in own)
        found += [
            {
                "table": request.id,
                "row": name,
                "runs": len(own),
                "shared": sum(needed[key] > 1 for key in own),
            }
            for name, own in keys.items()
        ]
    return found


def _keys(matrix: Matrix[Table], row: str) -> set[str]:
    return {entry.key for entry in matrix.entries if entry.row == row and entry.role == "cell"}


def as_text(plan: Plan, requests: Sequence[Request], workers: int) -> str:
    """The runs, one a line, the jobs and the sum."""
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
    scale = requests[0].scale
    lines = [f"Scale: {scale}", "", text_table(["run", "what", "state", "tables", "job"], rows), ""]
    for number, job in enumerate(plan.jobs, 1):
        cost = estimate(job, plan.speed)
        lines.append(
            f"job {number} ({job.id}): {counted(len(job.specs), 'run')} on one pass of "
            f"{job.lead.backbone.name}, about {duration(cost.seconds)}, {size(cost.memory_bytes)}"
        )
    lines += [
        f"{row['table']}, {row['row']}: the best of {counted(row['runs'], 'run')} on all tasks, "
        f"{row['shared']} of them shared with other rows."
        for row in sweeps(requests)
    ]
    lines += gap_lines(requests)
    total = plan.estimate(workers)
    shared = sum(len(run.tables) > 1 for run in plan.runs)
    how = "measured on" if plan.speed.measured else "assuming"
    lines += [
        f"{counted(len(plan.runs), 'run')}: {len(plan.runs) - len(plan.missing)} stored, "
        f"{len(plan.missing)} missing, {shared} shared between tables.",
        f"Estimate: {duration(total.seconds)}, {size(total.memory_bytes)}, with "
        f"{counted(workers, 'worker')} ({how} {plan.speed.device}).",
    ]
    return "\n".join(lines) + "\n"


def why(run: PlannedRun) -> str:
    """The state of a run and the reason for it."""
    if run.failure is not None:
        return f"failed: {run.failure.kind}"
    if run.blocked is not None:
        return f"blocked: {run.blocked}"
    return {"done": "stored", "missing": "missing", "running": "running"}.get(run.state, run.state)


def as_json(plan: Plan, requests: Sequence[Request], workers: int) -> dict[str, Any]:
    """The object of `plan --json`; docs/json.md describes it."""
    jobs = {key: job.id for job in plan.jobs for key in job.keys}
    total = plan.estimate(workers)
    return {
        "scale": requests[0].scale,
        "unavailable": all_unavailable(requests),
        "sweeps": sweeps(requests),
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
                "seconds": cost.seconds,
                "memory_bytes": round(cost.memory_bytes),
            }
            for job in plan.jobs
            for cost in [estimate(job, plan.speed)]
        ],
        "estimate": {
            "seconds": total.seconds,
            "memory_bytes": round(total.memory_bytes),
            "workers": workers,
            "device": plan.speed.device,
            "measured": plan.speed.measured,
        },
    }
