"""Evaluates a trained run with the adapters of every span of layers switched off."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from repro.backbones.load import Encoder
from repro.methods.learner import Inputs
from repro.spec import GlueTask, RunSpec
from repro.spec.glue import GLUE
from repro.tasks.data import TaskData
from repro.training.batches import collate, length_sorted, placed
from repro.training.cohort import Cohort
from repro.training.group import EVALUATION_TOKENS
from repro.training.spans import score_spans, span_scores

Report = Callable[[dict[str, Any]], None]


def ablate(
    trained: RunSpec,
    tensors: dict[str, Tensor],
    epoch: int,
    encoder: Encoder,
    data: TaskData,
    device: torch.device,
    report: Report,
) -> list[dict[str, Any]]:
    """The scores of every span on the task's first scored split.

    `tensors` is the artefact of the run `trained`, whose weights are those of `epoch`.
    """
    assert isinstance(trained.task, GlueTask)
    cohort = Cohort([0], [trained], encoder, device, steps=1)
    cohort.load_artefact(0, tensors)
    learner: Any = cohort.learner.eval()
    batches = length_sorted(data.evaluation, EVALUATION_TOKENS[device.type])

    def tell(done: int) -> None:
        report({"event": "evaluation", "epoch": epoch, "batch": done, "batches": len(batches)})

    bf16 = trained.recipe.precision == "bf16"
    with torch.autocast(device.type, torch.bfloat16, enabled=bf16):  # as the run was scored
        found = score_spans(learner, _inputs(batches, data, device), data.collector, tell)
    return list(span_scores(found, GLUE[trained.task.name].evaluation[0], epoch))


def _inputs(
    batches: list[list[int]], data: TaskData, device: torch.device
) -> Iterator[tuple[list[int], Inputs]]:
    """Each batch of evaluation examples with its indices."""
    for indices in batches:
        yield indices, placed(collate([data.evaluation[i] for i in indices], data.pad_id), device)
