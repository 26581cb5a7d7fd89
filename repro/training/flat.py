"""All parameters of a learner in one tensor (runs, stacks, size), and their gradients in another.

Parameters of one learning rate stand together.

Optimizer, clipping and checkpoints then are a handful of operations on three tensors, whatever
the method's modules are.
"""

from __future__ import annotations

import torch
from torch import Tensor

from repro.methods.modules.learner import Learner


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
