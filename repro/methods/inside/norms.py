"""Layer norms that train: each run has a copy of the encoder's own."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from repro.methods.inside.packing import Shares
from repro.methods.learner import LayerNorm


class TrainedNorm(LayerNorm):
    """Stands in place of `norm` in the encoder; `shares` says how the items are shared now."""

    def __init__(self, norm: nn.LayerNorm, runs: int, shares: Callable[[], Shares]) -> None:
        super().__init__(runs, 1, norm.normalized_shape[0], norm.eps)
        self.shares = shares
        with torch.no_grad():
            self.weight.copy_(norm.weight)
            self.bias.copy_(norm.bias)

    def forward(self, x: Tensor) -> Tensor:
        """(1, items, hidden) -> the same shape."""
        if self.weight.shape[0] == 1:
            return F.layer_norm(x, x.shape[-1:], self.weight[0, 0], self.bias[0, 0], self.eps)
        shares = self.shares()
        return shares.unstack(super().forward(shares.stack(x)))
