"""Spans of switched-off adapters: the shared work gives what running each from the bottom gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from inside_samples import adapters, adapters_of, batch_of, encoder_of, learner_of, no_dropout
from numpy.typing import NDArray
from torch import Tensor

from repro.methods.bottleneck_adapters.module import slots_of
from repro.methods.modules.layout import Layout
from repro.methods.modules.learner import Inputs
from repro.methods.modules.randomness import Dropout
from repro.spec.spans import INTACT, all_spans, span_group
from repro.training.ablation import score_spans, span_scores

SILENT = Dropout([])
SILENT.active = False


class Chain:
    """A learner whose layers are random maps, with or without a random adapter; counts passes."""

    def __init__(self, layers: int, width: int = 4) -> None:
        draw = torch.Generator().manual_seed(layers)
        self.layers = layers
        self.maps = torch.randn(layers, width, width, generator=draw)
        self.adapters = torch.randn(layers, width, width, generator=draw)
        self.passes = 0

    def start(self, inputs: Inputs, dropout: Dropout) -> Tensor:
        assert not dropout.active
        return inputs.input_ids.float()[None]

    def run_layer(self, index: int, states: Tensor, adapters: bool = True) -> Tensor:
        self.passes += 1
        states = torch.tanh(states @ self.maps[index])
        return states + torch.tanh(states @ self.adapters[index]) if adapters else states

    def finish(self, states: Tensor) -> Tensor:
        return states.cumsum(-1)


class Kept:
    """A collector that keeps the outputs it was given."""

    def __init__(self) -> None:
        self.rows: dict[int, NDArray[np.float32]] = {}

    def add(self, indices: list[int], outputs: NDArray[np.float32]) -> None:
        assert outputs.dtype == np.float32
        self.rows |= dict(zip(indices, outputs, strict=True))

    def scores(self, epoch: int) -> list[dict[str, Any]]:
        common = {"task": "mnli", "protocol": "glue", "epoch": epoch, "group": "ALL"}
        return [
            {**common, "split": split, "metric": "accuracy", "value": 50.0, "n": len(self.rows)}
            for split in ("validation_matched", "validation_mismatched")
        ]

    def predictions(self) -> dict[str, Any]:
        return {}


def inputs_of(rows: NDArray[np.int64]) -> Inputs:
    ids = torch.from_numpy(rows)
    real = torch.ones_like(ids)
    layout = Layout.of(real, keep_padding=False)
    return Inputs(input_ids=ids, attention_mask=real, type_ids=ids * 0, layout=layout, states=[])


def two_batches() -> list[tuple[list[int], Inputs]]:
    """Five examples, in an order of their own."""
    rows = np.random.default_rng(0).integers(-3, 4, (5, 4))
    return [([3, 0, 4], inputs_of(rows[[3, 0, 4]])), ([2, 1], inputs_of(rows[[2, 1]]))]


def from_bottom(learner: Chain, inputs: Inputs, off: range) -> Tensor:
    """The plain way: every layer, from the first."""
    states = learner.start(inputs, SILENT)
    for layer in range(learner.layers):
        states = learner.run_layer(layer, states, adapters=layer not in off)
    return learner.finish(states)


@pytest.mark.parametrize("layers", [1, 2, 6, 12])
def test_shared_work_gives_what_running_each_span_from_the_bottom_gives(layers: int) -> None:
    learner, batches = Chain(layers), two_batches()
    found = score_spans(learner, batches, Kept)
    for first, last in all_spans(layers):
        kept = found[span_group((first, last))]
        assert isinstance(kept, Kept)
        for indices, inputs in batches:
            plain = from_bottom(learner, inputs, range(first, last + 1))[0]
            for index, row in zip(indices, plain, strict=True):
                np.testing.assert_array_equal(kept.rows[index], row.numpy())


def test_intact_is_the_model_with_every_adapter_on() -> None:
    learner, batches = Chain(3), two_batches()
    kept = score_spans(learner, batches, Kept)[INTACT]
    assert isinstance(kept, Kept)
    assert sorted(kept.rows) == [0, 1, 2, 3, 4]
    np.testing.assert_array_equal(
        kept.rows[0], from_bottom(learner, batches[0][1], range(0))[0][1].numpy()
    )


@pytest.mark.parametrize(("layers", "spans", "shared"), [(12, 78, 364), (6, 21, 56), (1, 1, 1)])
def test_each_layer_is_run_no_oftener_than_needed(layers: int, spans: int, shared: int) -> None:
    """Passes through a layer for the spans; the intact model adds one through each layer.

    By hand for 6 layers: 6 + 5 + 4 + 3 + 2 + 1 = 21 with adapters off, and for the tails above
    spans that end at layer j, j + 1 of them, 1 x 5 + 2 x 4 + 3 x 3 + 4 x 2 + 5 x 1 = 35.
    """
    learner = Chain(layers)
    found = score_spans(learner, two_batches()[:1], Kept)
    assert len(found) == spans + 1
    assert learner.passes == shared + layers


def test_scores_are_named_by_their_span_and_only_the_split_asked_for_is_kept() -> None:
    found = score_spans(Chain(2), two_batches(), Kept)
    scores = list(span_scores(found, "validation_matched", epoch=3))
    assert [score["group"] for score in scores] == [
        "intact", "layers 0-0", "layers 0-1", "layers 1-1",
    ]  # fmt: skip
    assert {(s["split"], s["epoch"], s["n"]) for s in scores} == {("validation_matched", 3, 5)}


@pytest.mark.parametrize("changes", [{}, {"placement": "pfeiffer"}, {"norms": "all", "span": 1}])
def test_a_real_learner_agrees_with_adapters_that_give_nothing(changes: dict[str, Any]) -> None:
    """The plain way: the span's adapters get an up-projection of 0, then one whole forward pass."""
    layers, batches = 4, [([2, 0, 1], batch_of([9, 4, 7], 1)), ([3], batch_of([5], 2))]
    spec = adapters(**changes)
    encoder = encoder_of("bert", layers)
    learner = learner_of(spec, encoder).eval()
    found = score_spans(learner, batches, Kept)
    slots = slots_of(spec, layers)
    moved = 0
    for first, last in all_spans(layers):
        silenced = learner_of(spec, encoder).eval()
        with torch.no_grad():
            for number in {n for layer in range(first, last + 1) for n in slots[layer]}:
                for parameter in adapters_of(silenced)[number].up.parameters():
                    parameter.zero_()
            plain = [(rows, silenced(inputs, no_dropout())[0]) for rows, inputs in batches]
        kept, intact = found[span_group((first, last))], found[INTACT]
        assert isinstance(kept, Kept)
        assert isinstance(intact, Kept)
        for rows, outputs in plain:
            for row, expected in zip(rows, outputs.numpy(), strict=True):
                np.testing.assert_allclose(kept.rows[row], expected, rtol=0, atol=1e-6)
                assert kept.rows[row].argmax() == expected.argmax()
                moved += not np.array_equal(kept.rows[row], intact.rows[row])
    assert moved == len(all_spans(layers)) * 4  # every span changes every example
