"""Poolers, heads and the laws that new parameters start in."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from inside_samples import adapters, adapters_of, batch_of, encoder_of, learner_of, no_dropout
from torch import Tensor, nn

from repro.errors import ReproError
from repro.methods.fine_tuning import FullFineTuning, LayerNorms, TopLayers
from repro.methods.modules.learner import Linear, draw
from repro.methods.modules.randomness import generator

ROWS = batch_of([6, 3, 5])


def drawn(*, truncated: bool, std: float = 0.01) -> Tensor:
    linear = Linear(2, 1, 100, 200)
    nn.init.ones_(linear.bias)
    draw(linear, [generator("cpu", "init", seed) for seed in (0, 1)], std, truncated)
    assert not linear.bias.any()
    assert not torch.equal(linear.weight[0], linear.weight[1])
    return linear.weight.detach().double().flatten() / std


def test_a_truncated_start_is_the_normal_law_within_two_deviations() -> None:
    z = drawn(truncated=True)
    n = len(z)
    assert float(z.abs().max()) <= 2 + 1e-6
    # truncated at a = 2: variance 1 - 2 a phi(a) / (2 Phi(a) - 1) = 0.773741
    phi = math.exp(-2.0) / math.sqrt(2 * math.pi)
    variance = 1 - 4 * phi / math.erf(2 / math.sqrt(2))
    assert variance == pytest.approx(0.773741, abs=1e-6)
    assert abs(float(z.mean())) < 5 * math.sqrt(variance / n)
    assert abs(float(z.square().mean()) - variance) < 5 * math.sqrt(2 / n)
    inside = math.erf(1 / math.sqrt(2)) / math.erf(2 / math.sqrt(2))  # within one deviation
    share = float((z.abs() < 1).double().mean())
    assert abs(share - inside) < 5 * math.sqrt(inside * (1 - inside) / n)


def test_a_normal_start_is_not_truncated() -> None:
    z = drawn(truncated=False)
    beyond = math.erfc(2 / math.sqrt(2))
    share = float((z.abs() > 2).double().mean())
    assert abs(share - beyond) < 5 * math.sqrt(beyond / len(z))
    assert abs(float(z.square().mean()) - 1) < 5 * math.sqrt(2 / len(z))


def test_adapters_start_as_the_method_says_and_output_layers_as_berts() -> None:
    learner = learner_of(adapters(init_std=0.5, head="two-layer"), encoder_of("bert", 6))
    up = torch.cat([m.up.weight.flatten() for m in adapters_of(learner)])
    assert abs(float(up.detach().std()) / (0.5 * math.sqrt(0.773741)) - 1) < 0.1
    assert learner.head.dense is not None
    for layer in (learner.head.dense, learner.head.scorer):
        values = layer.weight.detach()
        assert abs(float(values.std()) / 0.02 - 1) < 5 / math.sqrt(2 * values.numel())
        assert not layer.bias.any()


@pytest.mark.parametrize("method", [adapters(), LayerNorms()])
def test_a_pooler_that_is_not_there_cannot_be_kept_frozen(method: Any) -> None:
    encoder = encoder_of("bert", pooler=False)
    with pytest.raises(
        ReproError, match=r"tiny hold no pooler.*method\.pooler = 'trained'.*--back"
    ):
        learner_of(method, encoder)
    learner_of(method, encoder, spans=True)  # spans read none


@pytest.mark.parametrize(
    "method", [adapters(pooler="trained"), TopLayers(layers=1), FullFineTuning()]
)
def test_a_trained_pooler_starts_from_the_checkpoint_or_is_drawn(method: Any) -> None:
    encoder = encoder_of("bert")
    assert encoder.pooler is not None
    loaded = learner_of(method, encoder).pooler
    assert loaded is not None
    assert torch.equal(loaded.weight.view(32, 32).t(), encoder.pooler.weight)
    assert torch.equal(loaded.bias.view(32), encoder.pooler.bias)
    made = learner_of(method, encoder_of("bert", pooler=False)).pooler
    assert made is not None
    # N(0, 0.02): the spread of 1,024 draws within five standard errors
    assert abs(float(made.weight.detach().std()) / 0.02 - 1) < 5 / math.sqrt(2 * 1024)
    assert not made.bias.any()


def test_frozen_and_trained_poolers_start_with_the_same_outputs() -> None:
    encoder = encoder_of("bert")
    frozen, trained = (learner_of(adapters(pooler=how), encoder) for how in ("frozen", "trained"))
    torch.testing.assert_close(frozen(ROWS, no_dropout()), trained(ROWS, no_dropout()))


def test_a_second_dense_layer_stands_between_pooler_and_classifier() -> None:
    encoder = encoder_of("bert")
    learner = learner_of(adapters(head="two-layer"), encoder)
    states = learner.start(ROWS, no_dropout())
    for index in range(learner.layers):
        states = learner.run_layer(index, states)
    assert encoder.pooler is not None
    pooled = torch.tanh(states[0] @ encoder.pooler.weight.T + encoder.pooler.bias)
    dense, scorer = learner.head.dense, learner.head.scorer
    assert dense is not None
    middle = torch.tanh(pooled @ dense.weight[0, 0] + dense.bias[0, 0])
    expected = middle @ scorer.weight[0, 0] + scorer.bias[0, 0]
    torch.testing.assert_close(learner.finish(states)[0], expected)
