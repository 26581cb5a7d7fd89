"""The scores of a trained run with the adapters of every span of layers switched off.

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

from repro.methods.modules.learner import Inputs
from repro.methods.modules.randomness import Dropout
from repro.spec.spans import INTACT, all_spans, span_group
from repro.tasks.data import Collector


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
    silent = Dropout([])
    silent.active = False
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
