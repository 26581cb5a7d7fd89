"""LoRA (Hu et al. 2021): low-rank changes of frozen maps, in the attention of every layer.

    h = W x + b + (alpha / r) B A x      A (d, r), B (r, d)

A starts as torch's Linear does (uniform on +-1/sqrt(d)), B at zero, as the released code has it
(loralib/layers.py), so that the model starts as the pre-trained one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from repro.methods.inside import ChosenHead, adapter_flops
from repro.spec.fields import identity
from repro.spec.method import method

if TYPE_CHECKING:
    from repro.methods.inside.learner import Added, Place
    from repro.spec.types import Backbone, RunSpec


@method("lora")
class LoRA(ChosenHead):
    """Low-rank changes of query and value maps; the defaults are those of the paper's GLUE runs.

    A new dense layer stands before the output layer if `head` is "two-layer"; with no pooler below
    it, that is RoBERTa's classifier, which the paper's runs have.
    """

    rank: int = identity(8, doc="r", ge=1)
    alpha: float = identity(16.0, doc="the change is scaled by alpha / r", gt=0)
    maps: tuple[Literal["query", "key", "value"], ...] = identity(
        ("query", "value"), doc="the maps of each layer that are changed", min_length=1
    )

    def label(self) -> str:
        """lora r8."""
        return f"lora r{self.rank}"

    def added_parameters(self, backbone: Backbone) -> int:
        """A and B of each map: 294,912 in 12 layers of width 768 with r = 8."""
        return backbone.layers * len(self.maps) * 2 * self.rank * backbone.hidden_size

    def cost(self, run: RunSpec, length: float) -> tuple[float, float]:
        """Two products a map."""
        each = adapter_flops(self.rank, run.backbone.hidden_size)
        return run.backbone.layers * len(self.maps) * each, 0.0

    def added(self, place: Place) -> Added:
        """The branches beside the maps."""
        import torch
        from torch import Tensor, nn

        from repro.methods.inside.learner import Added

        class Branch(nn.Module):
            """B A x of each run: (runs, items, d) -> the same shape."""

            def __init__(self, spec: LoRA, place: Place) -> None:
                super().__init__()
                self.now, self.scale, rank = place.now, spec.alpha / spec.rank, spec.rank
                self.down = nn.Parameter(torch.empty(place.runs, 1, place.hidden, rank))
                self.up = nn.Parameter(torch.zeros(place.runs, 1, rank, place.hidden))

            def forward(self, x: Tensor) -> Tensor:
                return x @ self.down.flatten(0, 1) @ self.up.flatten(0, 1) * self.scale

            def hook(self, _: nn.Module, given: tuple[Tensor], output: Tensor) -> Tensor | None:
                now = self.now
                return output + now.of_each(given[0], self) if now.adapters else None

        class Branches(Added):
            """Layer by layer, its maps in the order of the settings."""

            name = "lora"
            foreseen = True

            def __init__(self, spec: LoRA, place: Place) -> None:
                super().__init__()
                self.bound = place.hidden**-0.5
                for number, layer in enumerate(place.layers):
                    for name in spec.maps:
                        branch = Branch(spec, place)
                        path = getattr(place.family, name)
                        layer.get_submodule(path).register_forward_hook(branch.hook)
                        self.add_module(f"{number}-{name}", branch)

            def initialise(self, streams: list[torch.Generator]) -> None:
                with torch.no_grad():
                    for name, parameter in self.named_parameters():
                        if not name.endswith("down"):
                            continue
                        for run, stream in enumerate(streams):
                            drawn = torch.empty(parameter.shape[1:])
                            parameter[run] = drawn.uniform_(
                                -self.bound, self.bound, generator=stream
                            )

        return Branches(self, place)
