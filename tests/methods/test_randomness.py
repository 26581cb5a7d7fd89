"""Streams of random numbers: dropout's law, independence of runs, initial parameters."""

from __future__ import annotations

import hashlib
import math
from typing import Any

import pytest
import torch
from run_samples import cells

from repro.methods.modules.learner import Linear
from repro.methods.modules.randomness import Dropout, dropped_onto, generator, stream_seed
from repro.methods.resadapters.module import Pipelined


def dropout(*seeds: int) -> Dropout:
    return Dropout([generator("cpu", "dropout", seed) for seed in seeds])


@pytest.mark.parametrize("rate", [0.1, 0.3, 0.5, 0.9])
def test_the_rate_is_met_within_five_standard_errors(rate: float) -> None:
    n = 300_001  # odd: four masks come from one draw
    dropped = int((dropout(0)(torch.ones(1, n), rate) == 0).sum())
    assert abs(dropped - n * rate) < 5 * math.sqrt(n * rate * (1 - rate))


@pytest.mark.parametrize("rate", [0.1, 0.3, 0.5])
def test_what_is_kept_is_scaled_so_that_the_mean_stays(rate: float) -> None:
    x = torch.randn(2, 50, 4, generator=generator("cpu", "x"))
    out = dropout(0, 1)(x, rate)
    kept = out != 0
    torch.testing.assert_close(out[kept], x[kept] / (1 - rate))


def test_gradients_pass_where_values_do() -> None:
    x = torch.ones(1, 1000, requires_grad=True)
    out = dropout(3)(x, 0.3)
    torch.autograd.backward(out.sum())
    torch.testing.assert_close(x.grad, out.detach(), rtol=0, atol=0)


def test_masks_drawn_together_are_those_drawn_one_by_one() -> None:
    wanted: list[Any] = [[(5, 7), (3, 7)], [(2, 2, 3, 3), (1, 2, 3, 3)], [(1, 9), (1, 9)]]
    together, alone = dropout(4, 5), dropout(4, 5)
    found = together.keep(wanted, 0.3, torch.device("cpu"))
    for shapes, masks in zip(wanted, found, strict=True):
        [one] = alone.keep([shapes], 0.3, torch.device("cpu"))
        assert [tuple(mask.shape) for mask in masks] == shapes
        assert all(map(torch.equal, masks, one))
    for ours, other in zip(together.generators, alone.generators, strict=True):
        assert torch.equal(ours.get_state(), other.get_state())


def test_dropout_onto_a_residual_is_the_sum_with_its_gradients() -> None:
    x, base = (torch.randn(6, 5, dtype=torch.float64, requires_grad=True) for _ in range(2))
    keep = torch.rand(6, 5, generator=generator("cpu", "keep")) > 0.3
    expected = base + x * keep / 0.7
    torch.testing.assert_close(dropped_onto(x, keep, 0.3, base), expected)
    assert torch.autograd.gradcheck(lambda x, base: dropped_onto(x, keep, 0.3, base), (x, base))


def test_a_runs_mask_does_not_depend_on_the_other_runs() -> None:
    x = torch.ones(6, 5, 7)  # three runs of two stacks
    together = dropout(4, 5, 6)(x, 0.3)
    for place, seed in enumerate((4, 5, 6)):
        alone = dropout(seed)(x[:2], 0.3)
        assert torch.equal(together[2 * place : 2 * place + 2], alone)
    others = dropout(9, 5, 8)(x, 0.3)
    assert torch.equal(together[2:4], others[2:4])
    assert not torch.equal(together[:2], others[:2])


def test_stacks_of_one_run_and_successive_masks_differ() -> None:
    drop = dropout(1)
    x = torch.ones(2, 400)
    first, second = drop(x, 0.5), drop(x, 0.5)
    assert not torch.equal(first, second)
    assert not torch.equal(first[0], first[1])
    # agreement of two fair masks is 1/2 of the places, within five standard errors
    assert abs(float((first == second).float().mean()) - 0.5) < 5 * 0.5 / math.sqrt(800)


def test_rate_zero_and_evaluation_draw_nothing() -> None:
    drop = dropout(1)
    before = drop.generators[0].get_state()
    x = torch.ones(1, 10)
    assert drop(x, 0.0) is x
    drop.active = False
    assert drop(x, 0.5) is x
    assert torch.equal(drop.generators[0].get_state(), before)


def test_bf16_stays_bf16() -> None:
    assert dropout(0)(torch.ones(1, 8, dtype=torch.bfloat16), 0.5).dtype == torch.bfloat16


def test_a_stream_is_named_by_all_its_words() -> None:
    expected = int(hashlib.sha256(b"init/0").hexdigest()[:16], 16) // 2
    assert stream_seed("init", 0) == expected
    assert len({stream_seed("init", 0), stream_seed("init", 1), stream_seed("dropout", 0)}) == 3
    assert 0 <= stream_seed("order", "x" * 1000, 7) < 2**63


def test_linear_maps_start_in_torchs_default_law() -> None:
    linear = Linear(2, 2, 64, 50)
    linear.initialise([generator("cpu", "init", seed) for seed in (0, 1)])
    bound = 1 / 8  # 1 / sqrt(64): kaiming_uniform_(a=sqrt(5)), as torch.nn.Linear
    for tensor in (linear.weight, linear.bias):
        assert float(tensor.detach().abs().max()) <= bound
    values = linear.weight.detach().flatten()
    n = len(values)
    # the uniform law on [-c, c]: mean 0, variance c^2 / 3, its fourth moment c^4 / 5
    assert abs(float(values.mean())) < 5 * bound / math.sqrt(3 * n)
    spread = bound**2 * math.sqrt((1 / 5 - 1 / 9) / n)
    assert abs(float(values.square().mean()) - bound**2 / 3) < 5 * spread


def test_a_run_starts_the_same_alone_and_in_any_group() -> None:
    def learner(*seeds: int) -> Pipelined:
        made = Pipelined(cells("resnet", "attention"), len(seeds), 3, 16, 8)
        made.initialise([generator("cpu", "init", seed) for seed in seeds])
        return made

    together, alone = learner(7, 8, 9), learner(8)
    for (name, stacked), (_, own) in zip(
        together.named_parameters(), alone.named_parameters(), strict=True
    ):
        assert torch.equal(stacked[1], own[0]), name
        if "norm" in name:
            assert torch.equal(own, torch.full_like(own, float(name.endswith("weight")))), name
        else:
            assert not torch.equal(stacked[0], stacked[1]), name
            assert not torch.equal(own[:, 0], own[:, 1]), name
