"""Evaluates a trained run with adapters off: of every span of layers, or of the first.

Houlsby et al. 2019, section 3.6: nothing is trained again; trained layer norms and head stay.

A layer below the span and a layer inside it do the same work for many spans, so each is done once:

    on[k]      state below layer k, all adapters on            one pass through the encoder
    off[i][k]  state below layer k >= i, adapters off from i   starts from on[i], one layer a k
    span i..j  layers j+1 and up with adapters on, from off[i][j+1]

With L layers that is L passes through a layer for the intact model and L (L + 1) (L + 2) / 6 for
all spans together, where running each from the bottom takes L * L (L + 1) / 2: 364 against 936
for 12 layers, 56 against 126 for 6.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol

import torch
from torch import Tensor

from repro.backbones.load import Encoder
from repro.methods.modules.learner import Inputs
from repro.methods.modules.randomness import Dropout
from repro.spec import GlueTask, RunSpec
from repro.spec.glue import GLUE
from repro.spec.spans import INTACT, all_spans, span_group
from repro.tasks.data import Collector, TaskData
from repro.training.batches import collate, length_sorted, placed
from repro.training.cohort import Cohort
from repro.training.environment import matrix_products
from repro.training.group import EVALUATION_TOKENS

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
    tell, collector = _teller(report, epoch, len(batches)), data.collector()
    silent = _no_dropout()
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


class Layered(Protocol):
    """A learner that can be run layer by layer; states are packed, (1, tokens, hidden)."""

    @property
    def layers(self) -> int:
        """How many layers its encoder has."""

    def start(self, inputs: Inputs, dropout: Dropout) -> Tensor:
        """What goes into layer 0."""

    def run_layer(self, index: int, states: Tensor, adapters: bool = True) -> Tensor:
        """What comes out of layer `index`, its adapters left out where `adapters` is False."""

    def finish(self, states: Tensor) -> Tensor:
        """The outputs (1, batch, outputs) for what came out of the last layer."""


def score_spans(
    learner: Layered,
    batches: Iterable[tuple[list[int], Inputs]],
    collector: Callable[[], Collector],
    tell: Callable[[int], None] = lambda done: None,
) -> dict[str, Collector]:
    """Group ("intact", "layers 2-5") -> a collector with the outputs for all `batches`.

    `learner` holds the weights of one run, in eval mode; a batch is the indices of its examples
    and the examples. The states of one batch are kept at a time, those of one layer each.
    `tell` hears after each batch how many are done. Raises FloatingPointError where an output is
    not finite.
    """
    groups = [INTACT, *map(span_group, all_spans(learner.layers))]
    collectors = {group: collector() for group in groups}
    silent = _no_dropout()
    for done, (indices, inputs) in enumerate(batches, 1):
        with torch.no_grad():
            for group, outputs in _outputs(learner, inputs, silent):
                collectors[group].add(indices, outputs[0].float().cpu().numpy())
        tell(done)
    return collectors


def span_scores(
    collectors: dict[str, Collector], split: str, epoch: int
) -> Iterator[dict[str, Any]]:
    """The scores of each collector on `split`, their group the collector's name.

    `epoch` is that of the trained weights.
    """
    for group, collector in collectors.items():
        for score in collector.scores(epoch):
            if score["split"] == split:
                yield {**score, "group": group}


def _outputs(learner: Layered, inputs: Inputs, dropout: Dropout) -> Iterator[tuple[str, Tensor]]:
    """Every group with its outputs (1, batch, outputs) for one batch."""
    layers = range(learner.layers)
    on = [learner.start(inputs, dropout)]
    for layer in layers:
        on.append(learner.run_layer(layer, on[layer]))
    yield INTACT, learner.finish(on[-1])
    for first in layers:
        off = on[first]
        for last in layers[first:]:
            off = learner.run_layer(last, off, adapters=False)
            states = off
            for layer in layers[last + 1 :]:
                states = learner.run_layer(layer, states)
            yield span_group((first, last)), learner.finish(states)


def _no_dropout() -> Dropout:
    found = Dropout([])
    found.active = False
    return found
