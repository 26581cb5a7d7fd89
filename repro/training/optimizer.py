"""AdamW over flat parameters, with rate and clip of each run its own.

The released ResAdapters code uses AdamW of transformers 2.5 without bias correction, which
torch.optim no longer offers, and one optimizer and one gradient clip a stack.
"""

from __future__ import annotations

import torch
from torch import Tensor

from repro.spec.types import Recipe
from repro.training.flat import FlatParameters


class AdamW:
    """Decoupled weight decay (Loshchilov and Hutter); all runs share betas, eps and schedule."""

    def __init__(self, parameters: FlatParameters, recipes: list[Recipe], steps: int) -> None:
        self.parameters, self.recipe, self.steps = parameters, recipes[0], steps
        device = parameters.values.device
        self.rate = torch.tensor([r.learning_rate for r in recipes], device=device)[:, None, None]
        limits = [float("inf") if r.clip_norm is None else r.clip_norm for r in recipes]
        self.limit = torch.tensor(limits, device=device)[:, None]
        self.clips = any(r.clip_norm is not None for r in recipes)
        self.spares = self.recipe.decayed == "matrices"
        self.first = torch.zeros_like(parameters.values)
        self.second = torch.zeros_like(parameters.values)

    def step(self, number: int) -> Tensor:
        """Takes step `number` (from 1), clears gradients; returns their norms (runs, stacks)."""
        gradients, recipe = self.parameters.gradients, self.recipe
        norms: Tensor = torch.linalg.vector_norm(gradients, dim=2)
        if self.clips:
            gradients.mul_((self.limit / (norms + 1e-6)).clamp_(max=1.0).unsqueeze(2))
        self.first.lerp_(gradients, 1 - recipe.adam_beta1)
        self.second.mul_(recipe.adam_beta2).addcmul_(
            gradients, gradients, value=1 - recipe.adam_beta2
        )
        rate = self.rate * scheduled(recipe, number, self.steps)
        spread = self.second.sqrt()
        if recipe.bias_correction:
            rate = rate / (1 - recipe.adam_beta1**number)
            spread.div_((1 - recipe.adam_beta2**number) ** 0.5)
        values = self.parameters.values
        if recipe.weight_decay:
            shrink = self.rate * scheduled(recipe, number, self.steps) * recipe.weight_decay
            values.mul_(1 - (shrink * self.parameters.matrices if self.spares else shrink))
        values.sub_(self.first / spread.add_(recipe.adam_eps) * rate)
        gradients.zero_()
        return norms


def scheduled(recipe: Recipe, number: int, steps: int) -> float:
    """The factor on the learning rate at step `number` (from 1) of `steps`."""
    rising = recipe.warmup * steps
    if number <= rising:
        return number / rising
    if recipe.schedule == "constant":
        return 1.0
    # at most 1: a warm-up that ends between two steps leaves the first falling one above the line
    return min(1.0, (steps - number + 1) / max(1.0, steps - rising))
