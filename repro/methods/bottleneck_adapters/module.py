"""Bottleneck adapters (Houlsby et al. 2019, section 2.1) of several runs, and which slot has which.

    a(x) = x + f(x),   f(x) = W_u g(W_d x + b_d) + b_u,   W_d (d, m), W_u (m, d)

Pfeiffer's configuration uses f alone: z -> z + f(LN(z)) before the layer's last norm.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from repro.methods.bottleneck_adapters import BottleneckAdapters
from repro.methods.inside.learner import Added, Place
from repro.methods.inside.packing import Shares
from repro.methods.inside.passing import Pass
from repro.methods.modules.learner import Linear, draw

FORWARD: dict[str, Callable[[Tensor], Tensor]] = {
    "gelu": F.gelu,
    "gelu-tanh": partial(F.gelu, approximate="tanh"),
    "relu": F.relu,
}
BACKWARD: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "gelu": torch.ops.aten.gelu_backward,
    "gelu-tanh": partial(torch.ops.aten.gelu_backward, approximate="tanh"),
    "relu": partial(torch.ops.aten.threshold_backward, threshold=0),
}
"""From the gradient of the output, and the input."""


class Adapter(nn.Module):
    """f of `runs` runs; parameters 2 m d + m + d a run."""

    def __init__(self, spec: BottleneckAdapters, runs: int, hidden: int) -> None:
        super().__init__()
        self.spec = spec
        self.down = Linear(runs, 1, hidden, spec.size)
        self.up = Linear(runs, 1, spec.size, hidden)

    def forward(self, x: Tensor, shares: Shares, beside: Tensor | None = None) -> Tensor:
        """beside + f(x), or x + f(x) without `beside`; all of shape (1, items, hidden)."""
        given = shares.stack(x)  # (runs, longest, hidden)
        base = None if beside is None else shares.stack(beside)
        maps = (p.flatten(0, 1) for linear in (self.down, self.up) for p in linear.parameters())
        found: Tensor = _Bottleneck.apply(given, base, *maps, self.spec.nonlinearity)  # type: ignore[no-untyped-call]
        return shares.unstack(found)

    def initialise(self, streams: list[torch.Generator]) -> None:
        """Both matrices N(0, init_std^2), truncated at two deviations if so asked; biases 0."""
        for linear in (self.down, self.up):
            draw(linear, streams, self.spec.init_std, self.spec.init == "truncated-normal")


class _Bottleneck(torch.autograd.Function):
    """base + g(x W_d + b_d) W_u + b_u of several runs; without a base x + ..., whose two gradients
    of x are summed in the last product.
    """

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,  # (runs, items, hidden)
        base: Tensor | None,
        down: Tensor,  # (runs, hidden, bottleneck)
        down_bias: Tensor,
        up: Tensor,
        up_bias: Tensor,
        nonlinearity: str,
    ) -> Tensor:
        inner = torch.baddbmm(down_bias.unsqueeze(1), x, down)
        middle = FORWARD[nonlinearity](inner)
        ctx.save_for_backward(x, down, up, inner, middle)
        ctx.nonlinearity, ctx.based = nonlinearity, base is not None
        return torch.baddbmm(up_bias.unsqueeze(1), middle, up) + (x if base is None else base)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        x, down, up, inner, middle = ctx.saved_tensors
        dtype, [whole] = inner.dtype, gradients
        gradient = whole.to(dtype)
        of_up = torch.bmm(middle.transpose(1, 2), gradient)
        of_middle = torch.bmm(gradient, up.to(dtype).transpose(1, 2))
        of_inner = BACKWARD[ctx.nonlinearity](of_middle, inner)
        of_down = torch.bmm(x.to(dtype).transpose(1, 2), of_inner)
        of_x, back = None, down.to(dtype).transpose(1, 2)
        if not ctx.needs_input_grad[0]:
            pass
        elif ctx.based or dtype != whole.dtype:
            of_x = torch.bmm(of_inner, back)
            of_x = of_x if ctx.based else whole + of_x
        else:
            of_x = torch.baddbmm(whole, of_inner, back)
        of_base = whole if ctx.based else None
        return of_x, of_base, of_down, of_inner.sum(1), of_up, gradient.sum(1), None


class Adapters(Added):
    """The adapters of the whole encoder, each once, in the slots that use them."""

    name = "adapters"
    foreseen = True

    def __init__(self, spec: BottleneckAdapters, place: Place) -> None:
        super().__init__()
        slots = slots_of(spec, len(place.layers))
        for number in range(slots[-1][-1] + 1):
            self.add_module(str(number), Adapter(spec, place.runs, place.hidden))
        each = list(self)
        family, now = place.family, place.now
        for layer, used in zip(place.layers, slots, strict=True):
            if spec.placement == "pfeiffer":
                norm = layer.get_submodule(family.norm)
                norm.register_forward_pre_hook(partial(_before, each[used[0]], now))
                continue
            for path, number in zip((family.attention, family.feed_forward), used, strict=True):
                layer.get_submodule(path).register_forward_hook(partial(_after, each[number], now))

    def __iter__(self) -> Iterator[Adapter]:
        """In order."""
        return iter(cast("Iterable[Adapter]", self.children()))


def slots_of(spec: BottleneckAdapters, layers: int) -> list[tuple[int, ...]]:
    """For each layer, the module in each of its slots: two (Houlsby) or one (Pfeiffer)."""
    if spec.span == 0:
        return [tuple(range(spec.slots * i, spec.slots * (i + 1))) for i in range(layers)]
    return [(i // spec.span,) * spec.slots for i in range(layers)]


def _after(adapter: Adapter, now: Pass, _: nn.Module, __: Any, x: Tensor) -> Tensor | None:
    """x -> x + f(x) in a slot."""
    return adapter(x, now.shares) if now.adapters else None


def _before(adapter: Adapter, now: Pass, norm: nn.Module, given: tuple[Tensor]) -> Tensor | None:
    """z -> z + f(LN(z)) before the layer's last norm LN."""
    return adapter(norm.forward(given[0]), now.shares, given[0]) if now.adapters else None
