"""A learner without parameters: answers no question. Nothing is trained."""

from __future__ import annotations

import torch
from torch import Tensor

from repro.methods.modules.learner import Inputs, Learner
from repro.methods.modules.randomness import Dropout


class Null(Learner):
    """Scores [CLS], the null answer, 0 and every other token -1, for start and for end."""

    reads_states = False

    def __init__(self, runs: int) -> None:
        super().__init__()
        self.runs, self.stacks = runs, 1

    def forward(self, inputs: Inputs, dropout: Dropout) -> Tensor:
        """(runs, 2, batch, length)."""
        batch, length = inputs.input_ids.shape
        logits = torch.full((self.runs, 2, batch, length), -1.0, device=inputs.input_ids.device)
        logits[..., 0] = 0.0
        return logits
