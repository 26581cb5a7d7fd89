"""AdamW over flat parameters, with rates and clip of each run its own.

torch's fused kernel does the arithmetic, in one pass over memory. The released ResAdapters and
Houlsby code use AdamW without bias correction, and one gradient clip a stack.
Norms are summed in double precision: in single precision a sum over the 110 million parameters of
BERT-base is off by about 1 % on a CPU.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.optim.adamw import adamw

from repro.spec.types import Recipe
from repro.training.flat import FlatParameters

ENDLESS = 1e9
"""A step count at which the bias corrections 1 - beta ** count are 1."""


class AdamW:
    """Decoupled weight decay (Loshchilov and Hutter); all runs share betas, eps and schedule."""

    def __init__(self, parameters: FlatParameters, recipes: list[Recipe], steps: int) -> None:
        self.parameters, self.recipe, self.steps = parameters, recipes[0], steps
        device = parameters.values.device
        self.rates = {
            field: [getattr(recipe, field) or recipe.learning_rate for recipe in recipes]
            for field in parameters.columns
        }
        limits = [float("inf") if r.clip_norm is None else r.clip_norm for r in recipes]
        self.limit = torch.tensor(limits, device=device)[:, None]
        self.clips = any(r.clip_norm is not None for r in recipes)
        self.spares = self.recipe.decayed == "matrices"
        self.count = torch.zeros((), device=device)
        self.first = torch.zeros_like(parameters.values)
        self.second = torch.zeros_like(parameters.values)

    def step(self, number: int) -> Tensor:
        """Takes step `number` (from 1), forgets gradients; returns their norms (runs, stacks)."""
        gradients = self.parameters.gradients
        squares = torch.linalg.vector_norm(gradients, dim=2, dtype=torch.float64).square()
        norms: Tensor = squares.float().sqrt()  # infinite where Adam's second moment would overflow
        if self.clips:
            gradients.mul_((self.limit / (norms + 1e-6)).clamp_(max=1.0).unsqueeze(2))
        factor = scheduled(self.recipe, number, self.steps)
        if len({rate for rates in self.rates.values() for rate in rates}) == 1:
            rate = next(iter(self.rates.values()))[0]
            self._move((slice(None), slice(None), slice(None)), rate * factor, number)
        else:
            for field, columns in self.parameters.columns.items():
                for run, rate in enumerate(self.rates[field]):
                    self._move((slice(run, run + 1), slice(None), columns), rate * factor, number)
        self.parameters.adds = False
        return norms

    def _move(self, part: tuple[slice, slice, slice], rate: float, number: int) -> None:
        """Moves a part of the parameters (runs, stacks, columns) at one rate."""
        recipe, values = self.recipe, self.parameters.values[part]
        decay = recipe.weight_decay
        if decay and self.spares:
            values.mul_(1 - rate * decay * self.parameters.matrices[part[2]])
            decay = 0.0
        adamw(
            [values],
            [self.parameters.gradients[part]],
            [self.first[part]],
            [self.second[part]],
            [],
            [self.count.fill_(number - 1 if recipe.bias_correction else ENDLESS)],
            fused=True,
            amsgrad=False,
            beta1=recipe.adam_beta1,
            beta2=recipe.adam_beta2,
            lr=rate,
            weight_decay=decay,
            eps=recipe.adam_eps,
            maximize=False,
        )


def scheduled(recipe: Recipe, number: int, steps: int) -> float:
    """The factor on the learning rate at step `number` (from 1) of `steps`.

    As in the originals the first step of a warm-up has rate 0. "constant" and "linear" are those of
    transformers (`get_constant_schedule_with_warmup`, `get_linear_schedule_with_warmup`), whose
    Trainer rounds the steps of a warm-up up. "bert" is optimization.py of google-research/bert,
    which rounds them down, and whose linear decay counts from the first step of all.
    """
    before = number - 1
    share = round(recipe.warmup * steps, 6)  # 0.07 * 100 is a little more than 7
    rising = math.floor(share) if recipe.schedule == "bert" else math.ceil(share)
    if before < rising:
        return before / rising
    if recipe.schedule == "constant":
        return 1.0
    start = 0 if recipe.schedule == "bert" else rising
    return (steps - before) / (steps - start)
