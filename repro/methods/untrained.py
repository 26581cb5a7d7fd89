"""Methods that train nothing: a reference row, and a trained run scored with some adapters off."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

from repro.spec.method import Method, method
from repro.spec.tasks import check_spans

if TYPE_CHECKING:
    from repro.backbones.load import Encoder
    from repro.methods.modules.learner import Learner
    from repro.spec.types import RunSpec


class Untrained(Method):
    """Base of the methods that train nothing."""

    trains: ClassVar[bool] = False

    def trained_parameters(self, run: RunSpec) -> int:
        """None."""
        return 0


class Evaluation(Untrained):
    """Base of the methods that score the run that is the parent in the role "trained"."""

    evaluates: ClassVar[bool] = True
    splits_batches: ClassVar[bool] = False


@method("ablated-spans")
class AblatedSpans(Evaluation):
    """The heat map of Houlsby et al. 2019 (section 3.6, Figure 6): the adapters of layers i..j of a
    trained run are switched off, for all i <= j.
    """

    def evaluations(self, run: RunSpec) -> float:
        """Every span from its first layer on, once more for intact states, which are reused."""
        layers = run.backbone.layers
        return 1 + math.fsum((last + 1) * (layers - last) for last in range(layers)) / layers


@method("always-null")
class AlwaysNull(Untrained):
    """The reference row of every SQuAD2 table: answers no question."""

    def check(self, run: RunSpec) -> None:
        """Questions."""
        check_spans(run.task, self.kind)

    def total_parameters(self, run: RunSpec) -> int:
        """There is no model."""
        return 0

    def learner(self, run: RunSpec, runs: int, encoder: Encoder) -> Learner:
        """Nothing that could train."""
        import torch
        from torch import Tensor

        from repro.methods.modules.learner import Inputs, Learner
        from repro.methods.modules.randomness import Dropout

        class Null(Learner):
            """Scores [CLS], the null answer, 0 and every other token -1, for start and for end."""

            reads_states = False
            stacks = 1

            def forward(self, inputs: Inputs, dropout: Dropout) -> Tensor:
                """(runs, 2, batch, length)."""
                shape = (runs, 2, *inputs.input_ids.shape)
                logits = torch.full(shape, -1.0, device=inputs.input_ids.device)
                logits[..., 0] = 0.0
                return logits

        made = Null()
        made.runs = runs
        return made
