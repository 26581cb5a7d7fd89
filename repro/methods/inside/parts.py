"""Parts of the model of which each run has its own: layer norms, BERT's pooler, and the head.

Layer norms that train stand in place of the encoder's. The head is an output layer, with a dense
layer below it where asked for.

A classifier reads tanh(W h + b) of the first token (Devlin et al. 2019, section 3.2; the pooler)
or, as RoBERTa's, the first token itself; a span scorer reads every token's state. Output layers
start at N(0, 0.02), bias 0, and compute in fp32 whatever the rest does: rounded outputs would tie.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from repro.errors import ReproError
from repro.methods.inside.passing import Pass
from repro.methods.modules.learner import LayerNorm, Linear, draw

STD = 0.02
"""BERT's `initializer_range`; a normal law, as the transformers library draws it, not truncated."""

Drop = Callable[[Tensor], Tensor]


def trained_pooler(pooler: nn.Linear | None, runs: int, hidden: int) -> Linear:
    """A pooler of each run's own, from the checkpoint's where there is one."""
    own = Linear(runs, 1, hidden, hidden)
    if pooler is not None:
        with torch.no_grad():
            own.weight.copy_(pooler.weight.t())
            own.bias.copy_(pooler.bias)
    return own


def frozen_pooler(pooler: nn.Linear | None, name: str) -> Callable[[Tensor], Tensor]:
    """The checkpoint's pooler as a function; raises ReproError where it has none."""
    if pooler is None:
        raise ReproError(
            f"The weights of {name} hold no pooler, so none can be kept frozen. Train it "
            "(method.pooler = 'trained'), or choose an encoder that has one (--backbone)."
        )
    frozen = pooler
    return lambda x: F.linear(x, frozen.weight, frozen.bias)


class Head(nn.Module):
    """[dense, tanh,] output layer, with dropout before each."""

    def __init__(self, runs: int, hidden: int, outputs: int, dense: bool) -> None:
        super().__init__()
        self.dense = Linear(runs, 1, hidden, hidden) if dense else None
        self.scorer = Linear(runs, 1, hidden, outputs)

    def forward(self, x: Tensor, drop: Drop) -> Tensor:
        """(runs, items, hidden) -> (runs, items, outputs)."""
        if self.dense is not None:
            x = torch.tanh(self.dense(drop(x)))
        with torch.autocast(x.device.type, enabled=False):
            scores: Tensor = self.scorer(drop(x.float()))
        return scores

    def initialise(self, streams: list[torch.Generator]) -> None:
        """The dense layer first, then the output layer."""
        for linear in (self.dense, self.scorer):
            if linear is not None:
                draw(linear, streams, STD)


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
