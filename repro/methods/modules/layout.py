"""Where the tokens of a batch stand once its padding is dropped.

Cells work on packed tokens `(copies, tokens, width)`: a linear map, a layer norm or a batch norm
over features never sees padding, so padded and dynamically padded batches give equal numbers.
Attention and the loss unpack to `(copies, batch, length, width)`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor


@dataclass(frozen=True, slots=True)
class Layout:
    """`real` marks the tokens that are no padding; `kept` holds the packed ones' flat positions.

    With `kept=None` every position is kept, padding included, as the released code does.
    """

    real: Tensor  # (batch, length), bool
    kept: Tensor | None  # (tokens,), int64
    full: bool  # no token of the batch is padding
    lengths: tuple[int, ...]  # real tokens of each row, known without asking a GPU

    @classmethod
    def of(cls, real: Tensor, *, keep_padding: bool) -> Layout:
        """The layout of a batch with attention mask `real` (batch, length), made on the CPU."""
        real = real.bool()
        host = real.numpy()
        full = bool(host.all())
        kept = None if keep_padding or full else torch.from_numpy(np.flatnonzero(host))
        return cls(real, kept, full, tuple(host.sum(1).tolist()))

    def to(self, device: torch.device) -> Layout:
        """The same layout on `device`."""
        kept = None if self.kept is None else self.kept.to(device, non_blocking=True)
        return replace(self, real=self.real.to(device, non_blocking=True), kept=kept)

    def pack(self, x: Tensor) -> Tensor:
        """(..., batch, length, width) -> (..., tokens, width)."""
        flat = x.flatten(-3, -2)
        return flat if self.kept is None else flat.index_select(-2, self.kept)

    def unpack(self, x: Tensor, fill: float = 0.0) -> Tensor:
        """(copies, tokens, width) -> (copies, batch, length, width); padding holds `fill`."""
        batch, length = self.real.shape
        if self.kept is not None:
            whole = x.new_full((x.shape[0], batch * length, x.shape[-1]), fill)
            x = whole.index_copy(1, self.kept, x)
        return x.view(x.shape[0], batch, length, x.shape[-1])

    def packed_real(self) -> Tensor:
        """Which packed tokens are real: (tokens,), bool."""
        flat = self.real.flatten()
        return flat if self.kept is None else flat.index_select(0, self.kept)


def mean_over_real(x: Tensor, layout: Layout) -> tuple[Tensor, Tensor, int]:
    """Mean and biased variance of `x` (copies, tokens, width) over real tokens, and their number.

    Returns two tensors (copies, 1, width).
    """
    if layout.kept is not None or layout.full:
        variance, mean = torch.var_mean(x, dim=1, keepdim=True, correction=0)
        return mean, variance, x.shape[1]
    weight = layout.packed_real().to(x.dtype)[None, :, None]
    count = weight.sum()
    mean = (x * weight).sum(1, keepdim=True) / count
    variance = ((x - mean).square() * weight).sum(1, keepdim=True) / count
    return mean, variance, int(count)
