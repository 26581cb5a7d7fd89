"""ResAdapters: a stack of cells for start scores and one for end scores, beside a frozen encoder.

Nothing is shared between the two stacks (released notebook). Each ends in Linear(d -> 1).
Trained: every cell and both scorers. Frozen: the whole encoder, in eval mode.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import cast

import torch
from torch import Tensor, nn
from torch.func import functional_call

from repro.methods.modules.layout import Layout
from repro.methods.modules.learner import Inputs, Learner, Linear, span_logits
from repro.methods.modules.randomness import Dropout, join
from repro.methods.resadapters import PipelinedCells
from repro.methods.resadapters.cell import Cell
from repro.methods.resadapters.wirings import WIRINGS, sector

START_AND_END = 2


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
