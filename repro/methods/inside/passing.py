"""One forward pass as the hooks inside the encoder see it."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

from repro.methods.inside.packing import Packing, Shares
from repro.methods.modules.layout import Layout
from repro.methods.modules.randomness import Dropout, Shapes, dropped, dropped_onto, join

DRAWN_AT_ONCE = 2**26
"""Elements of the masks that one draw gives, at most or in one mask."""


class Pass:
    """The batch of a learner, its dropout, and where the pass through the encoder stands.

    A learner has one, which `begin` turns to the next batch; the hooks hold it, not the learner,
    so that a learner that is let go of is freed at once.
    """

    def __init__(self, rate: float, heads: int = 1) -> None:
        self.rate, self.heads = rate, heads
        self.packing: Packing
        self.layout: Layout
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
        self._coming: deque[Shapes] = deque()
        self._drawn: deque[tuple[Shapes, list[Tensor]]] = deque()

    def begin(self, layout: Layout, runs: int, dropout: Dropout) -> None:
        """Another batch: rows of `runs` runs."""
        self.packing = Packing(layout, runs, self.heads)
        self.layout, self.dropout = layout, dropout
        self.narrows = self.narrowed = False
        self.foresee([])

    def foresee(self, coming: Sequence[Shapes]) -> None:
        """The masks that this pass will need, in order: they are drawn together.

        Where others are asked for, or none were foreseen, each is drawn when it is needed.
        """
        self._coming, self._drawn = deque(coming), deque()

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
        return join(self._keep([(size, x.shape[2]) for size in self.shares.sizes], x.device))

    def _keep(self, shapes: Shapes, device: torch.device) -> list[Tensor]:
        """The next mask, by run."""
        if not self._drawn and self._coming and self._coming[0] == shapes:
            self._draw(device)
        if self._drawn and self._drawn[0][0] == shapes:
            return self._drawn.popleft()[1]
        [keep] = self.dropout.keep([shapes], self.rate, device)
        return keep

    def _draw(self, device: torch.device) -> None:
        """As many of the masks to come as one draw may give."""
        block: list[Shapes] = []
        elements = 0
        while self._coming and (not block or elements < DRAWN_AT_ONCE):
            block.append(self._coming.popleft())
            elements += sum(math.prod(shape) for shape in block[-1])
        self._drawn = deque(zip(block, self.dropout.keep(block, self.rate, device), strict=True))

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
        shapes = [tuple(part.shape) for part in x.chunk(len(self.dropout.generators))]
        return dropped(x, join(self._keep(shapes, x.device)), self.rate)

    def of_each(self, x: Tensor, change: Callable[[Tensor], Tensor]) -> Tensor:
        """`change` of (runs, longest, width), for items (1, items, width) of all runs."""
        return self.shares.unstack(change(self.shares.stack(x)))

    def keep_weights(self, shape: Sequence[int], before: int, device: torch.device) -> Tensor:
        """Which attention weights (rows, heads, queries, before + longest) dropout leaves.

        A run draws for rows as long as its own longest one, whatever the group is padded to.
        """
        rows, heads, queries, longest = shape
        batch = rows // len(self.packing.lengths)
        wide = [(batch, heads, min(n, queries), before + n) for n in self.packing.lengths]
        masks = [
            keep
            if keep.shape[2:] == (queries, longest)
            else F.pad(keep, (0, longest - keep.shape[3], 0, queries - keep.shape[2]))
            for keep in self._keep(wide, device)
        ]
        return join(masks)
