"""Rows of several runs as one line of tokens without padding, and the ways back.

States are (1, tokens, hidden): the runs one after another, in a run its rows one after another.
What mixes tokens (attention) unpacks to (rows, length, ...); what differs by run (adapters, trained
norms, heads) regroups to (runs, longest, hidden).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from repro.methods.modules.layout import Layout


class Shares:
    """`sizes[r]` consecutive items belong to run r."""

    def __init__(self, sizes: Sequence[int], device: torch.device) -> None:
        self.sizes = tuple(sizes)
        self.longest = max(self.sizes)
        self.places: Tensor | None = None  # (items,): where each stands in (runs * longest)
        if min(self.sizes) < self.longest:
            starts = [torch.arange(n) + run * self.longest for run, n in enumerate(self.sizes)]
            self.places = torch.cat(starts).to(device, non_blocking=True)

    def stack(self, x: Tensor) -> Tensor:
        """(1, items, width) -> (runs, longest, width); shorter runs end in zeros."""
        if self.places is not None:
            x = spread(x[0], self.places, len(self.sizes) * self.longest)
        return x.reshape(len(self.sizes), self.longest, x.shape[-1])

    def unstack(self, x: Tensor) -> Tensor:
        """(runs, longest, width) -> (1, items, width)."""
        flat = x.flatten(0, 1)
        return (flat if self.places is None else pick(flat, self.places)).unsqueeze(0)


class Packing:
    """One batch: `layout` of all rows (runs x batch, run-major, padded on the right)."""

    def __init__(self, layout: Layout, runs: int) -> None:
        device = layout.real.device
        self.rows, batch = len(layout.lengths), len(layout.lengths) // runs
        own = [layout.lengths[i : i + batch] for i in range(0, self.rows, batch)]
        self.longest = max(layout.lengths)
        self.lengths = [max(lengths) for lengths in own]
        """Of each run's longest row: what it would be padded to alone."""
        self.tokens = Shares([sum(lengths) for lengths in own], device)
        self.firsts = Shares([batch] * runs, device)
        self.full = min(layout.lengths) == self.longest
        self.kept = _kept(layout, self.longest)
        """Where the tokens stand in (rows * longest)."""
        self.places = (self.kept % self.longest).unsqueeze(0)  # (1, tokens)
        self.row = self.kept // self.longest
        """Which row each token is of: (tokens,)."""
        self.mask: Tensor | None = None  # (rows, 1, 1, longest), -inf on padding
        if not self.full:
            padding = ~layout.real[:, : self.longest]
            nothing = torch.zeros(padding.shape, device=device)
            self.mask = nothing.masked_fill_(padding, float("-inf"))[:, None, None]
        sizes = torch.tensor(layout.lengths)
        self.first = (sizes.cumsum(0) - sizes).to(device, non_blocking=True)
        """Where in the line of tokens each row begins: (rows,)."""

    def ids(self, x: Tensor) -> Tensor:
        """(rows, length) -> (1, tokens)."""
        return x[:, : self.longest].flatten().index_select(0, self.kept).unsqueeze(0)

    def unpack(self, x: Tensor) -> Tensor:
        """(tokens, width) -> (rows, longest, width), zeros on padding."""
        flat = x if self.full else spread(x, self.kept, self.rows * self.longest)
        return flat.view(self.rows, self.longest, -1)

    def pack(self, x: Tensor) -> Tensor:
        """(rows, longest, width) -> (tokens, width)."""
        flat = x.flatten(0, 1)
        return flat if self.full else pick(flat, self.kept)


def _kept(layout: Layout, longest: int) -> Tensor:
    """Flat positions of the real tokens in (rows, longest); the layout may be longer than that."""
    rows, length = layout.real.shape
    if min(layout.lengths) == longest:
        return torch.arange(rows * longest, device=layout.real.device)
    kept = layout.kept
    assert kept is not None, "padding is dropped here"
    return kept if length == longest else kept // length * longest + kept % length


def spread(x: Tensor, places: Tensor, size: int) -> Tensor:
    """Row i of `x` (n, width) at row places[i] of zeros (size, width); places differ."""
    found: Tensor = _Spread.apply(x, places, size)  # type: ignore[no-untyped-call]
    return found


def pick(x: Tensor, places: Tensor) -> Tensor:
    """Rows `places`, all different, of `x` (size, width): (n, width)."""
    found: Tensor = _Pick.apply(x, places)  # type: ignore[no-untyped-call]
    return found


# Since places differ, the gradient of each is the other: no sums, so it is quick and repeatable.


class _Spread(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, places: Tensor, size: int) -> Tensor:
        ctx.save_for_backward(places)
        return _spread(x, places, size)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        return gradients[0].index_select(0, ctx.saved_tensors[0]), None, None


class _Pick(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, places: Tensor) -> Tensor:
        ctx.save_for_backward(places)
        ctx.size = x.shape[0]
        return x.index_select(0, places)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        return _spread(gradients[0], ctx.saved_tensors[0], ctx.size), None


def _spread(x: Tensor, places: Tensor, size: int) -> Tensor:
    whole = x.new_zeros(size, x.shape[1])
    whole[places] = x
    return whole
