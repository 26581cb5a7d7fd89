"""Feature extraction (Peters, Ruder and Smith 2019; the mix of Peters et al. 2018, section 3.2).

    x_t = scale * sum over layers l of softmax(mix)_l * T_l,t
    h_t = [LSTM forwards ; LSTM backwards](x)_t
    output = W max over t of h_t + b        of a class or a number
    output_t = W h_t + b                    of a tag

Trained: mix, scale, the LSTM and the output layer. Frozen: the whole encoder.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from repro.errors import ReproError
from repro.spec.fields import identity
from repro.spec.method import Method, method

if TYPE_CHECKING:
    from repro.backbones.load import Encoder
    from repro.methods.modules.learner import Learner
    from repro.spec.types import RunSpec


@method("frozen-features")
class FrozenFeatures(Method):
    """Feature extraction (Peters, Ruder and Smith 2019): a learned mix of the frozen encoder's
    layers, a bidirectional LSTM over it, and an output layer.

    A class or a number is read from the maximum over the tokens, a tag from each token.
    """

    units: int = identity(doc="hidden units of the LSTM in each direction", ge=1)
    dropout: float = identity(0.5, doc="on the mixed states and before the output", ge=0, lt=1)

    reads_states: ClassVar[bool] = True
    trains_alone: ClassVar[bool] = True

    def check(self, run: RunSpec) -> None:
        """No spans."""
        if run.task.noun == "questions":
            raise ReproError(
                "Frozen features give a class, a number or tags; questions are answered with "
                "spans. Choose another method, such as 'linear-probe'."
            )

    def trained_parameters(self, run: RunSpec) -> int:
        """A weight a layer and a scale, an LSTM in two directions, an output layer."""
        d, u = run.backbone.hidden_size, self.units
        return run.backbone.layers + 1 + 2 * 4 * u * (d + u + 2) + run.outputs * (2 * u + 1)

    def total_parameters(self, run: RunSpec) -> int:
        """The pooler is not read."""
        encoder = run.backbone.parameters - run.backbone.pooler_parameters
        return encoder + self.trained_parameters(run)

    def cost(self, run: RunSpec, length: float) -> tuple[float, float]:
        """The LSTM's matrices; the states of all layers are read."""
        d, u = run.backbone.hidden_size, self.units
        return 2.0 * 2 * 4 * u * (d + u), 4.0 * (run.backbone.layers * d + 20 * u)

    def learner(self, run: RunSpec, runs: int, encoder: Encoder) -> Learner:
        """The mix, the LSTM and the output layer of one run."""
        import torch
        from torch import Tensor, nn
        from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

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
                """(1, batch, outputs), or of tags (1, batch, length, outputs); in fp32."""
                with torch.autocast(inputs.input_ids.device.type, enabled=False):
                    weights = self.scale * self.mix.softmax(0)
                    mixed = sum(w * s.float() for w, s in zip(weights, inputs.states, strict=True))
                    assert isinstance(mixed, Tensor)
                    mixed = dropout(mixed.unsqueeze(0), self.spec.dropout)  # (1, tokens, hidden)
                    rows = inputs.layout.unpack(mixed)[0]  # (batch, length, hidden)
                    packed = pack_padded_sequence(
                        rows,
                        torch.tensor(inputs.layout.lengths),
                        batch_first=True,
                        enforce_sorted=False,
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
                """The mean of the layers; torch's own laws, uniform on +-1/sqrt(width), else."""
                with torch.no_grad():
                    self.mix.zero_()
                    self.scale.fill_(1.0)
                    wide = {self.lstm: self.spec.units, self.output: 2 * self.spec.units}
                    for module, width in wide.items():
                        bound = width**-0.5
                        for parameter in module.parameters():
                            drawn = torch.empty(parameter.shape)
                            parameter.copy_(drawn.uniform_(-bound, bound, generator=streams[0]))

        d, tags = run.backbone.hidden_size, run.task.tags
        return Features(self, run.backbone.layers, d, run.outputs, tags=tags)
