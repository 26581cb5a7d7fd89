"""The loss of each run of a cohort, by task."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from repro.spec.tagging import UNTAGGED
from repro.spec.types import Recipe
from repro.tasks.data import UNWRITTEN


class SpanLoss:
    """Weighted sum of the cross-entropies of start and end, mean over the batch."""

    def __init__(self, recipes: list[Recipe], device: torch.device) -> None:
        self.clamp = recipes[0].logit_clamp
        weights = [(recipe.start_weight, recipe.end_weight) for recipe in recipes]
        self.weights = torch.tensor(weights, device=device)  # (runs, 2)

    def __call__(self, scores: Tensor, targets: Tensor) -> Tensor:
        """Scores (runs, 2, batch, length), targets (runs or 1, batch, 2) -> (runs,)."""
        if self.clamp is not None:
            scores = scores.clamp(*self.clamp)
        runs, both, batch, length = scores.shape
        wanted = targets.transpose(1, 2).expand(runs, -1, -1).flatten()
        entropy = F.cross_entropy(scores.reshape(-1, length), wanted, reduction="none")
        return (entropy.view(runs, both, batch).mean(2) * self.weights).sum(1)


class WrittenLoss:
    """Cross-entropy of every written token, label-smoothed; summed over tokens, or their mean."""

    def __init__(self, recipe: Recipe) -> None:
        self.smoothing, self.joined = recipe.label_smoothing, recipe.over_tokens

    def __call__(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Outputs (1, batch, length, vocabulary), targets (1, batch, length) -> (1,)."""
        return F.cross_entropy(
            outputs.flatten(0, 2),
            targets.flatten(),
            ignore_index=UNWRITTEN,
            reduction=self.joined,
            label_smoothing=self.smoothing,
        ).view(1)


def class_loss(outputs: Tensor, targets: Tensor) -> Tensor:
    """Cross-entropy: outputs (runs, batch, classes), targets (runs or 1, batch) -> (runs,)."""
    runs, batch, classes = outputs.shape
    wanted = targets.expand(runs, -1).flatten()
    entropy = F.cross_entropy(outputs.reshape(-1, classes), wanted, reduction="none")
    return entropy.view(runs, batch).mean(1)


def tag_loss(outputs: Tensor, targets: Tensor) -> Tensor:
    """Cross-entropy of tags: outputs (runs, batch, length, tags), targets (runs or 1, batch,
    length) -> (runs,).

    The mean over sentences, each the mean over its tagged tokens: so a batch may be split.
    """
    wanted = targets.expand(outputs.shape[0], -1, -1)
    entropy = F.cross_entropy(
        outputs.flatten(0, 2), wanted.flatten(), reduction="none", ignore_index=UNTAGGED
    )
    counts = (wanted != UNTAGGED).sum(2).clamp(min=1)
    return (entropy.view(wanted.shape).sum(2) / counts).mean(1)


def squared_error(outputs: Tensor, targets: Tensor) -> Tensor:
    """Mean squared error: outputs (runs, batch, 1), targets (runs or 1, batch) -> (runs,)."""
    return (outputs.squeeze(2) - targets).square().mean(1)
