"""One forward pass as the hooks inside the encoder see it."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from repro.methods.inside.packing import Packing, Shares
from repro.methods.modules.layout import Layout
from repro.methods.modules.randomness import Dropout, dropped, dropped_onto, join

DRAWN_AT_ONCE = 2**26
"""Elements of the masks that one draw gives, at most or in one mask."""


class Mask(NamedTuple):
    """What dropout masks: the shape of each run's part, and the one to which padding extends it."""

    shapes: list[tuple[int, ...]]
    extended: list[tuple[int, ...]]


class Pass:
    """The batch of a learner, its dropout, and where the pass through the encoder stands.

    A learner has one, which `begin` turns to the next batch; the hooks hold it, not the learner,
    so that a learner that is let go of is freed at once.
    """

    def __init__(self, rate: float, heads: int = 1) -> None:
        self.rate, self.heads = rate, heads
        self.packing: Packing
        self.dropout: Dropout
        self.narrows = False
        """This layer goes on with each row's first token only."""
        self.narrowed = False
        """It does so by now."""
        self.adapters = True
        """The adapters of this layer are switched on."""
        self.prefix: tuple[Tensor, Tensor] | None = None
        """Keys and values (runs, positions, hidden) before those of this layer's tokens."""
        self.dropped: tuple[int, ...] = ()
        """How many of the first layers each run leaves out in this step (AdapterDrop)."""
        self._coming: deque[Mask] = deque()
        self._drawn: deque[tuple[Mask, Tensor]] = deque()

    def begin(self, layout: Layout, runs: int, dropout: Dropout, rounded: bool = False) -> None:
        """Another batch: rows of `runs` runs; `rounded`: see `Packing`."""
        self.packing, self.dropout = Packing(layout, runs, self.heads, rounded), dropout
        self.narrows = self.narrowed = False
        self.foresee([])

    def foresee(self, coming: Sequence[Mask]) -> None:
        """The masks that this pass will need, in order: they are drawn together.

        Where others are asked for, or none were foreseen, each is drawn when it is needed.
        """
        self._coming, self._drawn = deque(coming), deque()

    def draw(self) -> list[Tensor]:
        """Draws all foreseen masks now."""
        drawn: list[tuple[Mask, Tensor]] = []
        while self._coming:
            self._draw()
            drawn += self._drawn
        self._drawn = deque(drawn)
        return [mask for _, mask in drawn]

    def enter(self, *, narrows: bool, adapters: bool) -> None:
        """The next layer."""
        self.narrows, self.narrowed, self.adapters = narrows, False, adapters
        self.prefix = None

    @property
    def drops(self) -> bool:
        """Dropout changes anything."""
        return self.dropout.active and self.rate > 0.0

    @property
    def shares(self) -> Shares:
        """How the states, tokens or first tokens, are shared among the runs."""
        return self.packing.firsts if self.narrowed else self.packing.tokens

    def drop(self, x: Tensor) -> Tensor:
        """Dropout on states (1, items, width): each run draws for its own items."""
        if not self.drops:
            return x
        return dropped(x, self._keep_items(x), self.rate)

    def drop_onto(self, x: Tensor, base: Tensor) -> Tensor:
        """base + drop(x), both (1, items, width)."""
        if not self.drops:
            return x + base
        return dropped_onto(x, self._keep_items(x), self.rate, base)

    def _keep_items(self, x: Tensor) -> Tensor:
        return self._keep(self.of_items(x.shape[2], self.narrowed))

    def of_items(self, width: int, narrowed: bool) -> Mask:
        """The mask of states (1, items, width), tokens or first tokens."""
        packing = self.packing
        real = packing.firsts.sizes if narrowed else packing.real
        shares = packing.firsts if narrowed else packing.tokens
        return Mask([(n, width) for n in real], [(n, width) for n in shares.sizes])

    def of_rows_of_runs(self, width: int) -> Mask:
        """The mask of (runs, batch, width)."""
        shapes: list[tuple[int, ...]] = [(1, n, width) for n in self.packing.firsts.sizes]
        return Mask(shapes, shapes)

    def of_weights(self, narrows: bool, before: int = 0) -> Mask:
        """The mask of attention weights (rows, heads, queries, before + longest).

        A run draws for rows as long as its own longest one, whatever the group is padded to.
        """
        packing, heads = self.packing, self.heads
        batch = packing.rows // len(packing.lengths)
        found: list[list[tuple[int, ...]]] = [
            [(batch, heads, 1 if narrows else n, before + n) for n in lengths]
            for lengths in (packing.lengths, [packing.longest] * len(packing.lengths))
        ]
        return Mask(*found)

    def keep_weights(self, before: int = 0) -> Tensor:
        """Which attention weights of this layer dropout leaves."""
        return self._keep(self.of_weights(self.narrows, before))

    def _keep(self, wanted: Mask) -> Tensor:
        """The next mask."""
        if not self._drawn and self._coming and self._coming[0] == wanted:
            self._draw()
        if self._drawn and self._drawn[0][0] == wanted:
            return self._drawn.popleft()[1]
        return self._masks([wanted])[0]

    def _draw(self) -> None:
        """As many of the masks to come as one draw may give."""
        block: list[Mask] = []
        elements = 0
        while self._coming and (not block or elements < DRAWN_AT_ONCE):
            block.append(self._coming.popleft())
            elements += sum(map(math.prod, block[-1].shapes))
        self._drawn = deque(zip(block, self._masks(block), strict=True))

    def _masks(self, wanted: Sequence[Mask]) -> list[Tensor]:
        shapes = [mask.shapes for mask in wanted]
        found = self.dropout.keep(shapes, self.rate, self.packing.device)
        return [
            join([_extended(part, to) for part, to in zip(parts, mask.extended, strict=True)])
            for parts, mask in zip(found, wanted, strict=True)
        ]

    def of_runs(self, values: Tensor | Sequence[float]) -> Tensor:
        """One value a run as one an item: (1, items, 1)."""
        found = torch.as_tensor(values, device=self.packing.device)
        if len(found) > 1:
            found = found.repeat_interleave(torch.tensor(self.shares.sizes, device=found.device))
        return found.view(1, -1, 1)

    def of_rows(self, values: Tensor) -> Tensor:
        """(rows, width), one for each example, as one for each item: (items, width)."""
        return values if self.narrowed else values.index_select(0, self.packing.row)

    def drop_rows(self, x: Tensor) -> Tensor:
        """Dropout on (runs, batch, width)."""
        if not self.drops:
            return x
        return dropped(x, self._keep(self.of_rows_of_runs(x.shape[2])), self.rate)

    def of_each(self, x: Tensor, change: Callable[[Tensor], Tensor]) -> Tensor:
        """`change` of (runs, longest, width), for items (1, items, width) of all runs."""
        return self.shares.unstack(change(self.shares.stack(x)))


def _extended(mask: Tensor, shape: Sequence[int]) -> Tensor:
    """`mask` with zeros behind it in every axis, up to `shape`."""
    if tuple(mask.shape) == tuple(shape):
        return mask
    missing = [(0, to - size) for to, size in zip(shape, mask.shape, strict=True)]
    return F.pad(mask, [n for pair in reversed(missing) for n in pair])
