"""Bottleneck adapters: Houlsby's, shared ones of the 3-shared report, and Pfeiffer's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from repro.errors import ReproError
from repro.methods.inside import PooledEncoder, adapter_flops, adapter_parameters
from repro.spec.fields import identity
from repro.spec.method import method

if TYPE_CHECKING:
    from repro.methods.bottleneck_adapters.module import Adapters
    from repro.methods.inside.learner import Place
    from repro.spec.types import Backbone, RunSpec


@method("bottleneck-adapters")
class BottleneckAdapters(PooledEncoder):
    """Adapters in every layer of a frozen encoder, and a classifier.

    Houlsby et al. 2019 (`placement` houlsby, `span` 0), the variants of the 3-shared report
    (`span` 0, 1, 3), and AdapterHub's Pfeiffer configuration.
    """

    placement: Literal["houlsby", "pfeiffer"] = identity(
        doc="after attention and after feed-forward, before the residual; or after feed-forward "
        "only, fed by the layer norm and added before it"
    )
    size: int = identity(doc="bottleneck m", ge=1)
    span: int = identity(
        0, doc="0: each slot has a module of its own; n: one module for n consecutive layers", ge=0
    )
    nonlinearity: Literal["gelu", "gelu-tanh", "relu"] = identity(doc="the adapter's middle step")
    init: Literal["normal", "truncated-normal"] = identity(
        "truncated-normal", doc="of both matrices; truncated at two deviations; biases are 0"
    )
    init_std: float = identity(doc="standard deviation of the initial matrices", gt=0)
    norms: Literal["none", "encoder", "all"] = identity(
        doc="layer norms that train: none, the two of each layer, or the embeddings' too"
    )
    head: Literal["linear", "two-layer"] = identity(
        "linear", doc="after the pooler: a classifier, or a dense layer with tanh before it"
    )

    def label(self) -> str:
        """As the papers call them; what the 3-shared report calls Houlsby is shared in layer."""
        if self.placement == "pfeiffer":
            name = "pfeiffer"
        elif self.span:
            name = "shared-in-layer" if self.span == 1 else f"{self.span}-shared"
        else:
            name = "houlsby" if self.norms == "all" else "not-shared"
        return f"{name} m{self.size}"

    def check(self, run: RunSpec) -> None:
        """Modules are shared by spans of equal size, so the size divides the depth."""
        layers = run.backbone.layers
        if self.span and layers % self.span:
            choices = ", ".join(str(n) for n in range(1, layers + 1) if layers % n == 0)
            raise ReproError(
                f"{run.backbone.name} has {layers} layers, which cannot be cut into spans of "
                f"{self.span} that share an adapter. Choose a span of {choices} (0 shares nothing)."
            )

    @property
    def slots(self) -> int:
        """Places for an adapter in a layer."""
        return 2 if self.placement == "houlsby" else 1

    def modules(self, layers: int) -> int:
        """Adapters of the whole encoder."""
        return layers // self.span if self.span else layers * self.slots

    def parts(self, run: RunSpec) -> dict[str, Any]:
        """Layer norms, the pooler and a second layer of the head, as set."""
        return super().parts(run) | {"norms": self.norms, "dense": self.head == "two-layer"}

    def added(self, place: Place) -> Adapters:
        """The adapters, in their slots."""
        from repro.methods.bottleneck_adapters.module import Adapters

        return Adapters(self, place)

    def added_parameters(self, backbone: Backbone) -> int:
        """Those of every adapter."""
        return self.modules(backbone.layers) * adapter_parameters(self.size, backbone.hidden_size)

    def cost(self, run: RunSpec, length: float) -> tuple[float, float]:
        """Every slot computes an adapter, shared or not."""
        each = adapter_flops(self.size, run.backbone.hidden_size)
        return run.backbone.layers * self.slots * each, 0.0
