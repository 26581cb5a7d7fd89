"""`run ID ...`: trains what tables and figures miss, without laying them out."""

from __future__ import annotations

from typing import Annotated

import typer

from repro.cli import completion
from repro.cli import options as o
from repro.cli.requests import gap_lines
from repro.cli.scales import choose
from repro.engine.jobs import sweep_jobs
from repro.engine.plan import make_plan
from repro.errors import INCOMPLETE, RUN_FAILED
from repro.papers.registry import TABLES, find_artefact
from repro.report.counted import count_missing
from repro.report.files import save_request


@o.grouped
def command(
    ids: Annotated[
        list[str],
        typer.Argument(
            help="Tables and figures, for example 3-shared-2.", autocompletion=completion.ids
        ),
    ],
    asked: o.Asked,
    how: o.How,
    retry: Annotated[bool, typer.Option("--retry", help="Train diverged runs again, too.")] = False,
    write_jobs: Annotated[
        bool,
        typer.Option(
            "--write-jobs",
            help="For a scheduler of your own: write the jobs and print their ids; do not train.",
        ),
    ] = False,
    store: o.StoreOption = None,
) -> None:
    """Trains the missing runs of tables and figures, each shared run once.

    Example: python -m repro run ResAdapters-1 ResAdapters-2 --scale smoke
    """
    results = o.open_store(store)
    requests = choose([find_artefact(id) for id in ids], asked, results, device=how.device)
    execution = how.execution(asked, requests[0].backbone)
    sweep_jobs(results)
    plan = make_plan(requests, results, o.any_speed(), retry_failed=retry)
    for request in requests:  # before the first job: `status` tells of it meanwhile
        save_request(results, request)
    if write_jobs:
        from repro.cli.execute import hand_over

        for job in hand_over(plan, results, execution):
            print(job)
        return
    if plan.jobs:
        from repro.cli.execute import train_missing

        train_missing(requests, results, execution, how, retry=retry)
    for request in requests:
        if request.id in TABLES:
            for problem in count_missing(TABLES[request.id], request, results):
                print(f"Not counted: {problem}")
    plan = make_plan(requests, results, o.any_speed())
    done = len(plan.runs) - len(plan.missing)
    print(f"{done} of {len(plan.runs)} runs are stored in {results.root}.")
    for line in gap_lines(requests):
        print(line)
    failed = sum(run.state == "failed" for run in plan.runs)
    blocked = sum(run.state == "blocked" for run in plan.runs)
    if blocked:
        print(f"{blocked} blocked: a run that they are made from failed.")
    if failed:
        print(f"{failed} failed: `python -m repro status` says why, --retry tries diverged ones.")
        raise typer.Exit(RUN_FAILED)
    raise typer.Exit(INCOMPLETE if plan.missing else 0)
