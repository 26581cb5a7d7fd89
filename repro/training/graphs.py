"""Training steps as compiled graphs: one for every shape of batch.

The tokens of a batch and its longest row are padded up to one of few sizes, so that few shapes
occur; the numbers stay those of the exact shape. A shape's first step is traced below autograd:
forward pass, loss, backward pass and the writing of the gradients are then one graph, which torch
compiles (on a GPU into CUDA graphs). Clipping and the optimizer follow, a handful of kernels.
Dropout's masks are drawn before and given to the graph.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from repro.methods.modules.learner import Inputs
from repro.methods.modules.randomness import Dropout
from repro.training.optimizer import FlatParameters

BACKEND = "inductor"
Step = Callable[[Callable[[], Tensor], Tensor, float], Tensor]
"""What gives the outputs, targets, weight of the losses -> the losses; adds the gradients."""


class Graphs:
    """The compiled steps of a learner that can be replayed. `step` is what follows its outputs."""

    def __init__(
        self, learner: Any, dropout: Dropout, parameters: FlatParameters, step: Step
    ) -> None:
        self.learner, self.dropout, self.step = learner, dropout, step
        self.parameters = parameters
        self.programs: dict[Any, Callable[..., Tensor]] = {}
        """By the shapes of what a step reads, its weight, and whether gradients are added."""

    def __call__(self, inputs: Inputs, targets: Tensor, weight: float) -> Tensor:
        """The losses (runs,) of a batch, whose gradients are added as the parameters say."""
        self.learner.begin(inputs, self.dropout, rounded=True)
        given = [*self.learner.read(), targets]
        key = (weight, self.parameters.adds, *((tensor.shape, tensor.dtype) for tensor in given))
        if key not in self.programs:
            self.programs[key] = self._compile(given, targets, weight)
        with torch.no_grad():
            losses = self.programs[key](*given)
        self.parameters.adds = True
        return losses

    def _compile(
        self, given: list[Tensor], targets: Tensor, weight: float
    ) -> Callable[..., Tensor]:
        from torch.fx.experimental.proxy_tensor import make_fx

        def traced(*_: Tensor) -> Tensor:  # reads the same tensors where the learner has them
            return self.step(self.learner.outputs, targets, weight)

        adds, before = self.parameters.adds, self.parameters.gradients.clone()
        graph = make_fx(traced)(*given)
        self.parameters.gradients.copy_(before)  # tracing takes the step, too
        self.parameters.adds = adds
        mode = "reduce-overhead" if targets.is_cuda else None
        found: Callable[..., Tensor] = torch.compile(
            graph, fullgraph=True, dynamic=False, backend=BACKEND, mode=mode
        )
        return found
