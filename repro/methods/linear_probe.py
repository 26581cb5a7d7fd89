"""A linear probe on one frozen layer (McGuire and Bhardwaj, section 2.2 of ResAdapters).

    start = T_l w_s + b_s,   end = T_l w_e + b_e

Trained: the two scorers. Frozen: the whole encoder.
"""

from __future__ import annotations

import torch
from torch import Tensor

from repro.methods.learner import Inputs, Learner, linear, span_logits, stacked, uniform_linear
from repro.methods.randomness import Dropout
from repro.spec.types import LinearProbe


class Probe(Learner):
    """`runs` probes of layer `spec.layer`."""

    def __init__(self, spec: LinearProbe, runs: int, hidden: int) -> None:
        super().__init__()
        self.spec, self.runs, self.stacks = spec, runs, 2
        self.scorer_weight = stacked(runs, 2, hidden, 1)
        self.scorer_bias = stacked(runs, 2, 1)

    def forward(self, inputs: Inputs, dropout: Dropout) -> Tensor:
        """(runs, 2, batch, length)."""
        state = inputs.states[self.spec.layer - 1].unsqueeze(0)  # (1, tokens, hidden)
        scores = linear(state, self.scorer_weight, self.scorer_bias)  # (runs * 2, tokens, 1)
        return span_logits(scores, self.runs, inputs.layout)

    def initialise(self, streams: list[torch.Generator]) -> None:
        """torch's default for a Linear."""
        uniform_linear(self.scorer_weight, self.scorer_bias, streams)
