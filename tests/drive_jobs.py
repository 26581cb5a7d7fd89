"""A driver to kill: `drive_jobs.py STORE MODEL WHICH [EXECUTOR [WORKERS]]` trains a few runs and
prints every event. EXECUTOR is `local`, `slurm` or `ray`.

WHICH is `frozen` (the runs of both tables that share one encoder, one job), `long` (the same, ten
times as many epochs), `tuning` (the full fine-tuning of ResAdapters-2), `family` (a run and one
that is made from it) or `many` (six such families, twelve jobs). Every step writes a checkpoint; a
job is tried again at once, however often its worker is killed.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from fake_results import request, runs_of
from run_samples import run_spec

from repro.backbones.describe import describe
from repro.engine import dispatch, on_ray, slurm
from repro.engine.dispatch import Dispatcher, Executor
from repro.engine.jobs import Execution, Job
from repro.engine.local import LocalExecutor
from repro.engine.on_ray import RayExecutor
from repro.engine.plan import jobs_for
from repro.engine.slurm import SlurmExecutor
from repro.methods.adaptable_adapters import AdaptableAdapters
from repro.methods.fine_tuning import FullFineTuning
from repro.methods.resadapters import PipelinedCells
from repro.spec import Backbone, GlueTask, RunSpec, run_key
from repro.store import Store

SWITCHED = AdaptableAdapters(size=4, activation="rational", switch="as-run")
CHOSEN = AdaptableAdapters(size=4, activation="relu", layers="selected")
DATA = "seed=0,train=40,validation=12"


def wanted(model: str, which: str) -> list[RunSpec]:
    """The runs, each once: three epochs of three steps, thirty where long; a family two of two."""
    backbone = describe(model)
    if which in ("family", "many"):
        seeds = range(1 if which == "family" else 6)
        return [spec for seed in seeds for spec in family(backbone, seed)]
    tables = [
        request(
            table,
            backbone=backbone,
            data_revisions={"squad2": DATA},
            epochs=30 if which == "long" else 3,
        )
        for table in ("ResAdapters-1", "ResAdapters-2")
    ]
    specs = {run_key(spec): spec for table in tables for spec in runs_of(table)}
    tuned = which == "tuning"
    return [pinned(s) for s in specs.values() if isinstance(s.method, FullFineTuning) is tuned]


def family(backbone: Backbone, seed: int) -> list[RunSpec]:
    """A run made from what another selects, and that one, on rows of their own."""
    rows = f"seed={seed},train=8,validation=4"
    task = GlueTask(name="cola", source="generated", revision=rows)
    parent = run_spec(SWITCHED, backbone=backbone, task=task)
    roles = {"architecture": run_key(parent)}
    return [run_spec(CHOSEN, backbone=backbone, task=task, parents=roles), parent]


def pinned(spec: RunSpec) -> RunSpec:
    """The run with what these tests count on, whatever the scale's setting is: every row in
    training, 16 windows a step, dropout (whose state a checkpoint has to hold).
    """
    task = spec.task.model_copy(update={"answerable_share": None})
    recipe = spec.recipe.model_copy(update={"batch_size": 16})
    method = spec.method
    if isinstance(method, (PipelinedCells, FullFineTuning)):
        method = method.model_copy(update={"dropout": 0.3})
    return spec.model_copy(update={"task": task, "recipe": recipe, "method": method})


def tell(job: Job, event: dict[str, Any]) -> None:
    if event["event"] != "outcome":
        print(json.dumps(event | {"job": job.id}), flush=True)


def executor(name: str, root: str, workers: int) -> Executor:
    if name == "slurm":
        slurm.PAUSES = (0.2, 0.5)
        return SlurmExecutor(Path(root), slurm.Profile())
    if name == "ray":
        return RayExecutor(Path(root), on_ray.Profile(address=os.environ.get("RAY_ADDRESS")))
    return LocalExecutor(workers)


def main(root: str, model: str, which: str, by: str = "local", workers: str = "1") -> None:
    dispatch.BACKOFF = (0.0,) * 1000
    store, specs = Store(root), wanted(model, which)
    revision = specs[0].backbone.revision
    assert revision is not None
    execution = Execution(
        threads=1, checkpoint_steps=1, folders={revision: model}, keep_weights=True
    )
    missing = [spec for spec in specs if store.state(run_key(spec)) != "done"]
    jobs = jobs_for(missing, store)
    outcomes = Dispatcher(executor(by, root, int(workers)), tell).run(jobs, store, execution)
    print(json.dumps({"event": "ended", "kinds": [o.kind for o in outcomes]}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
