"""Bottleneck adapters (Houlsby et al. 2019, section 2.1) of several runs, and which slot has which.

    a(x) = x + f(x),   f(x) = W_u g(W_d x + b_d) + b_u,   W_d (d, m), W_u (m, d)

Pfeiffer's configuration uses f alone: z -> z + f(LN(z)) before the layer's last norm.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from repro.methods.inside.packing import Shares
from repro.methods.learner import Linear
from repro.spec.types import BottleneckAdapters

NONLINEARITIES: dict[str, Callable[[Tensor], Tensor]] = {
    "gelu": F.gelu,
    "gelu-tanh": partial(F.gelu, approximate="tanh"),
    "relu": F.relu,
}

WITHIN = math.erf(2**0.5)
"""The share of a normal law within two deviations."""


class Adapter(nn.Module):
    """f of `runs` runs; parameters 2 m d + m + d a run."""

    def __init__(self, spec: BottleneckAdapters, runs: int, hidden: int) -> None:
        super().__init__()
        self.spec = spec
        self.nonlinearity = NONLINEARITIES[spec.nonlinearity]
        self.down = Linear(runs, 1, hidden, spec.size)
        self.up = Linear(runs, 1, spec.size, hidden)

    def forward(self, x: Tensor, shares: Shares) -> Tensor:
        """f(x) of (1, items, hidden), in the same shape."""
        middle = self.nonlinearity(self.down(shares.stack(x)))  # (runs, longest, bottleneck)
        return shares.unstack(self.up(middle))

    def initialise(self, streams: list[torch.Generator]) -> None:
        """Both matrices N(0, init_std^2), truncated at two deviations if so asked; biases 0."""
        for linear in (self.down, self.up):
            draw(linear, streams, self.spec.init_std, self.spec.init == "truncated-normal")


def slots_of(spec: BottleneckAdapters, layers: int) -> list[tuple[int, ...]]:
    """For each layer, the module in each of its slots: two (Houlsby) or one (Pfeiffer)."""
    slots = 2 if spec.placement == "houlsby" else 1
    if spec.span == 0:
        return [tuple(range(slots * i, slots * (i + 1))) for i in range(layers)]
    return [(i // spec.span,) * slots for i in range(layers)]


def draw(
    linear: Linear, streams: list[torch.Generator], std: float, truncated: bool = False
) -> None:
    """Draws the weights of run r from `streams[r]`; biases 0.

    `std` is that of the normal law before it is truncated, as TensorFlow's initialiser has it.
    """
    shape = linear.weight.shape[-2:]
    with torch.no_grad():
        for weight, stream in zip(linear.weight.view(-1, *shape), streams, strict=True):
            drawn = torch.empty(shape, dtype=torch.float64)
            if truncated:  # by the inverse of the distribution function
                drawn.uniform_(-WITHIN, WITHIN, generator=stream)
                drawn = torch.erfinv(drawn) * (std * 2**0.5)
            else:
                drawn.normal_(0.0, std, generator=stream)
            weight.copy_(drawn)
        linear.bias.zero_()
