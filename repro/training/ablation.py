"""Evaluates a trained run with adapters off: of every span of layers, or of the first."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from repro.backbones.load import Encoder
from repro.methods.modules.learner import Inputs
from repro.methods.modules.randomness import Dropout
from repro.spec import GlueTask, RunSpec
from repro.spec.glue import GLUE
from repro.tasks.data import TaskData
from repro.training.batches import collate, length_sorted, placed
from repro.training.cohort import Cohort
from repro.training.environment import matrix_products
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
    learner = _learner(trained, tensors, encoder, device)
    batches = length_sorted(data.evaluation, EVALUATION_TOKENS[device.type])
    tell = _teller(report, epoch, len(batches))
    with matrix_products(trained.recipe.precision, device):
        found = score_spans(learner, _inputs(batches, data, device), data.collector, tell)
    return list(span_scores(found, GLUE[trained.task.name].evaluation[0], epoch))


def score_last_layers(
    trained: RunSpec,
    tensors: dict[str, Tensor],
    kept: int,
    epoch: int,
    encoder: Encoder,
    data: TaskData,
    device: torch.device,
    report: Report,
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The scores on every split, and the predictions, with the adapters of the last `kept` layers.

    The other arguments are those of `ablate`. Raises FloatingPointError where an output is not
    finite.
    """
    learner = _learner(trained, tensors, encoder, device)
    batches = length_sorted(data.evaluation, EVALUATION_TOKENS[device.type])
    tell, collector, silent = _teller(report, epoch, len(batches)), data.collector(), Dropout([])
    silent.active = False
    with matrix_products(trained.recipe.precision, device), torch.no_grad():
        for done, (indices, inputs) in enumerate(_inputs(batches, data, device), 1):
            states = learner.start(inputs, silent)
            for layer in range(learner.layers):
                states = learner.run_layer(layer, states, adapters=layer >= learner.layers - kept)
            collector.add(indices, learner.finish(states)[0].float().cpu().numpy())
            tell(done)
    return collector.scores(epoch), collector.predictions()


def _learner(
    trained: RunSpec, tensors: dict[str, Tensor], encoder: Encoder, device: torch.device
) -> Any:
    """The run as it was trained, in eval mode."""
    cohort = Cohort([0], [trained], encoder, device, steps=1)
    cohort.load_artefact(0, tensors)
    return cohort.learner.eval()


def _teller(report: Report, epoch: int, batches: int) -> Callable[[int], None]:
    def tell(done: int) -> None:
        report({"event": "evaluation", "epoch": epoch, "batch": done, "batches": batches})

    return tell


def _inputs(
    batches: list[list[int]], data: TaskData, device: torch.device
) -> Iterator[tuple[list[int], Inputs]]:
    """Each batch of evaluation examples with its indices."""
    for indices in batches:
        yield indices, placed(collate([data.evaluation[i] for i in indices], data.pad_id), device)
