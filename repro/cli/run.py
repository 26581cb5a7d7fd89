"""`run ID ...`: trains what tables miss, without laying them out."""

from __future__ import annotations

from typing import Annotated

import typer

from repro.cli import options as o
from repro.cli.scales import choose
from repro.engine.jobs import Execution, sweep_jobs
from repro.engine.plan import make_plan
from repro.errors import INCOMPLETE, RUN_FAILED
from repro.papers.registry import find_table
from repro.report.files import save_request


def command(
    ids: Annotated[list[str], typer.Argument(help="Tables, for example ResAdapters-1.")],
    scale: o.ScaleOption = "auto",
    seeds: o.SeedsOption = None,
    backbone: o.BackboneOption = None,
    train_rows: o.TrainRowsOption = None,
    evaluation_rows: o.EvaluationRowsOption = None,
    epochs: o.EpochsOption = None,
    learning_rate: o.RateOption = None,
    bottleneck: o.BottleneckOption = None,
    precision: o.PrecisionOption = None,
    as_released: o.AsReleasedOption = False,
    budget: o.BudgetOption = 1.0,
    retry: Annotated[bool, typer.Option("--retry", help="Train diverged runs again, too.")] = False,
    store: o.StoreOption = None,
    device: o.DeviceOption = "auto",
    threads: o.ThreadsOption = None,
    deterministic: o.DeterministicOption = False,
    tf32: o.Tf32Option = False,
    keep_weights: o.KeepWeightsOption = False,
    micro_batch: o.MicroBatchOption = None,
) -> None:
    """Trains the missing runs of one or more tables, each shared run once.

    Example: python -m repro run ResAdapters-1 ResAdapters-2 --scale smoke
    """
    results = o.open_store(store)
    asked = o.Asked(
        scale, seeds, backbone, train_rows, evaluation_rows, epochs, learning_rate, bottleneck,
        precision, as_released, budget,
    )  # fmt: skip
    requests = choose([find_table(id) for id in ids], asked, results)
    execution = Execution(
        device=o.check_device(device),
        threads=threads,
        deterministic=deterministic,
        tf32=tf32,
        keep_weights=keep_weights,
        micro_batch=micro_batch,
        folders=o.find_folders(backbone),
    )
    sweep_jobs(results)
    if make_plan(requests, results, o.any_speed(), retry_failed=retry).jobs:
        from repro.cli.execute import train_missing

        train_missing(requests, results, execution, retry=retry)
    for request in requests:
        save_request(results, request)
    plan = make_plan(requests, results, o.any_speed())
    done = len(plan.runs) - len(plan.missing)
    print(f"{done} of {len(plan.runs)} runs are stored in {results.root}.")
    failed = sum(run.state == "failed" for run in plan.runs)
    if failed:
        print(f"{failed} failed: `python -m repro status` says why, --retry tries diverged ones.")
        raise typer.Exit(RUN_FAILED)
    raise typer.Exit(INCOMPLETE if plan.missing else 0)
