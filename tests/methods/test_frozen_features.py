"""Frozen features against a second implementation: loops over rows, tokens and gates."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from run_samples import run_spec
from tiny_models import HIDDEN, inputs_of, random_states, real_tokens, tiny_encoder
from torch import Tensor, nn

from repro.methods.frozen_features import FrozenFeatures
from repro.methods.modules.randomness import Dropout, generator
from repro.spec import GlueTask, TaggingTask, TextTask
from repro.spec.backbones import BERT_BASE, KNOWN

UNITS, LAYERS = 5, 3
TASKS: dict[str, Any] = {
    "classes": GlueTask(name="mnli", source="generated", revision="by hand"),
    "number": TextTask(name="sick-r", source="generated", revision="by hand"),
    "tags": TaggingTask(source="generated", revision="by hand"),
}
OUTPUTS = {"classes": 3, "number": 1, "tags": 9}
SILENT = Dropout([])
SILENT.active = False


def features(kind: str = "classes", *, dropout: float = 0.0, seed: int = 0) -> Any:
    """A drawn learner whose mix and scale were moved from their start."""
    method = FrozenFeatures(units=UNITS, dropout=dropout)
    spec = run_spec(method, task=TASKS[kind], backbone__layers=LAYERS)
    learner: Any = spec.learner(1, tiny_encoder(LAYERS))
    learner.initialise([generator("cpu", "init", seed)])
    with torch.no_grad():
        learner.mix.copy_(torch.tensor([0.5, -1.0, 2.0]))
        learner.scale.fill_(1.7)
    return learner


def direction(learner: Any, inputs: Tensor, suffix: str) -> list[Tensor]:
    """One direction of the LSTM over (tokens, hidden), as Hochreiter's gates read (i, f, g, o)."""
    own = dict(learner.lstm.named_parameters())
    w, u = own[f"weight_ih_l0{suffix}"], own[f"weight_hh_l0{suffix}"]
    b = own[f"bias_ih_l0{suffix}"] + own[f"bias_hh_l0{suffix}"]
    state, cell, found = torch.zeros(UNITS), torch.zeros(UNITS), []
    for x in inputs:
        i, f, g, o = (w @ x + u @ state + b).chunk(4)
        cell = torch.sigmoid(f) * cell + torch.sigmoid(i) * torch.tanh(g)
        state = torch.sigmoid(o) * torch.tanh(cell)
        found.append(state)
    return found


def by_hand(learner: Any, states: list[Tensor], row: int, length: int) -> Tensor:
    """The outputs of one row of `length` tokens: (outputs,), or (length, outputs) of tags."""
    parts = learner.mix.exp() / learner.mix.exp().sum()
    mixed = sum(part * state[row, :length] for part, state in zip(parts, states, strict=True))
    mixed = learner.scale * mixed
    ahead = direction(learner, mixed, "")
    back = direction(learner, mixed.flip(0), "_reverse")[::-1]
    read = torch.stack([torch.cat(pair) for pair in zip(ahead, back, strict=True)])
    if not learner.tags:
        read = read.max(0).values
    found: Tensor = read @ learner.output.weight.t() + learner.output.bias
    return found


@pytest.mark.parametrize("kind", TASKS)
def test_outputs_are_those_of_a_mix_an_lstm_and_a_linear_map(kind: str) -> None:
    lengths = [4, 7, 1]
    learner, states = features(kind), random_states(LAYERS, 3, 7)
    found = learner(inputs_of(real_tokens(lengths, 7), states), SILENT)
    assert found.shape == ((1, 3, 7, 9) if kind == "tags" else (1, 3, OUTPUTS[kind]))
    for row, length in enumerate(lengths):
        mine = found[0, row, :length] if kind == "tags" else found[0, row]
        torch.testing.assert_close(mine, by_hand(learner, states, row, length))
    assert bool(torch.isfinite(found).all())


