"""A linear probe on one frozen layer (McGuire and Bhardwaj, section 2.2 of ResAdapters).

    start = T_l w_s + b_s,   end = T_l w_e + b_e

Trained: the two scorers. Frozen: the whole encoder.
"""

from __future__ import annotations

from torch import Tensor

from repro.methods.linear_probe import LinearProbe
from repro.methods.modules.learner import Inputs, Learner, Linear, span_logits
from repro.methods.modules.randomness import Dropout


class Probe(Learner):
    """`runs` probes of layer `spec.layer`."""

    def __init__(self, spec: LinearProbe, runs: int, hidden: int) -> None:
        super().__init__()
        self.spec, self.runs, self.stacks = spec, runs, 2
        self.scorer = Linear(runs, 2, hidden, 1)

    def forward(self, inputs: Inputs, dropout: Dropout) -> Tensor:
        """(runs, 2, batch, length)."""
        state = inputs.states[self.spec.layer - 1].unsqueeze(0)  # (1, tokens, hidden)
        return span_logits(self.scorer(state), self.runs, inputs.layout)
