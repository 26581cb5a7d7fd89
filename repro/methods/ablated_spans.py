"""The heat map of Houlsby et al. 2019, section 3.6: adapters of a trained run switched off."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

from repro.spec.method import Method, method

if TYPE_CHECKING:
    from repro.spec.types import RunSpec


@method("ablated-spans")
class AblatedSpans(Method):
    """No training: the adapters of layers i..j of a trained run are switched off, for all i <= j.

    The run is the parent in the role "trained" (Houlsby et al., section 3.6, Figure 6).
    """

    trains: ClassVar[bool] = False
    evaluates: ClassVar[bool] = True
    splits_batches: ClassVar[bool] = False

    def evaluations(self, run: RunSpec) -> float:
        """Every span from its first layer on, once more for intact states, which are reused."""
        layers = run.backbone.layers
        return 1 + math.fsum((last + 1) * (layers - last) for last in range(layers)) / layers

    def trained_parameters(self, run: RunSpec) -> int:
        """None of its own."""
        return 0
