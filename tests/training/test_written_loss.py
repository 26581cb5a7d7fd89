"""The loss of written tokens, with label smoothing, by hand and against the released formula."""

from __future__ import annotations

import math

import pytest
import torch
from run_samples import RECIPE, changed

from repro.tasks.data import UNWRITTEN
from repro.training.losses import WrittenLoss

LOGITS = torch.tensor([[[[2.0, 0.0, -1.0], [0.5, 0.5, 3.0]], [[1.0, 1.0, 1.0], [9.0, 9.0, -9.0]]]])
TARGETS = torch.tensor([[[0, 2], [1, UNWRITTEN]]])
"""One run, two answers of a vocabulary of three; the second is one token short."""


def by_hand(logits: list[float], target: int, smoothing: float) -> float:
    """(1 - eps) nll + eps / V sum of all nll, as hyperformer's label_smoothed_nll_loss has it."""
    total = math.log(sum(math.exp(x) for x in logits))
    nll = [total - x for x in logits]
    return (1 - smoothing) * nll[target] + smoothing / len(nll) * sum(nll)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_tokens_are_summed_or_averaged_and_padding_is_left_out(smoothing: float) -> None:
    tokens = [
        by_hand([2, 0, -1], 0, smoothing),
        by_hand([0.5, 0.5, 3], 2, smoothing),
        by_hand([1, 1, 1], 1, smoothing),
    ]
    for joined, expected in (("sum", sum(tokens)), ("mean", sum(tokens) / 3)):
        recipe = changed(RECIPE, ("label_smoothing",), smoothing)
        loss = WrittenLoss(changed(recipe, ("over_tokens",), joined))
        assert loss(LOGITS, TARGETS).tolist() == pytest.approx([expected], rel=1e-6)
