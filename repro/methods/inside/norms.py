"""Layer norms that train: each run has a copy of the encoder's own."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from repro.methods.inside.passing import Pass
from repro.methods.modules.learner import LayerNorm


class TrainedNorm(LayerNorm):
    """Stands in place of `norm` in the encoder."""

    def __init__(self, norm: nn.LayerNorm, runs: int, now: Pass) -> None:
        super().__init__(runs, 1, norm.normalized_shape[0], norm.eps)
        self.now = now
        with torch.no_grad():
            self.weight.copy_(norm.weight)
            self.bias.copy_(norm.bias)

    def forward(self, x: Tensor) -> Tensor:
        """(1, items, hidden) -> the same shape."""
        if self.weight.shape[0] == 1:
            return F.layer_norm(x, x.shape[-1:], self.weight.view(-1), self.bias.view(-1), self.eps)
        shares = self.now.shares
        return shares.unstack(super().forward(shares.stack(x)))


def unfreeze_norms(model: nn.Module, below: str, runs: int, now: Pass) -> list[TrainedNorm]:
    """Puts norms of the runs' own in place of those below the path `below`, in module order."""
    made = []
    for name, norm in list(model.named_modules()):
        if isinstance(norm, nn.LayerNorm) and name.startswith(below):
            parent, _, child = name.rpartition(".")
            made.append(TrainedNorm(norm, runs, now))
            setattr(model.get_submodule(parent), child, made[-1])
    return made
