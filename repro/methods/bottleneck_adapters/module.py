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
from repro.methods.inside.slots import Family
from repro.methods.modules.learner import Linear, draw

NONLINEARITIES: dict[str, Callable[[Tensor], Tensor]] = {
    "gelu": F.gelu,
    "gelu-tanh": partial(F.gelu, approximate="tanh"),
    "relu": F.relu,
}


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


class Adapters(Added):
    """The adapters of the whole encoder, each once, in the slots that use them."""

    name = "adapters"

    def __init__(self, spec: BottleneckAdapters, place: Place) -> None:
        super().__init__()
        slots = slots_of(spec, len(place.layers))
        for number in range(slots[-1][-1] + 1):
            self.add_module(str(number), Adapter(spec, place.runs, place.hidden))
        each = list(self)
        for layer, used in zip(place.layers, slots, strict=True):
            own = [each[number] for number in used]
            if spec.placement == "pfeiffer":
                insert_pfeiffer(layer, place.family, own[0], place.now)
            else:
                insert_houlsby(layer, place.family, own, place.now)

    def __iter__(self) -> Iterator[Adapter]:
        """In order."""
        return iter(cast("Iterable[Adapter]", self.children()))

    def initialise(self, streams: list[torch.Generator]) -> None:
        """Each in order."""
        for adapter in self:
            adapter.initialise(streams)


def slots_of(spec: BottleneckAdapters, layers: int) -> list[tuple[int, ...]]:
    """For each layer, the module in each of its slots: two (Houlsby) or one (Pfeiffer)."""
    slots = 2 if spec.placement == "houlsby" else 1
    if spec.span == 0:
        return [tuple(range(slots * i, slots * (i + 1))) for i in range(layers)]
    return [(i // spec.span,) * slots for i in range(layers)]


def insert_houlsby(layer: nn.Module, family: Family, pair: list[Adapter], now: Pass) -> None:
    """x -> x + f(x) in both slots of a layer."""
    for path, adapter in zip((family.attention, family.feed_forward), pair, strict=True):
        layer.get_submodule(path).register_forward_hook(_Houlsby(adapter, now))


def insert_pfeiffer(layer: nn.Module, family: Family, adapter: Adapter, now: Pass) -> None:
    """z -> z + f(LN(z)) before the layer's last norm LN."""

    def before(norm: nn.Module, given: tuple[Tensor]) -> Tensor | None:
        if not now.adapters:
            return None
        change: Tensor = adapter(norm.forward(given[0]), now.shares)
        return given[0] + change

    layer.get_submodule(family.norm).register_forward_pre_hook(before)


class _Houlsby:
    def __init__(self, adapter: Adapter, now: Pass) -> None:
        self.adapter, self.now = adapter, now

    def __call__(self, _: nn.Module, __: Any, output: Tensor) -> Tensor | None:
        now = self.now
        return output + self.adapter(output, now.shares) if now.adapters else None
