"""AdamW over flat parameters, with rates and clip of each run its own.

All parameters of a learner stand in one tensor (runs, stacks, size), those of one learning rate
together, and their gradients in another. Optimizer, clipping and checkpoints then are a handful of
operations on three tensors, whatever the method's modules are.

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

from repro.methods.modules.learner import Learner
from repro.spec.types import Recipe

ENDLESS = 1e9
"""A step count at which the bias corrections 1 - beta ** count are 1."""


class FlatParameters:
    """Rebinds the parameters of `learner` to views of one flat tensor.

    A stacked learner's parameters are (runs, stacks, ...). Another learner holds a single run, and
    all its parameters form that run's one stack.
    """

    def __init__(self, learner: Learner) -> None:
        self.lead = (learner.runs, learner.stacks)
        named = [
            (learner.rates.get(name.rpartition(".")[2], "learning_rate"), p)
            for name, p in learner.named_parameters()
            if p.requires_grad
        ]
        fields = ("learning_rate", *sorted(set(learner.rates.values())))
        named.sort(key=lambda pair: fields.index(pair[0]))
        self.parameters = [parameter for _, parameter in named]
        self.idles = learner.idles
        copies = learner.runs * learner.stacks
        widths = [p.numel() // copies for p in self.parameters]
        device = self.parameters[0].device if self.parameters else torch.device("cpu")
        self.values = torch.zeros(*self.lead, sum(widths), device=device)
        self.gradients = torch.zeros_like(self.values)
        self.matrices = torch.zeros(sum(widths), device=device)  # 1 where a matrix's element is
        self.columns: dict[str, slice] = {}
        """Field of the recipe -> the columns whose learning rate it holds."""
        self._gradients: list[Tensor] = []
        self.adds = False
        """Whether the next gradients are added to those that there are, or replace them."""
        place = 0
        for (field, parameter), width in zip(named, widths, strict=True):
            shape = parameter.shape[2:] if learner.stacked else parameter.shape
            part = (..., slice(place, place + width))
            view = self._view(self.values[part], shape, learner.stacked)
            view.copy_(parameter.detach())
            parameter.data = view
            self.matrices[place : place + width] = len(shape) > 1
            self._gradients.append(self._view(self.gradients[part], shape, learner.stacked))
            begin = self.columns.get(field, slice(place, place)).start
            place += width
            self.columns[field] = slice(begin, place)

    def accumulate(self, loss: Tensor) -> None:
        """Adds the gradients of the scalar `loss`, 0 for what takes no part where some may."""
        found = torch.autograd.grad(loss, self.parameters, materialize_grads=self.idles)
        write = torch._foreach_add_ if self.adds else torch._foreach_copy_
        write(self._gradients, list(found))
        self.adds = True

    @staticmethod
    def _view(part: Tensor, shape: torch.Size, stacked: bool) -> Tensor:
        """(runs, stacks, width) as the parameter it holds, sharing memory."""
        return part.view(*part.shape[:2], *shape) if stacked else part[0, 0].view(shape)


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