@pytest.mark.parametrize("kind", ["classes", "tags"])
def test_padding_and_other_rows_change_nothing(kind: str) -> None:
    learner, states = features(kind), random_states(LAYERS, 3, 6)
    batch = learner(inputs_of(real_tokens([3, 6, 5], 6), states), SILENT)
    wide = [torch.cat([state, torch.full((3, 5, HIDDEN), 9.0)], dim=1) for state in states]
    padded = learner(inputs_of(real_tokens([3, 6, 5], 11), wide), SILENT)
    alone = learner(inputs_of(real_tokens([3], 3), [s[:1, :3] for s in states]), SILENT)
    if kind == "tags":
        padded, batch, alone = padded[:, :, :6], batch[:, :, :6], alone[:, :, :3]
        torch.testing.assert_close(batch[:, :1, :3], alone)
        real = real_tokens([3, 6, 5], 6)
        torch.testing.assert_close(padded[0][real], batch[0][real])
    else:
        torch.testing.assert_close(padded, batch)
        torch.testing.assert_close(batch[:, :1], alone)


def test_the_gradient_reaches_every_parameter() -> None:
    learner, states = features(), random_states(LAYERS, 2, 5)
    torch.autograd.backward(
        learner(inputs_of(real_tokens([5, 2], 5), states), SILENT).square().sum()
    )
    for name, parameter in learner.named_parameters():
        assert parameter.grad is not None, name
        assert bool((parameter.grad != 0).any()), name


def test_it_starts_at_the_mean_of_the_layers_and_torchs_own_law() -> None:
    spec = run_spec(FrozenFeatures(units=100), task=TASKS["tags"], backbone__layers=LAYERS)
    learner: Any = spec.learner(1, tiny_encoder(LAYERS))
    learner.initialise([generator("cpu", "init", 0)])
    assert learner.mix.softmax(0).tolist() == pytest.approx([1 / 3] * 3)
    assert learner.scale.item() == 1.0
    for module, bound in ((learner.lstm, 0.1), (learner.output, 200**-0.5)):
        for parameter in module.parameters():
            assert float(parameter.detach().abs().max()) <= bound
            if parameter.dim() > 1:  # a uniform law's deviation is bound / sqrt(3)
                assert float(parameter.detach().std()) == pytest.approx(bound / 3**0.5, rel=0.06)
    again, other = features(seed=0), features(seed=1)
    assert torch.equal(again.output.weight, features(seed=0).output.weight)
    assert not torch.equal(again.output.weight, other.output.weight)


def test_dropout_falls_on_the_mixed_states_and_before_the_output() -> None:
    learner, states = features(dropout=0.5), random_states(LAYERS, 2, 5)
    inputs = inputs_of(real_tokens([5, 3], 5), states)
    drops: list[tuple[int, ...]] = []

    class Noting(Dropout):
        def __call__(self, x: Tensor, rate: float) -> Tensor:
            drops.append(tuple(x.shape))
            return super().__call__(x, rate)

    first, again = (
        learner(inputs, Noting([generator("cpu", "dropout", 0)])).detach() for _ in range(2)
    )
    assert drops[:2] == [(1, 8, HIDDEN), (1, 2, 2 * UNITS)]  # 5 + 3 tokens; 2 rows
    assert torch.equal(first, again)
    assert not torch.equal(first, learner(inputs, SILENT).detach())


def test_it_computes_in_fp32_where_the_rest_does_not() -> None:
    learner, states = features(), random_states(LAYERS, 2, 5)
    inputs = inputs_of(real_tokens([5, 2], 5), states)
    with torch.autocast("cpu", torch.bfloat16):
        mixed = learner(inputs, SILENT)
    assert torch.equal(mixed, learner(inputs, SILENT))


@pytest.mark.parametrize("kind", TASKS)
def test_the_module_has_as_many_parameters_as_the_formula_says(kind: str) -> None:
    method = FrozenFeatures(units=200)
    spec = run_spec(method, task=TASKS[kind], backbone=KNOWN[BERT_BASE])
    lstm = nn.LSTM(768, 200, bidirectional=True)
    own = sum(p.numel() for p in lstm.parameters())
    expected = 12 + 1 + own + OUTPUTS[kind] * (400 + 1)
    assert spec.trained_parameters() == expected
    # the pooler is not read
    frozen = KNOWN[BERT_BASE].parameters - KNOWN[BERT_BASE].pooler_parameters
    assert spec.total_parameters() == frozen + expected
    real = spec.learner(1, tiny_encoder())
    assert sum(p.numel() for p in real.parameters()) == expected
