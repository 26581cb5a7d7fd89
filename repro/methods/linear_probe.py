"""A linear probe on one frozen layer (McGuire and Bhardwaj, section 2.2 of ResAdapters).

    start = T_l w_s + b_s,   end = T_l w_e + b_e

Trained: the two scorers. Frozen: the whole encoder.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from repro.errors import ReproError
from repro.spec.fields import identity
from repro.spec.method import Method, method
from repro.spec.tasks import check_spans

if TYPE_CHECKING:
    from repro.backbones.load import Encoder
    from repro.methods.modules.learner import Learner
    from repro.spec.types import RunSpec


@method("linear-probe")
class LinearProbe(Method):
    """Two linear scorers, start and end, on one frozen layer (McGuire and Bhardwaj)."""

    layer: int = identity(doc="the layer read, 1 is the first", ge=1, examples=[1])

    reads_states: ClassVar[bool] = True

    def label(self) -> str:
        """linear probe of layer 3."""
        return f"linear probe of layer {self.layer}"

    def check(self, run: RunSpec) -> None:
        """Spans, and a layer that there is."""
        check_spans(run.task, self.kind)
        if self.layer > run.backbone.layers:
            raise ReproError(
                f"The probe reads layer {self.layer}, and {run.backbone.name} has "
                f"{run.backbone.layers} layers."
            )

    def trained_parameters(self, run: RunSpec) -> int:
        """Two scorers."""
        return 2 * (run.backbone.hidden_size + 1)

    def learner(self, run: RunSpec, runs: int, encoder: Encoder) -> Learner:
        """The scorers."""
        from torch import Tensor

        from repro.methods.modules.learner import Inputs, Learner, Linear, span_logits
        from repro.methods.modules.randomness import Dropout

        class Probe(Learner):
            """`runs` probes of one layer."""

            stacks = 2

            def __init__(self, layer: int, runs: int, hidden: int) -> None:
                super().__init__()
                self.layer, self.runs = layer, runs
                self.scorer = Linear(runs, self.stacks, hidden, 1)

            def forward(self, inputs: Inputs, dropout: Dropout) -> Tensor:
                """(runs, 2, batch, length)."""
                state = inputs.states[self.layer - 1].unsqueeze(0)  # (1, tokens, hidden)
                return span_logits(self.scorer(state), self.runs, inputs.layout)

        return Probe(self.layer, runs, run.backbone.hidden_size)
