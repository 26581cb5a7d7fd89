"""ResAdapters: a stack of cells for start scores and one for end scores, beside a frozen encoder.

The pipelined adapter cell (section 3.1 and Figure 3):

    h = BatchNorm(down(x))                    d -> b
    h = activation(h)   or   LN_b(MHA(h) + h)
    cell(x) = LN_d(up(dropout(h)))            b -> d

Sizes, the attention's inner residual and its norm come from the released notebook
(AttentionResNetXt.ipynb); Figure 3 says ReLU where the notebook's name says GELU. Nothing is shared
between the two stacks (released notebook), and each ends in Linear(d -> 1). Trained: every cell and
both scorers. Frozen: the whole encoder, in eval mode.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import cast

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional as F

from repro.methods.modules.layout import Layout, mean_over_real
from repro.methods.modules.learner import Inputs, LayerNorm, Learner, Linear, mapped, span_logits
from repro.methods.modules.randomness import Dropout, dropped, join
from repro.methods.resadapters import PipelinedCells
from repro.methods.resadapters.wirings import WIRINGS, sector

MOMENTUM, NORM_EPS = 0.1, 1e-5
"""torch's defaults for batch norm, and for the attention's inner layer norm."""
START_AND_END = 2


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


class Pipelined(Learner):
    """`runs` runs of one row of ResAdapters-1, on an encoder of `layers` layers."""

    batch_statistics = True

    def __init__(
        self, spec: PipelinedCells, runs: int, layers: int, hidden: int, length: int
    ) -> None:
        super().__init__()
        self.spec, self.runs, self.stacks = spec, runs, START_AND_END
        self.keeps_padding = spec.norm_axis == "position" or not spec.attention_mask
        self.cells = nn.ModuleList(
            Cell(spec, runs, self.stacks, hidden, length) for _ in range(layers)
        )
        self.scorer = Linear(runs, self.stacks, hidden, 1)
        self.stages = layers // spec.stage
        with torch.device("meta"):
            joint = Cell(spec, runs, self.stacks * self.stages, hidden, length)
        self._joint = [joint]  # in a list it is no module of this one

    def forward(self, inputs: Inputs, dropout: Dropout) -> Tensor:
        """(runs, 2, batch, length): start and end scores."""
        layout, states = inputs.layout, inputs.states
        keep = self._keep(dropout, states[0])
        if self.spec.wiring == "resnext":
            out = self._side_by_side(states, layout, keep)
        else:
            cells = [
                partial(cell, layout=layout, keep=join(own) if own else None)
                for cell, own in zip(self.cells, keep, strict=True)
            ]
            wire = WIRINGS[self.spec.wiring]
            out = wire(cells, [state.unsqueeze(0) for state in states], self.spec.stage)
        return span_logits(self.scorer(out), self.runs, layout)

    def _keep(self, dropout: Dropout, state: Tensor) -> list[list[Tensor]]:
        """By cell, what dropout leaves of each run, (2, tokens, bottleneck); empty lists where it
        leaves all.
        """
        if not dropout.active or self.spec.dropout == 0.0:
            return [[] for _ in self.cells]
        shape = (self.stacks, len(state), self.spec.bottleneck)
        wanted = [[shape] * self.runs for _ in self.cells]
        return dropout.keep(wanted, self.spec.dropout, state.device)

    def _side_by_side(
        self, states: Sequence[Tensor], layout: Layout, keep: Sequence[list[Tensor]]
    ) -> Tensor:
        """Figure 2 with the stages as one: no cell reads what another stage gave, so the cells at
        one place of every stage are one cell, whose stacks are those of all stages. That takes a
        fourth of the kernels for BERT's twelve layers, and adds in another order.
        """
        size = self.spec.stage
        cells = [
            partial(self._cells_at, place=place, layout=layout, keep=keep[place::size])
            for place in range(size)
        ]
        of_stages = [torch.stack(list(states[place::size])) for place in range(size)]
        out = sector(cells, of_stages, 0, size, None)  # (copies, stages, tokens, hidden)
        return out.sum(1) + states[0]

    def _cells_at(
        self, x: Tensor, place: int, layout: Layout, keep: Sequence[list[Tensor]]
    ) -> Tensor:
        """(stages, tokens, hidden) or (copies, stages, ...) -> (copies, stages, tokens, hidden)."""
        cells = cast(list[Cell], list(self.cells[place :: self.spec.stage]))
        own = [dict(cell.named_parameters()) | dict(cell.named_buffers()) for cell in cells]
        tensors = {
            name: torch.stack([tensors[name] for tensors in own], 2).flatten(1, 2)
            for name in own[0]
        }
        x = x.expand(self.runs * self.stacks, *x.shape[-3:]).flatten(0, 1)
        runs = [torch.stack(masks, 1).flatten(0, 1) for masks in zip(*keep, strict=True)]
        [joint] = self._joint
        joint.train(self.training)
        out: Tensor = functional_call(joint, tensors, (x, layout, join(runs) if runs else None))
        if self.training:
            self._keep_statistics(cells, tensors)
        return out.view(-1, self.stages, *out.shape[1:])

    def _keep_statistics(self, cells: Sequence[Cell], tensors: dict[str, Tensor]) -> None:
        """Gives every cell its part of the running statistics that the joint cell moved."""
        kept = [buffer for cell in cells for buffer in cell.buffers()]
        shape = self.runs, self.stacks, self.stages, -1
        moved = [tensors[name].view(shape) for name, _ in cells[0].named_buffers()]
        torch._foreach_copy_(kept, [part[:, :, n] for n in range(len(cells)) for part in moved])
