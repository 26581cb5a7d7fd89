"""Stacked runs equal separate ones; padding changes nothing repaired, and something as released."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from run_samples import cells, run_spec
from tiny_models import inputs_of, random_states, real_tokens, tiny_bert, tiny_encoder
from torch import Tensor
from torch.nn import functional as F

from repro.backbones.load import Encoder
from repro.errors import ReproError
from repro.methods.fine_tuning import FullFineTuning
from repro.methods.linear_probe import LinearProbe
from repro.methods.modules.learner import Learner
from repro.methods.modules.randomness import Dropout, generator
from repro.methods.resadapters import PipelinedCells
from repro.methods.resadapters.module import Pipelined
from repro.methods.untrained import AlwaysNull

LAYERS, LENGTHS = 3, [9, 5, 7]
METHODS: list[Any] = [
    cells("plain", "relu"),
    cells("resnet", "gelu"),
    cells("resnext", "attention"),
    cells("plain", "attention", norm_axis="position", attention_mask=False, layer_norm_eps=384.0),
    LinearProbe(layer=2),
]


def learner_of(method: Any, seeds: list[int], length: int = 9) -> Learner:
    """Untrained runs of these seeds."""
    changes: dict[str, Any] = {
        "backbone__layers": LAYERS,
        "recipe__padding": "max",
        "task__max_length": 48,
    }
    spec = run_spec(method, **changes)
    if isinstance(method, PipelinedCells):
        learner: Learner = Pipelined(method, len(seeds), LAYERS, 32, length)
    else:
        learner = spec.learner(len(seeds), tiny_encoder(LAYERS))
    learner.initialise([generator("cpu", "init", seed) for seed in seeds])
    return learner


def streams(seeds: list[int]) -> Dropout:
    return Dropout([generator("cpu", "dropout", seed) for seed in seeds])


def loss_of(scores: Tensor) -> Tensor:
    """Cross-entropy per run at fixed targets: (runs,)."""
    runs, both, batch, length = scores.shape
    wanted = torch.tensor([[0, 2, 3], [1, 4, 0]]).expand(runs, -1, -1).flatten()
    entropy = F.cross_entropy(scores.reshape(-1, length), wanted, reduction="none")
    return entropy.view(runs, both, batch).mean(2).sum(1)


@pytest.mark.parametrize("method", METHODS)
def test_stacked_runs_equal_separate_runs(method: Any) -> None:
    seeds = [3, 4, 5]
    together, apart = learner_of(method, seeds), [learner_of(method, [seed]) for seed in seeds]
    keep = together.keeps_padding
    inputs = inputs_of(real_tokens(LENGTHS, 9), random_states(LAYERS, 3, 9), keep_padding=keep)
    drop, drops = streams(seeds), [streams([seed]) for seed in seeds]
    for training in (True, True, False):
        together.train(training)
        drop.active = training
        scores = together(inputs, drop)
        losses = loss_of(scores)
        torch.autograd.backward(losses.sum())
        for run, own in enumerate(apart):
            own.train(training)
            drops[run].active = training
            alone = own(inputs, drops[run])
            torch.testing.assert_close(scores[run], alone[0], rtol=1e-5, atol=1e-5)
            torch.autograd.backward(loss_of(alone).sum())
    for run, own in enumerate(apart):
        for (name, stacked), (_, single) in zip(
            together.named_parameters(), own.named_parameters(), strict=True
        ):
            assert stacked.grad is not None
            assert single.grad is not None
            scale = float(single.grad.abs().max())
            torch.testing.assert_close(
                stacked.grad[run], single.grad[0], rtol=1e-4, atol=1e-5 * max(scale, 1e-2), msg=name
            )
        statistics = dict(own.named_buffers())
        for name, moved in together.named_buffers():
            torch.testing.assert_close(moved[run], statistics[name][0], rtol=1e-5, atol=1e-6)


def states_at(length: int, encoder: Encoder) -> tuple[Tensor, list[Tensor]]:
    """The same three windows padded to `length`, through the encoder."""
    real = real_tokens(LENGTHS, length)
    draw = torch.randint(5, 30_000, (3, 9), generator=generator("cpu", "ids"))
    ids = torch.zeros(3, length, dtype=torch.int64)
    ids[:, :9] = draw
    ids[~real] = 0
    return real, encoder.states(ids, real.long(), torch.zeros_like(ids))


def run_at(method: Any, length: int, *, training: bool, channels: int = 9) -> dict[str, Tensor]:
    """Scores, losses, gradients and moved statistics of one batch padded to `length`."""
    encoder = Encoder(tiny_bert(LAYERS, max_position_embeddings=384), None)
    learner = learner_of(method, [0, 1], channels).train(training)
    real, states = states_at(length, encoder)
    scores = learner(inputs_of(real, states, keep_padding=learner.keeps_padding), streams([0, 1]))
    losses = loss_of(scores)
    torch.autograd.backward(losses.sum())
    found = {"scores": scores.detach()[..., :9], "losses": losses.detach()}
    for name, parameter in learner.named_parameters():
        assert parameter.grad is not None
        found[f"gradient of {name}"] = parameter.grad
    return found | dict(learner.named_buffers())


REPAIRED: list[Any] = [
    cells(wiring, nonlinearity, dropout=0.0)
    for wiring, nonlinearity in (
        ("plain", "relu"),
        ("resnet", "gelu"),
        ("plain", "attention"),
        ("resnext", "attention"),
    )
]


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("method", [*REPAIRED, LinearProbe(layer=3)])
def test_padding_changes_nothing_in_the_repaired_reading(method: Any, training: bool) -> None:
    dynamic = run_at(method, 9, training=training)
    padded = run_at(method, 384, training=training)
    assert dynamic.keys() == padded.keys()
    for name, value in dynamic.items():
        finite = torch.isfinite(value)
        assert torch.equal(finite, torch.isfinite(padded[name])), name
        scale = max(float(value[finite].abs().max()), 1.0)
        torch.testing.assert_close(
            padded[name][finite], value[finite], rtol=1e-5, atol=1e-5 * scale, msg=name
        )


@pytest.mark.parametrize(
    "method",
    [
        # each defect of the released code alone, then all
        cells("plain", "attention", attention_mask=False, dropout=0.0),
        cells("plain", "relu", norm_axis="position", dropout=0.0),
        cells("plain", "attention", norm_axis="position", attention_mask=False, dropout=0.0),
    ],
)
def test_padding_does_change_the_released_reading(method: Any) -> None:
    short, long = (
        run_at(method, length, training=True, channels=length)["losses"] for length in (9, 12)
    )
    assert (short - long).abs().min() > 1e-3


def test_released_scores_are_finite_on_padding_too() -> None:
    learner = learner_of(METHODS[3], [0])
    inputs = inputs_of(real_tokens(LENGTHS, 9), random_states(LAYERS, 3, 9), keep_padding=True)
    assert torch.isfinite(learner(inputs, streams([0]))).all()


def test_a_depth_that_is_no_multiple_of_three_is_refused_with_the_choices() -> None:
    with pytest.raises(ReproError, match=r"no multiple of 3\. Choose an encoder of 3 or 6 layers"):
        run_spec(cells("resnet"), backbone__layers=4).learner(1, tiny_encoder(3))


def test_only_methods_beside_the_frozen_encoder_read_its_states() -> None:
    found = [m.reads_states for m in (cells(), LinearProbe(layer=1), FullFineTuning())]
    assert found == [True, True, False]
    assert not AlwaysNull().reads_states
    for method in (cells(), LinearProbe(layer=1), AlwaysNull()):
        assert learner_of(method, [0]).reads_states == method.reads_states
