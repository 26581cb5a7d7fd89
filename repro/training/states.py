"""The frozen encoder's outputs, computed for each batch or kept over the epochs.

A small set's states fit in memory: on a CPU they are computed once, in batches of windows of like
length, and every epoch reads them back. Either way they are those of the unchanged encoder in eval
mode; kept ones differ in the last digits, because they met other padding.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from repro.backbones.load import Encoder
from repro.methods.modules.layout import Layout
from repro.tasks.data import Example
from repro.training.batches import Batch, collate, length_sorted
from repro.training.environment import matrix_products

MOST_BYTES = 8_000_000_000
SHARE_OF_MEMORY = 1 / 3
ENCODED_AT_ONCE = 4096
"""Padded tokens of a batch whose states are kept."""

Tell = Callable[[int, int], None]


class FrozenStates:
    """Where a group gets its encoder's states from. `tell(done, all)` hears of long work."""

    def __init__(self, encoder: Encoder, device: torch.device, precision: str = "fp32") -> None:
        self.encoder, self.device, self.precision = encoder, device, precision
        self._kept: dict[int, Tensor] = {}

    def keep(self, windows: Sequence[Example], pad_id: int, tell: Tell) -> None:
        """Encodes all `windows` now; `packed` then reads their states back."""
        batches = length_sorted(windows, ENCODED_AT_ONCE)
        for number, indices in enumerate(batches, 1):
            part = [windows[i] for i in indices]
            states = torch.stack(self._encode(collate(part, pad_id)))  # (layers, batch, length, d)
            for row, window in enumerate(part):
                self._kept[id(window)] = states[:, row, : len(window.input_ids)].clone()
            tell(number, len(batches))

    def packed(self, windows: Sequence[Example], batch: Batch, layout: Layout) -> list[Tensor]:
        """The states of every layer, packed as `layout` says: (tokens, hidden) each."""
        if all(id(window) in self._kept for window in windows):
            return list(torch.cat([self._kept[id(window)] for window in windows], dim=1))
        return list(layout.pack(torch.stack(self._encode(batch))))

    def _encode(self, batch: Batch) -> list[Tensor]:
        ids, mask, types = (
            tensor.to(self.device, non_blocking=True)
            for tensor in (batch.input_ids, batch.attention_mask, batch.type_ids)
        )
        with matrix_products(self.precision, self.device):
            return self.encoder.states(ids, None if batch.full else mask, types)


def worth_keeping(
    windows: Sequence[Example], layers: int, hidden: int, device: torch.device
) -> bool:
    """Whether the states of `windows` fit in this machine's memory, in fp32.

    On a GPU they are computed anew: encoding is faster there than reading back.
    """
    if device.type != "cpu":
        return False
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    needed = 4 * layers * hidden * sum(len(window.input_ids) for window in windows)
    return needed <= min(MOST_BYTES, SHARE_OF_MEMORY * memory)
