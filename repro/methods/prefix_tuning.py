"""Prefix tuning (Li and Liang 2021): learned keys and values before the tokens, in every layer.

    softmax(q [P_k ; k]' / sqrt(head)) [P_v ; v]      P = MLP(P'), section 4.3

P' (positions, d), an MLP d -> m -> 2 d layers with tanh, as the released code has it; without the
MLP, P itself is trained. The paper writes with GPT-2 and BART; here an encoder reads the prefix.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from repro.methods.inside import PooledEncoder
from repro.spec.fields import identity
from repro.spec.method import method

if TYPE_CHECKING:
    from repro.methods.inside.learner import Added, Place
    from repro.spec.types import Backbone


@method("prefix-tuning")
class PrefixTuning(PooledEncoder):
    """A prefix of keys and values in every layer of a frozen encoder, and a classifier."""

    positions: int = identity(10, doc="length of the prefix", ge=1)
    middle: int | None = identity(
        512, doc="hidden width m of the MLP; None: the prefix itself is trained", ge=1
    )
    init_std: float = identity(0.02, doc="standard deviation of the initial P', or P", gt=0)

    def label(self) -> str:
        """prefix tuning p10."""
        return f"prefix tuning p{self.positions}"

    def added_parameters(self, backbone: Backbone) -> int:
        """P' and the MLP, or P: 2 L p d."""
        d, wide = backbone.hidden_size, 2 * backbone.layers * backbone.hidden_size
        if self.middle is None:
            return self.positions * wide
        return self.positions * d + (d + 1) * self.middle + (self.middle + 1) * wide

    def added(self, place: Place) -> Added:
        """The prefix of all layers."""
        import torch
        from torch import Tensor, nn

        from repro.methods.inside.learner import Added
        from repro.methods.modules.learner import Linear

        class Prefix(Added):
            """Made anew in every pass, before the first layer."""

            name = "prefix"

            def __init__(self, spec: PrefixTuning, place: Place) -> None:
                super().__init__()
                self.spec, self.now, self.parts = spec, place.now, 2 * len(place.layers)
                wide = self.parts * place.hidden
                width = wide if spec.middle is None else place.hidden
                self.table = nn.Parameter(torch.empty(place.runs, 1, spec.positions, width))
                self.inner = self.outer = None
                if spec.middle is not None:
                    self.inner = Linear(place.runs, 1, place.hidden, spec.middle)
                    self.outer = Linear(place.runs, 1, spec.middle, wide)
                self.made: tuple[Tensor, ...] = ()
                for number, layer in enumerate(place.layers):
                    layer.register_forward_pre_hook(self._before(number))

            def make(self) -> tuple[Tensor, ...]:
                """Keys and values of each layer in turn: (runs, positions, hidden)."""
                made = self.table[:, 0]
                if self.inner is not None and self.outer is not None:
                    made = self.outer(torch.tanh(self.inner(made)))
                return made.chunk(self.parts, -1)

            def _before(self, number: int) -> Any:
                def hook(_: nn.Module, __: Any) -> None:
                    if number == 0 or not self.made:
                        self.made = self.make()
                    at = 2 * number
                    self.now.prefix = self.made[at], self.made[at + 1]

                return hook

            def initialise(self, streams: list[torch.Generator]) -> None:
                """P' is normal; the MLP starts as torch's Linear does."""
                with torch.no_grad():
                    for run, stream in enumerate(streams):
                        drawn = torch.empty(self.table.shape[1:])
                        self.table[run] = drawn.normal_(0, self.spec.init_std, generator=stream)
                for linear in (self.inner, self.outer):
                    if linear is not None:
                        linear.initialise(streams)

        return Prefix(self, place)
