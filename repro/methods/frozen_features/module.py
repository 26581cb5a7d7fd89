"""Feature extraction (Peters, Ruder and Smith 2019; the mix of Peters et al. 2018, section 3.2).

    x_t = scale * sum over layers l of softmax(mix)_l * T_l,t
    h_t = [LSTM forwards ; LSTM backwards](x)_t
    output = W max over t of h_t + b        of a class or a number
    output_t = W h_t + b                    of a tag

Trained: mix, scale, the LSTM and the output layer. Frozen: the whole encoder.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from repro.methods.frozen_features import FrozenFeatures
from repro.methods.modules.learner import Inputs, Learner
from repro.methods.modules.randomness import Dropout


class Features(Learner):
    """One run: its LSTM has no run axis."""

    stacked = False

    def __init__(
        self, spec: FrozenFeatures, layers: int, hidden: int, outputs: int, *, tags: bool
    ) -> None:
        super().__init__()
        self.spec, self.tags, self.runs, self.stacks = spec, tags, 1, 1
        self.mix = nn.Parameter(torch.empty(layers))
        self.scale = nn.Parameter(torch.empty(1))
        self.lstm = nn.LSTM(hidden, spec.units, batch_first=True, bidirectional=True)
        self.output = nn.Linear(2 * spec.units, outputs)

    def forward(self, inputs: Inputs, dropout: Dropout) -> Tensor:
        """(1, batch, outputs), or of tags (1, batch, length, outputs); in fp32 throughout."""
        with torch.autocast(inputs.input_ids.device.type, enabled=False):
            weights = self.scale * self.mix.softmax(0)
            mixed = sum(w * s.float() for w, s in zip(weights, inputs.states, strict=True))
            assert isinstance(mixed, Tensor)
            mixed = dropout(mixed.unsqueeze(0), self.spec.dropout)  # (1, tokens, hidden)
            rows = inputs.layout.unpack(mixed)[0]  # (batch, length, hidden)
            packed = pack_padded_sequence(
                rows, torch.tensor(inputs.layout.lengths), batch_first=True, enforce_sorted=False
            )
            fill = 0.0 if self.tags else float("-inf")
            read, _ = pad_packed_sequence(
                self.lstm(packed)[0], True, fill, total_length=rows.shape[1]
            )
            if not self.tags:
                read = read.amax(1)
            scores: Tensor = self.output(dropout(read.unsqueeze(0), self.spec.dropout))
        return scores

    def initialise(self, streams: list[torch.Generator]) -> None:
        """The mean of the layers; torch's own laws, uniform on +-1/sqrt(width), for the rest."""
        with torch.no_grad():
            self.mix.zero_()
            self.scale.fill_(1.0)
            wide = {self.lstm: self.spec.units, self.output: 2 * self.spec.units}
            for module, width in wide.items():
                bound = width**-0.5
                for parameter in module.parameters():
                    drawn = torch.empty(parameter.shape)
                    parameter.copy_(drawn.uniform_(-bound, bound, generator=streams[0]))
