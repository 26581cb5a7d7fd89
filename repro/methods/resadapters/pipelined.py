"""ResAdapters: a stack of cells for start scores and one for end scores, beside a frozen encoder.

Nothing is shared between the two stacks (released notebook). Each ends in Linear(d -> 1).
Trained: every cell and both scorers. Frozen: the whole encoder, in eval mode.
"""

from __future__ import annotations

from functools import partial

from torch import Tensor, nn

from repro.methods.modules.learner import Inputs, Learner, Linear, span_logits
from repro.methods.modules.randomness import Dropout
from repro.methods.resadapters import PipelinedCells
from repro.methods.resadapters.cell import Cell
from repro.methods.resadapters.wirings import WIRINGS

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

    def forward(self, inputs: Inputs, dropout: Dropout) -> Tensor:
        """(runs, 2, batch, length): start and end scores."""
        layout = inputs.layout
        states = [state.unsqueeze(0) for state in inputs.states]  # (1, tokens, hidden)
        cells = [partial(cell, layout=layout, dropout=dropout) for cell in self.cells]
        out = WIRINGS[self.spec.wiring](cells, states, self.spec.stage)
        return span_logits(self.scorer(out), self.runs, layout)
