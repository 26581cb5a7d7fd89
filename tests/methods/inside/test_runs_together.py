"""Runs of several seeds in one learner, each with rows of its own, are the runs alone."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from inside_samples import (
    adapters,
    batch_of,
    dropout_of,
    encoder_of,
    joined,
    learner_of,
    no_dropout,
    split,
)
from torch import Tensor
from torch.nn import functional as F

from repro.methods.bitfit import BitFit
from repro.methods.fine_tuning import LayerNorms
from repro.methods.ia3 import IA3
from repro.methods.inside.passing import Pass
from repro.methods.lora import LoRA
from repro.methods.modules.learner import Inputs
from repro.methods.prefix_tuning import PrefixTuning
from repro.spec.method import Method

SEEDS = (3, 4, 5)
LENGTHS = ([9, 4, 2, 7], [3, 3, 12, 1], [6, 6, 5, 5])  # 22, 19 and 22 tokens; longest 9, 12, 6


def own_batch(run: int, step: int) -> Inputs:
    return batch_of(LENGTHS[run], seed=10 * step + run)


def losses_of(outputs: Tensor, step: int) -> Tensor:
    """(runs,): cross-entropy over the classes; of spans, that of [CLS] and a share of its score.

    The share is there because cross-entropy does not see a shift: some gradients would be noise.
    """
    if outputs.dim() == 4:
        first = outputs[..., 0]
        return (outputs.logsumexp(-1) - first + F.softplus(first)).mean((1, 2))
    wanted = (torch.arange(4) + step) % 3
    return torch.stack([F.cross_entropy(run, wanted) for run in outputs])


METHODS = [
    adapters(norms="all", head="two-layer"),
    adapters(span=1, pooler="trained", init="normal"),
    adapters(placement="pfeiffer", nonlinearity="relu", span=2),
    LayerNorms(pooler="trained"),
    LoRA(rank=4, dropout=0.1),
    BitFit(),
    IA3(),
    PrefixTuning(positions=3, middle=16, init_std=0.3),
    PrefixTuning(positions=2, middle=None, init_std=0.3),
]


@pytest.mark.parametrize("spans", [False, True])
@pytest.mark.parametrize("method", METHODS)
def test_outputs_losses_and_gradients_are_those_of_each_run_alone(
    method: Method, spans: bool
) -> None:
    encoder = encoder_of("bert")
    together = learner_of(method, encoder, SEEDS, spans=spans)
    shared = dropout_of(*SEEDS)
    alone = [learner_of(method, encoder, (seed,), spans=spans) for seed in SEEDS]
    streams = [dropout_of(seed) for seed in SEEDS]
    for step in range(3):  # masks go on from step to step
        outputs = together(joined([own_batch(run, step) for run in range(3)]), shared)
        losses = losses_of(outputs, step)
        gradients = torch.autograd.grad(losses.sum(), list(together.parameters()))
        for run, learner in enumerate(alone):
            own = learner(own_batch(run, step), streams[run])
            width = own.shape[-1]
            close(outputs[run, ..., :width], own[0])
            loss = losses_of(own, step)[0]
            close(losses[run], loss)
            expected = torch.autograd.grad(loss, list(learner.parameters()))
            names = [name for name, _ in learner.named_parameters()]
            for name, found, wanted in zip(names, gradients, expected, strict=True):
                if not name.endswith("key.bias"):  # softmax does not see it: rounding only
                    close(found[run], wanted[0], name)


def close(found: Tensor, expected: Tensor, name: str = "") -> None:
    """To 1e-5 of the tensor's largest element."""
    real = torch.isfinite(expected)
    assert torch.equal(real, torch.isfinite(found))
    scale = float(expected.detach()[real].abs().max())
    torch.testing.assert_close(
        found[real], expected[real], rtol=0, atol=1e-5 * scale, msg=lambda m: f"{name}: {m}"
    )


def test_each_run_has_outputs_of_its_own() -> None:
    learner = learner_of(adapters(), encoder_of("bert"), SEEDS)
    batch = own_batch(0, 0)
    outputs = learner(joined([batch] * 3), no_dropout(3))  # equal rows, other parameters
    assert outputs.shape == (3, 4, 3)
    assert not torch.allclose(outputs[0], outputs[1])
    assert not torch.allclose(outputs[1], outputs[2])


def test_a_run_starts_the_same_alone_and_in_any_group() -> None:
    method = adapters(norms="all", head="two-layer", pooler="trained")
    for encoder in (encoder_of("bert"), encoder_of("bert", pooler=False)):
        together = learner_of(method, encoder, SEEDS)
        for run, seed in enumerate(SEEDS):
            own = dict(learner_of(method, encoder, (seed,)).named_parameters())
            for name, value in together.named_parameters():
                assert torch.equal(value[run], own[name][0]), name


def passes() -> tuple[Pass, list[Pass]]:
    """Ones go through the dropout of three runs together, and of each alone."""
    batches = [own_batch(run, 0) for run in range(3)]
    together = Pass(0.3, 2)
    together.begin(joined(batches).layout, 3, dropout_of(*SEEDS))
    alone = [Pass(0.3, 2) for _ in SEEDS]
    for own, batch, seed in zip(alone, batches, SEEDS, strict=True):
        own.begin(batch.layout, 1, dropout_of(seed))
    return together, alone


def test_a_runs_masks_do_not_depend_on_the_others_tokens() -> None:
    together, alone = passes()
    for _ in range(2):
        masks = split(together.drop(torch.ones(1, 63, 5))[0], 22, 19, 22)
        weights = split(together.keep_weights(), 4, 4, 4)
        for run, (own, longest) in enumerate(zip(alone, (9, 12, 6), strict=True)):
            assert torch.equal(masks[run], own.drop(torch.ones(1, len(masks[run]), 5))[0])
            expected = own.keep_weights()
            assert torch.equal(weights[run][..., :longest, :longest], expected)
            assert int((weights[run] != 0).sum()) == int((expected != 0).sum())


def test_masks_of_first_tokens_are_a_runs_own_too() -> None:
    together, alone = passes()
    together.narrows = together.narrowed = True
    masks = split(together.drop(torch.ones(1, 12, 5))[0], 4, 4, 4)
    weights = split(together.keep_weights(), 4, 4, 4)
    for run, (own, longest) in enumerate(zip(alone, (9, 12, 6), strict=True)):
        own.narrows = own.narrowed = True
        assert torch.equal(masks[run], own.drop(torch.ones(1, 4, 5))[0])
        expected = own.keep_weights()
        assert torch.equal(weights[run][..., :longest], expected)


def test_a_group_draws_nothing_from_the_process() -> None:
    learner = learner_of(adapters(norms="all"), encoder_of("bert"), SEEDS)
    before = torch.get_rng_state()
    batch: Any = joined([own_batch(run, 0) for run in range(3)])
    torch.autograd.backward(losses_of(learner(batch, dropout_of(*SEEDS)), 0).sum())
    assert torch.equal(torch.get_rng_state(), before)
