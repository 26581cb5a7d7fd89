"""Feature extraction with a frozen encoder (Peters, Ruder and Smith 2019)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from repro.errors import ReproError
from repro.spec.fields import identity
from repro.spec.method import Method, method

if TYPE_CHECKING:
    from repro.backbones.load import Encoder
    from repro.methods.frozen_features.module import Features
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

    def learner(self, run: RunSpec, runs: int, encoder: Encoder) -> Features:
        """The mix, the LSTM and the output layer of one run."""
        from repro.methods.frozen_features.module import Features

        d, tags = run.backbone.hidden_size, run.task.tags
        return Features(self, run.backbone.layers, d, run.outputs, tags=tags)
