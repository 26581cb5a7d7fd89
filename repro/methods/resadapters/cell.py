"""The pipelined adapter cell of ResAdapters, section 3.1 and Figure 3.

    h = BatchNorm(down(x))                    d -> b
    h = activation(h)   or   LN_b(MHA(h) + h)
    cell(x) = LN_d(up(dropout(h)))            b -> d

Sizes, the attention's inner residual and its norm come from the released notebook
(AttentionResNetXt.ipynb); Figure 3 says ReLU where the notebook's name says GELU.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from repro.methods.modules.layout import Layout, mean_over_real
from repro.methods.modules.learner import LayerNorm, Linear, mapped
from repro.methods.modules.randomness import dropped
from repro.methods.resadapters import PipelinedCells

MOMENTUM, NORM_EPS = 0.1, 1e-5
"""torch's defaults for batch norm, and for the attention's inner layer norm."""


class BatchNorm(nn.Module):
    """Batch norm with a run axis; a channel is a bottleneck feature, or a sequence position.

    The released code hands [batch, 384, b] to BatchNorm1d(384): its channel is the position, and
    its statistics run over batch and features, padding included. The repaired reading normalises
    features over real tokens.
    """

    mean: Tensor
    variance: Tensor

    def __init__(self, runs: int, stacks: int, channels: int, axis: str) -> None:
        super().__init__()
        self.axis = axis
        self.weight = nn.Parameter(torch.ones(runs, stacks, channels))
        self.bias = nn.Parameter(torch.zeros(runs, stacks, channels))
        self.register_buffer("mean", torch.zeros(runs, stacks, channels))
        self.register_buffer("variance", torch.ones(runs, stacks, channels))

    def forward(self, h: Tensor, layout: Layout) -> Tensor:
        """(copies, tokens, b) -> the same shape, in fp32."""
        h = h.float()
        weight, bias = self.weight.flatten(0, 1), self.bias.flatten(0, 1)  # (copies, channels)
        mean, variance = self._statistics(h, layout)
        scale = weight * (variance + NORM_EPS).rsqrt()
        shift = bias - mean * scale
        if self.axis == "feature":
            return torch.addcmul(shift[:, None], h, scale[:, None])
        x = layout.unpack(h)  # (copies, batch, positions, b)
        return layout.pack(torch.addcmul(shift[:, None, :, None], x, scale[:, None, :, None]))

    def _statistics(self, h: Tensor, layout: Layout) -> tuple[Tensor, Tensor]:
        """Mean and variance (copies, channels): the batch's in training, the running ones else."""
        if not self.training:
            return self.mean.flatten(0, 1), self.variance.flatten(0, 1)
        if self.axis == "feature":
            mean, variance, count = mean_over_real(h, layout)
            mean, variance = mean.squeeze(1), variance.squeeze(1)
        else:
            x = layout.unpack(h)  # (copies, batch, positions, b)
            variance, mean = torch.var_mean(x, dim=(1, 3), correction=0)
            count = x.shape[1] * x.shape[3]
        # the running statistics move towards the batch's, as in torch's batch norm
        unbiased = variance.detach() * (count / max(count - 1, 1))
        for running, new in ((self.mean, mean.detach()), (self.variance, unbiased)):
            running.lerp_(new.view_as(running).to(running.dtype), MOMENTUM)
        return mean, variance


class Attention(nn.Module):
    """Multi-head self-attention in the bottleneck with its residual and norm: LN(O + h)."""

    def __init__(self, runs: int, stacks: int, width: int, heads: int, *, masked: bool) -> None:
        super().__init__()
        self.heads, self.masked = heads, masked
        self.query = Linear(runs, stacks, width, width)
        self.key = Linear(runs, stacks, width, width)
        self.value = Linear(runs, stacks, width, width)
        self.output = Linear(runs, stacks, width, width)
        self.norm = LayerNorm(runs, stacks, width, NORM_EPS)

    def forward(self, h: Tensor, layout: Layout) -> Tensor:
        """(copies, tokens, b) -> the same shape."""
        x = layout.unpack(mapped(h, (self.query, self.key, self.value)))
        x = x.flatten(0, 1)  # (rows, length, 3 b)
        q, k, v = x.view(*x.shape[:2], 3, self.heads, -1).unbind(-3)
        q, k, v = (part.transpose(1, 2) for part in (q, k, v))  # (rows, heads, length, b / heads)
        mask = None
        if self.masked and not layout.full:
            mask = layout.real[:, None, None, :].repeat(h.shape[0], 1, 1, 1)
        mixed = F.scaled_dot_product_attention(q, k, v, mask)
        mixed = mixed.transpose(1, 2).reshape(h.shape[0], *layout.real.shape, h.shape[-1])
        out: Tensor = self.norm(self.output(layout.pack(mixed)) + h)
        return out


class Cell(nn.Module):
    """One cell for `runs` runs and `stacks` stacks; width `hidden`, bottleneck `spec.bottleneck`.

    `length` is that of a padded window: the channels of a batch norm over positions.
    """

    def __init__(
        self, spec: PipelinedCells, runs: int, stacks: int, hidden: int, length: int
    ) -> None:
        super().__init__()
        self.spec, b = spec, spec.bottleneck
        channels = b if spec.norm_axis == "feature" else length
        self.down = Linear(runs, stacks, hidden, b)
        self.batch_norm = BatchNorm(runs, stacks, channels, spec.norm_axis)
        if spec.nonlinearity == "attention":
            self.attention = Attention(runs, stacks, b, spec.heads, masked=spec.attention_mask)
        self.up = Linear(runs, stacks, b, hidden)
        self.norm = LayerNorm(runs, stacks, hidden, spec.layer_norm_eps)

    def forward(self, x: Tensor, layout: Layout, keep: Tensor | None = None) -> Tensor:
        """(1 or copies, tokens, hidden) -> (copies, tokens, hidden).

        `keep` (copies, tokens, bottleneck) says what dropout leaves; without it everything stays.
        """
        h = self.batch_norm(self.down(x), layout)  # (copies, tokens, bottleneck)
        if self.spec.nonlinearity == "attention":
            h = self.attention(h, layout)
        else:
            h = F.relu(h) if self.spec.nonlinearity == "relu" else F.gelu(h)
        if keep is not None:
            h = dropped(h, keep, self.spec.dropout)
        out: Tensor = self.norm(self.up(h))
        return out
