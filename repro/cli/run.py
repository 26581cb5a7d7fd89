"""`run ID ...`: trains what tables and figures miss, without laying them out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Annotated

import typer

from repro.cli import options as o
from repro.cli.requests import gap_lines
from repro.cli.scales import choose
from repro.engine.jobs import Execution, sweep_jobs
from repro.engine.plan import Plan, make_plan
from repro.errors import INCOMPLETE, RUN_FAILED
from repro.papers.registry import TABLES, find_artefact
from repro.papers.request import Request
from repro.papers.sweeps import Sweep
from repro.report.counted import count_missing
from repro.report.files import Asked, save_request
from repro.store.store import Store
from repro.words import share


@o.grouped
def command(
    ids: Annotated[
        list[str],
        o.ids("Tables and figures, for example 3-shared-2."),
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
    if write_jobs:
        from repro.cli.execute import hand_over

        plan = planned(requests, results, retry=retry)
        print("".join(f"{job}\n" for job in hand_over(plan, results, execution)), end="")
        return
    train(requests, results, execution, how, retry=retry)
    for request in requests:
        if request.id in TABLES:
            for problem in count_missing(TABLES[request.id], request, results):
                print(f"Not counted: {problem}")
    plan = make_plan(requests, results)
    tell(plan, requests, results)
    raise typer.Exit(exit_code(plan))


def planned(
    requests: Sequence[Request], store: Store, *, retry: bool, sweep: Sweep | None = None
) -> Plan:
    """What is to be trained. Remembers the requests, or the sweep that they are of, for `status`
    and `report`.
    """
    sweep_jobs(store)
    plan = make_plan(requests, store, retry_failed=retry)
    remembered: Sequence[Asked] = requests if sweep is None else [sweep]
    for asked in remembered:
        save_request(store, asked)
    return plan


def train(
    requests: Sequence[Request],
    store: Store,
    execution: Execution,
    how: o.How,
    *,
    retry: bool,
    sweep: Sweep | None = None,
) -> None:
    """Trains what is missing, if anything is; see `planned`."""
    if planned(requests, store, retry=retry, sweep=sweep).jobs:
        from repro.cli.execute import train_missing

        train_missing(requests, store, execution, how, retry=retry)


def exit_code(plan: Plan, *, gaps: bool = False) -> int:
    """1 a run failed, 3 runs are missing, or cells are gaps for another reason; else 0."""
    if any(run.state == "failed" for run in plan.runs):
        return RUN_FAILED
    return INCOMPLETE if gaps or plan.missing else 0


def tell(plan: Plan, requests: Sequence[Request], store: Store) -> None:
    """Says how the runs stand."""
    done = len(plan.runs) - len(plan.missing)
    print(f"{share(done, len(plan.runs), 'run')} stored in {store.called}.")
    for line in gap_lines(requests):
        print(line)
    states = Counter(run.state for run in plan.runs)
    if states["blocked"]:
        print(f"{states['blocked']} blocked: a run that they are made from failed.")
    if states["failed"]:
        print(
            f"{states['failed']} failed: `python -m repro status` says why, --retry tries diverged "
            "ones."
        )
