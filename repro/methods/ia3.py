"""IA3 (Liu et al. 2022, section 3.3): learned vectors scale activations of a frozen encoder.

    softmax(q (l_k * k)' / sqrt(head)) (l_v * v)      (l_ff * g(W_1 x)) W_2

The vectors l are 1 at the start.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from repro.methods.inside import PooledEncoder
from repro.spec.method import method

if TYPE_CHECKING:
    from repro.methods.inside.learner import Added, Place
    from repro.spec.types import Backbone


@method("ia3")
class IA3(PooledEncoder):
    """Vectors for keys, values and the middle of the feed-forward in every layer."""

    def added_parameters(self, backbone: Backbone) -> int:
        """Two vectors of the width and one of the feed-forward's: 55,296 in BERT-base."""
        return backbone.layers * (2 * backbone.hidden_size + backbone.intermediate_size)

    def added(self, place: Place) -> Added:
        """The vectors, layer by layer."""
        import torch
        from torch import Tensor, nn

        from repro.methods.inside.learner import Added

        class Scale(nn.Module):
            """(runs, 1, width), times what a module gives or takes."""

            def __init__(self, width: int, place: Place) -> None:
                super().__init__()
                self.now = place.now
                self.scale = nn.Parameter(torch.ones(place.runs, 1, width))

            def forward(self, x: Tensor) -> Tensor:
                return x * self.scale

            def after(self, _: nn.Module, __: Any, output: Tensor) -> Tensor | None:
                now = self.now
                return now.of_each(output, self) if now.adapters else None

            def before(self, _: nn.Module, given: tuple[Tensor]) -> Tensor | None:
                now = self.now
                return now.of_each(given[0], self) if now.adapters else None

        class Scales(Added):
            """By layer and place."""

            name = "scales"
            foreseen = True

            def __init__(self, place: Place) -> None:
                super().__init__()
                for number, layer in enumerate(place.layers):
                    key, value, down = (
                        layer.get_submodule(getattr(place.family, name))
                        for name in ("key", "value", "down")
                    )
                    for name, module in (("key", key), ("value", value)):
                        one = Scale(place.hidden, place)
                        module.register_forward_hook(one.after)
                        self.add_module(f"{number}-{name}", one)
                    wide = Scale(int(down.in_features), place)  # type: ignore[arg-type]
                    down.register_forward_pre_hook(wide.before)
                    self.add_module(f"{number}-middle", wide)

            def initialise(self, streams: list[torch.Generator]) -> None:
                """Nothing is drawn."""
                for parameter in self.parameters():
                    nn.init.ones_(parameter)

        return Scales(place)
