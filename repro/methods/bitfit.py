"""BitFit (Ben Zaken, Ravfogel and Goldberg 2021): the bias terms of a frozen encoder are trained.

    h = W x + b      W frozen, b trained (section 3: of query, key, value and output map of the
                     attention, of both maps of the feed-forward, of both layer norms)

A run holds what is added to each bias, which is 0 at the start.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from repro.methods.inside import PooledEncoder
from repro.spec.method import method

if TYPE_CHECKING:
    from repro.methods.inside.learner import Added, Place
    from repro.spec.types import Backbone

PLACES = ("query", "key", "value", "joined", "first_norm", "up", "down", "norm")
"""The modules of a layer, as `repro.methods.inside.slots.Family` names them."""


@method("bitfit")
class BitFit(PooledEncoder):
    """All biases in the layers of the encoder, and a classifier."""

    def added_parameters(self, backbone: Backbone) -> int:
        """Seven biases of the width and one of the feed-forward's a layer: 101,376 in BERT-base."""
        return backbone.layers * (7 * backbone.hidden_size + backbone.intermediate_size)

    def added(self, place: Place) -> Added:
        """What is added to the biases, layer by layer."""
        import torch
        from torch import Tensor, nn

        from repro.methods.inside.learner import Added

        class Bias(nn.Module):
            """(runs, 1, width), added to a module's output."""

            def __init__(self, width: int, place: Place) -> None:
                super().__init__()
                self.now = place.now
                self.bias = nn.Parameter(torch.zeros(place.runs, 1, width))

            def forward(self, x: Tensor) -> Tensor:
                return x + self.bias

            def hook(self, _: nn.Module, __: Any, output: Tensor) -> Tensor | None:
                now = self.now
                return now.of_each(output, self) if now.adapters else None

        class Biases(Added):
            """By layer and place."""

            name = "biases"
            foreseen = True

            def __init__(self, place: Place) -> None:
                super().__init__()
                for number, layer in enumerate(place.layers):
                    for name in PLACES:
                        module: Any = layer.get_submodule(getattr(place.family, name))
                        one = Bias(module.bias.shape[0], place)
                        module.register_forward_hook(one.hook)
                        self.add_module(f"{number}-{name}", one)

            def initialise(self, streams: list[torch.Generator]) -> None:
                """Nothing is drawn."""
                for parameter in self.parameters():
                    nn.init.zeros_(parameter)

        return Biases(place)
