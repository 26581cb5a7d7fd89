"""The reference row of every SQuAD2 table: answers no question."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from repro.spec.method import Method, method
from repro.spec.tasks import check_spans

if TYPE_CHECKING:
    from repro.backbones.load import Encoder
    from repro.methods.modules.learner import Learner
    from repro.spec.types import RunSpec


@method("always-null")
class AlwaysNull(Method):
    """The reference: answers no question."""

    trains: ClassVar[bool] = False

    def check(self, run: RunSpec) -> None:
        """Questions."""
        check_spans(run.task, self.kind)

    def trained_parameters(self, run: RunSpec) -> int:
        """None."""
        return 0

    def total_parameters(self, run: RunSpec) -> int:
        """There is no model."""
        return 0

    def learner(self, run: RunSpec, runs: int, encoder: Encoder) -> Learner:
        """Nothing that could train."""
        from repro.methods.modules.null import Null

        return Null(runs)
