"""The loss of each run by hand, in the repaired and the released reading."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from group_samples import spec_of
from run_samples import cells
from tiny_models import tiny_encoder
from torch import Tensor

from repro.methods.linear_probe import LinearProbe
from repro.training.cohort import Cohort, cohorts_of

SCORES = torch.tensor(
    [
        [[[-1.0, 2.0, 0.5], [500.0, 1.0, -7.0]], [[0.0, 0.0, 0.0], [3.0, -2.0, 400.0]]],
    ]
)  # (1 run, start and end, 2 windows, 3 tokens)
TARGETS = torch.tensor([[[1, 2], [1, 0]]])  # (1, 2 windows, start and end)


def cohort_of(*changes: dict[str, Any]) -> Cohort:
    specs = [spec_of(LinearProbe(layer=1), **change) for change in changes]
    encoder = tiny_encoder(3)
    return Cohort(list(range(len(specs))), specs, encoder, torch.device("cpu"), 10)


def entropy(logits: list[float], target: int) -> float:
    """-log of the softmax at `target`, stable for large logits."""
    top = max(logits)
    return top + math.log(sum(math.exp(x - top) for x in logits)) - logits[target]


def test_the_repaired_loss_is_the_sum_of_two_mean_cross_entropies() -> None:
    start = (entropy([-1, 2, 0.5], 1) + entropy([500, 1, -7], 1)) / 2
    end = (entropy([0, 0, 0], 2) + entropy([3, -2, 400], 0)) / 2
    assert start == pytest.approx(0.2413 / 2 + 499 / 2, abs=1e-3)
    assert end == pytest.approx((math.log(3) + 397) / 2)
    found = cohort_of({}).loss(SCORES, TARGETS)
    assert found.tolist() == pytest.approx([start + end])


RELEASED: dict[str, Any] = {
    "recipe__start_weight": 0.6,
    "recipe__end_weight": 0.4,
    "recipe__logit_clamp": (0.0, 384.0),
}


def test_the_released_loss_clamps_logits_and_weighs_start_by_three_to_two() -> None:
    start = (entropy([0, 2, 0.5], 1) + entropy([384, 1, 0], 1)) / 2
    end = (entropy([0, 0, 0], 2) + entropy([3, 0, 384], 0)) / 2
    # (1.5 start + 1.0 end) / 2.5, as the notebook writes it
    expected = (1.5 * start + 1.0 * end) / 2.5
    found = cohort_of(RELEASED).loss(SCORES, TARGETS)
    assert found.tolist() == pytest.approx([expected])


def test_a_clamped_logit_gets_no_gradient() -> None:
    scores = SCORES.clone().requires_grad_()
    torch.autograd.backward(cohort_of(RELEASED).loss(scores, TARGETS).sum())
    assert scores.grad is not None
    outside = (SCORES < 0) | (SCORES > 384)
    assert (scores.grad[outside] == 0).all()
    assert (scores.grad[~outside & (SCORES > 0) & (SCORES < 3)] != 0).any()


def test_each_run_of_a_cohort_has_its_own_weights() -> None:
    cohort = cohort_of({}, {"recipe__start_weight": 3.0, "recipe__end_weight": 0.0})
    found = cohort.loss(SCORES.expand(2, -1, -1, -1), TARGETS)
    start = (entropy([-1, 2, 0.5], 1) + entropy([500, 1, -7], 1)) / 2
    assert float(found[1]) == pytest.approx(3 * start)
    assert float(found[0]) != float(found[1])


def test_padding_that_was_dropped_takes_no_probability() -> None:
    nowhere = torch.full((1, 2, 2, 1), float("-inf"))
    padded: Tensor = torch.cat([SCORES, nowhere], dim=3)
    cohort = cohort_of({})
    assert torch.equal(cohort.loss(padded, TARGETS), cohort.loss(SCORES, TARGETS))


def test_cohorts_join_runs_that_differ_in_rate_clip_and_weights_only() -> None:
    specs = [
        spec_of(cells()),
        spec_of(cells("resnet")),
        spec_of(cells(), recipe__learning_rate=0.5, recipe__clip_norm=None),
        spec_of(cells(), recipe__start_weight=0.6, recipe__end_weight=0.4),
        spec_of(cells(), recipe__weight_decay=0.1),
        spec_of(cells(), recipe__logit_clamp=(0.0, 384.0)),
        spec_of(cells(), seed=1),
        spec_of(cells("resnet"), recipe__clip_norm=7.0),
    ]
    assert cohorts_of(specs) == [[0, 2, 3], [1, 7], [4], [5], [6]]
