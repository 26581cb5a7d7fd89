"""Rows of several runs as one line of tokens without padding, and the ways back.

States are (1, tokens, hidden): the runs one after another, in a run its rows one after another.
What mixes tokens (attention) unpacks to (rows, length, ...); what differs by run (adapters, trained
norms, heads) regroups to (runs, longest, hidden).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

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


@dataclass(frozen=True, slots=True)
class Gather:
    """Rows `index` of a tensor, some maybe twice; `back` says which of them holds the gradient of
    each row of it. Where `gaps`, rows that were not read have the number behind the last one there.
    """

    index: Tensor
    back: Tensor
    gaps: bool

    def __call__(self, x: Tensor) -> Tensor:
        """(rows, width) -> (len(index), width)."""
        found: Tensor = _Gathered.apply(x, self)  # type: ignore[no-untyped-call]
        return found


@dataclass(frozen=True, slots=True)
class Heads:
    """The way from packed queries, keys and values to rows of heads, and back."""

    shape: tuple[int, int, int, int]
    """Rows, heads, queries, longest row."""
    parted: Gather
    joined: Gather | None
    """None: the attended queries are the first tokens, and stand as they should."""

    def part(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """(1, tokens, 3 hidden) -> q (rows, heads, queries, head), k and v (rows, heads, longest,
        head); padding holds the last token of its row, to be masked out.
        """
        rows, heads, queries, longest = self.shape
        flat = self.parted(x.view(-1, x.shape[-1] // (3 * heads)))
        sizes = [rows * heads * n for n in (queries, longest, longest)]
        q, k, v = (part.view(rows, heads, -1, flat.shape[1]) for part in torch.split(flat, sizes))
        return q, k, v

    def join(self, x: Tensor) -> Tensor:
        """(rows, heads, queries, head) -> (1, tokens or rows, hidden)."""
        flat = x.reshape(-1, x.shape[-1])
        flat = flat if self.joined is None else self.joined(flat)
        return flat.view(1, -1, self.shape[1] * x.shape[-1])


TOKENS, LENGTHS = 1.25, 1.5
"""Factors between the numbers of tokens, and the lengths of rows, that are rounded up to."""


class Packing:
    """One batch: `layout` of all rows (runs x batch, run-major, padded on the right).

    `rounded`: a run's tokens and the longest row are padded up to one of few sizes, so that few
    shapes occur. No real token reads what pads, and it has no gradient.
    """

    def __init__(self, layout: Layout, runs: int, heads: int, rounded: bool = False) -> None:
        self.device = layout.real.device
        self.rows, batch = len(layout.lengths), len(layout.lengths) // runs
        own = [layout.lengths[i : i + batch] for i in range(0, self.rows, batch)]
        self.longest = max(layout.lengths)
        self.lengths = [max(lengths) for lengths in own]
        """Of each run's longest row: what it would be padded to alone."""
        self.real = tuple(map(sum, own))
        """Tokens of each run, without those that pad."""
        sizes = self.real
        if rounded:
            self.longest = rounded_up(self.longest, LENGTHS)
            sizes = (rounded_up(max(sizes), TOKENS),) * runs
        self.tokens = Shares(sizes, self.device)
        self.firsts = Shares([batch] * runs, self.device)
        self._place(np.asarray(layout.lengths), layout.real.shape[1], heads, rounded)

    def _place(self, sizes: NDArray[np.int64], width: int, heads: int, rounded: bool) -> None:
        """Makes all indices on the host, and brings them to the device at once.

        `width`: of the padded batch, maybe more than that of its longest row.
        """
        self.width = self.longest if rounded else width
        """Of the rows that `unpack` gives."""
        rows, longest, items = self.rows, self.longest, sum(self.tokens.sizes)
        whole = rows * heads * longest
        full = bool(sizes.min() == longest) and not rounded  # else a shape may have both
        first = np.concatenate(
            [
                begin + own.cumsum() - own
                for begin, own in zip(
                    np.cumsum((0, *self.tokens.sizes[:-1])),
                    np.split(sizes, len(self.tokens.sizes)),
                    strict=True,
                )
            ]
        )
        row = np.repeat(np.arange(rows), sizes)
        place = np.arange(len(row)) - np.repeat(sizes.cumsum() - sizes, sizes)
        line = first[row] + place  # where each real token stands
        read = first[:, None] + np.minimum(
            np.arange(longest), sizes[:, None] - 1
        )  # (rows, longest)
        real = np.arange(longest) < sizes[:, None]
        head, third = np.arange(heads), heads * np.arange(3)[:, None, None, None]

        def lined(values: NDArray[np.int64], others: int) -> NDArray[np.int64]:
            """`values` of the real tokens at their places in the line."""
            found = np.full((items, *values.shape[1:]), others)
            found[line] = values
            return found

        unpacked = np.full((rows, self.width), items)
        unpacked[row, place] = line

        # where q, k and v of each head stand, padded and packed
        padded = read[:, None] * 3 * heads + head[:, None] + third
        packed = (row * heads * longest + place)[:, None] + head * longest  # (tokens, heads)
        parted = packed[:, None] + whole * np.arange(3)[:, None]  # (tokens, 3, heads)
        narrow = first[:, None] * 3 * heads + head  # q of first tokens alone
        narrowed, nowhere = parted - whole + rows * heads, rows * heads + 2 * whole
        narrowed[:, 0] = np.where(place[:, None] > 0, nowhere, row[:, None] * heads + head)
        unjoined = np.where(real[:, None], read[:, None] * heads + head[:, None], items * heads)
        arrays = {
            "unpacked": unpacked,
            "repacked": np.append(lined(row * self.width + place, unpacked.size), unpacked.size),
            "kept": lined(row * width + place, 0),
            "places": lined(place, 0),
            "row": lined(row, 0),
            "first": first,
            "begins": lined(np.where(place > 0, rows, row), rows),
            "padded": padded,
            "parted": lined(parted, 3 * whole),
            "narrow": np.concatenate([narrow.ravel(), padded[1:].ravel()]),
            "narrowed": lined(narrowed, nowhere),
            "joined": lined(packed, 0),
            "unjoined": unjoined,
        }
        on = self._on_device(arrays)
        self._kept = on["kept"]
        self.places = on["places"].unsqueeze(0)  # (1, tokens)
        """Of each token in its row, from 0."""
        self.row = on["row"]
        """Which row each token is of: (tokens,)."""
        self.first = Gather(on["first"], on["begins"], gaps=True)
        """The first token of each row."""
        self.mask: Tensor | None = None  # (rows, 1, 1, longest), -inf on padding
        if not full:
            mask = np.where(real, np.float32(0), np.float32("-inf"))
            self.mask = torch.from_numpy(mask).to(self.device, non_blocking=True)[:, None, None]
        joined = Gather(on["joined"], on["unjoined"], gaps=not full)
        every = Gather(on["padded"], on["parted"], gaps=rounded)
        self._unpacked = Gather(on["unpacked"], on["repacked"], gaps=True)
        few = Gather(on["narrow"], on["narrowed"], gaps=True)
        self.heads = Heads((rows, heads, longest, longest), every, joined)
        self.narrow_heads = Heads((rows, heads, 1, longest), few, None)

    def tensors(self) -> list[Tensor]:
        """All that differs from batch to batch of one shape."""
        gathers = (
            self.first,
            self.heads.parted,
            self.heads.joined,
            self.narrow_heads.parted,
            self._unpacked,
        )
        found = [x for gather in gathers if gather for x in (gather.index, gather.back)]
        return found + [self.places, self.row] + ([] if self.mask is None else [self.mask])

    def _on_device(self, arrays: dict[str, NDArray[np.int64]]) -> dict[str, Tensor]:
        """Flat tensors of the same names, in one copy."""
        flat = torch.from_numpy(np.concatenate([array.ravel() for array in arrays.values()]))
        sizes = [array.size for array in arrays.values()]
        parts = torch.split(flat.to(self.device, non_blocking=True), sizes)
        return dict(zip(arrays, parts, strict=True))

    def unpack(self, x: Tensor, fill: float = 0.0) -> Tensor:
        """(1, tokens, n) -> (runs, batch, width, n); padding holds `fill`."""
        rows = self._unpacked(F.pad(x[0], (0, 0, 0, 1), value=fill))
        return rows.view(len(self.lengths), -1, self.width, x.shape[2])

    def ids(self, x: Tensor) -> Tensor:
        """(rows, length) -> (1, tokens)."""
        return x.flatten().index_select(0, self._kept).unsqueeze(0)


def rounded_up(size: int, factor: float) -> int:
    """The next of 16, 16 factor, 16 factor^2 ..., each rounded up to a multiple of 8."""
    step = max(0, math.ceil(math.log(size / 16, factor) - 1e-9))
    return math.ceil(16 * factor**step / 8) * 8


def spread(x: Tensor, places: Tensor, size: int) -> Tensor:
    """Row i of `x` (n, width) at row places[i] of zeros (size, width); places differ."""
    found: Tensor = _Spread.apply(x, places, size)  # type: ignore[no-untyped-call]
    return found


def pick(x: Tensor, places: Tensor) -> Tensor:
    """Rows `places`, all different, of `x` (size, width): (n, width)."""
    found: Tensor = _Pick.apply(x, places)  # type: ignore[no-untyped-call]
    return found


# Since places differ, the gradient of each is the other: no sums, so it is quick and repeatable.


class _Gathered(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, gather: Gather) -> Tensor:
        ctx.save_for_backward(gather.back)
        ctx.gaps = gather.gaps
        return x.index_select(0, gather.index)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        [gradient] = gradients
        if ctx.gaps:
            gradient = F.pad(gradient, (0, 0, 0, 1))
        return gradient.index_select(0, ctx.saved_tensors[0]), None


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
