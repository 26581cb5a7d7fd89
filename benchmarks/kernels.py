"""Kernels of one training step by method: 32 rows like MRPC's on MiniLM, dropout on.

    python benchmarks/kernels.py [--names] [--bf16]

`repro.training.kernels` says what is counted. `--names` lists every kind of operation.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from typing import Any

import torch

from repro.backbones.load import Encoder, load_encoder
from repro.methods.lora import LoRA
from repro.methods.modules.learner import Inputs
from repro.papers.request import Request
from repro.papers.resadapters.tables import ONE
from repro.papers.three_shared.setting import runs_of
from repro.spec import RunSpec
from repro.training.batches import collate, placed
from repro.training.cohort import Cohort
from repro.training.environment import prepare_process, prepare_torch
from repro.training.feed import FrozenStates
from repro.training.kernels import Kernels

BATCH, MEAN, DEVIATION = 32, 53, 14
"""Rows of a batch, and the mean and deviation of their tokens."""
METHODS = ("pfeiffer", "houlsby", "full-fine-tuning")


@dataclass(frozen=True, slots=True)
class Row:
    """An example of random tokens."""

    input_ids: Any
    type_ids: Any
    target: Any
    task: int = 0


def specs() -> dict[str, RunSpec]:
    """Name -> a run of each method."""
    request = Request("3-shared-2", "smoke", 1)
    found = {name: runs_of(name, "mrpc", request).run(0) for name in METHODS}
    found["lora"] = found["pfeiffer"].model_copy(update={"method": LoRA()})
    rows = ONE.matrix(Request(ONE.id, "smoke", 1)).runs.values()
    wired = (run for run in rows if getattr(run.method, "wiring", "") == "resnext")
    return found | {"resnext cells": next(wired)}


def examples(spans: bool) -> list[Row]:
    """Rows of random tokens."""
    lengths = (torch.randn(BATCH) * DEVIATION + MEAN).clamp(5, 128).int().tolist()
    rows = [torch.randint(1000, 20_000, (length,)).tolist() for length in lengths]
    return [Row(row, [0] * len(row), (1, 2) if spans else 1) for row in rows]


def count(encoder: Encoder, spec: RunSpec) -> Kernels:
    """Counts the second step of a run; the batch on its way to the device is part of it."""
    device = torch.device("cpu")
    cohort = Cohort([0], [spec], encoder, device, 1000)
    rows = examples(spec.method.reads_states)
    kernels = Kernels()
    for number in (1, 2):
        batch = collate(rows, 0)
        kernels = Kernels()
        with kernels:
            cohort.prepare(number)
            inputs: Inputs = placed(batch, device)
            if cohort.learner.reads_states:
                states = FrozenStates(encoder, device).packed(rows, batch, inputs.layout)
                inputs = replace(inputs, states=states)
            cohort.accumulate(inputs, batch.targets.unsqueeze(0), 1.0)
            cohort.optimizer.step(number)
    return kernels


def main() -> None:
    """One line a method."""
    prepare_process(deterministic=False)
    prepare_torch("cpu", threads=None, deterministic=False, tf32=False)
    encoder = load_encoder(specs()["pfeiffer"].backbone, {}, torch.device("cpu"))
    precision = "bf16" if "--bf16" in sys.argv else "fp32"
    for name, spec in specs().items():
        recipe = spec.recipe.model_copy(update={"precision": precision})
        torch.manual_seed(0)
        kernels = count(encoder, spec.model_copy(update={"recipe": recipe}))
        print(f"{name}: {kernels.total()} kernels a step")
        if "--names" in sys.argv:
            print("   ", ", ".join(f"{n} {c}" for n, c in kernels.calls.most_common()))


if __name__ == "__main__":
    main()
