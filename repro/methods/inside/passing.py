"""One forward pass as the hooks inside the encoder see it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

from repro.methods.inside.packing import Packing, Shares
from repro.methods.modules.layout import Layout
from repro.methods.modules.randomness import Dropout, dropped, join


class Pass:
    """The batch of a learner, its dropout, and where the pass through the encoder stands.

    A learner has one, which `begin` turns to the next batch; the hooks hold it, not the learner,
    so that a learner that is let go of is freed at once.
    """

    def __init__(self, rate: float) -> None:
        self.rate = rate
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

    def begin(self, layout: Layout, runs: int, dropout: Dropout) -> None:
        """Another batch: rows of `runs` runs."""
        self.packing, self.layout, self.dropout = Packing(layout, runs), layout, dropout
        self.narrows = self.narrowed = False

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
        shapes = [(size, x.shape[2]) for size in self.shares.sizes]
        return dropped(x, join(self.dropout.keep(shapes, self.rate, x.device)), self.rate)

    def of_runs(self, values: Tensor | Sequence[float]) -> Tensor:
        """One value a run as one an item: (1, items, 1)."""
        found = torch.as_tensor(values, device=self.packing.first.device)
        if len(found) > 1:
            found = found.repeat_interleave(torch.tensor(self.shares.sizes, device=found.device))
        return found.view(1, -1, 1)

    def of_rows(self, values: Tensor) -> Tensor:
        """(rows, width), one for each example, as one for each item: (items, width)."""
        return values if self.narrowed else values.index_select(0, self.packing.row)

    def drop_rows(self, x: Tensor) -> Tensor:
        """Dropout on (runs, batch, width)."""
        return self.dropout(x, self.rate)

    def of_each(self, x: Tensor, change: Callable[[Tensor], Tensor]) -> Tensor:
        """`change` of (runs, longest, width), for items (1, items, width) of all runs."""
        return self.shares.unstack(change(self.shares.stack(x)))

    def drop_weights(self, x: Tensor, before: int = 0) -> Tensor:
        """Dropout on attention weights (rows, heads, queries, before + longest).

        A run draws for rows as long as its own longest one, whatever the group is padded to.
        """
        rows, heads, queries, longest = x.shape
        batch = rows // len(self.packing.lengths)
        wide = [(batch, heads, min(n, queries), before + n) for n in self.packing.lengths]
        masks = [
            F.pad(keep, (0, longest - keep.shape[3], 0, queries - keep.shape[2]))
            for keep in self.dropout.keep(wide, self.rate, x.device)
        ]
        return dropped(x, join(masks), self.rate)
