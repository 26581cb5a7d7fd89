"""Adaptable adapters (Moosavi et al. 2022), and AdapterDrop (Rueckle et al. 2021) beside them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from repro.errors import ReproError
from repro.methods.inside import PooledEncoder, adapter_flops, adapter_parameters
from repro.methods.untrained import Evaluation
from repro.spec.fields import identity
from repro.spec.method import Method, method
from repro.words import counted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from repro.methods.adaptable_adapters.module import Adaptable
    from repro.methods.inside.learner import Place
    from repro.spec.types import Backbone, RunSpec

RATIONAL, SWITCH = 6 + 4, 2
"""Coefficients of a rational activation, and logits of a switch (Moosavi et al. 2022)."""


@method("adaptable-adapters")
class AdaptableAdapters(PooledEncoder):
    """Pfeiffer adapters with what Moosavi et al. 2022 compare, and a classifier.

    A learned activation, a switch in every layer, adapters in some layers only, and AdapterDrop
    (Rueckle et al. 2021): each may be absent, and without all of them these are plain adapters.
    """

    size: int = identity(doc="bottleneck m", ge=1)
    activation: Literal["relu", "rational"] = identity(doc="the adapter's middle step")
    form: Literal["a", "b"] = identity(
        "a", doc="a rational's denominator: 1 + sum |b x^k| as released, or 1 + |sum b x^k|"
    )
    start: Literal["one", "relu", "gelu", "tanh"] = identity("one", doc="what a rational begins as")
    switch: Literal["none", "as-run", "paper-no-skip", "released"] = identity(
        "none",
        doc="between adapter and identity; in both the residual is kept (as-run), in identity only "
        "(paper-no-skip), or identity adds the normalised input as well (released)",
    )
    temperature: float = identity(0.1, doc="of the Gumbel-softmax", gt=0)
    restored: Literal["best", "last"] = identity(
        "best", doc="epoch whose switches go with the kept epoch's adapters: the same, or the last"
    )
    layers: tuple[int, ...] | Literal["selected"] | None = identity(
        None, doc="layers (from 0) with an adapter; those that the parent 'architecture' selected"
    )
    drops: int = identity(
        0, doc="in training the first n layers have none, n uniform in 0..drops, drawn a step", ge=0
    )
    init_std: float = identity(0.02, doc="standard deviation of the initial matrices", gt=0)

    def label(self) -> str:
        """What of adaptable adapters it has, and where."""
        rational = self.activation == "rational"
        name = "rational" if rational else "pfeiffer"
        if self.selects_layers:
            name = "AA" if rational else "switch"
        if self.drops:
            name = "AdapterDrop"
        name = f"{name} m{self.size}"
        if isinstance(self.layers, tuple):
            return f"{name} in {counted(len(self.layers), 'layer')}"
        return f"{name} in selected layers" if self.awaits_layers else name

    def check(self, run: RunSpec) -> None:
        """Layers that there are, and one way of leaving some out."""
        if isinstance(self.layers, tuple):
            run.backbone.check_layers(self.layers)
        if self.drops and self.selects_layers:
            raise ReproError(
                "A model drops layers by AdapterDrop (method.drops) or selects them by switches "
                "(method.switch), not both: leave one of them out."
            )
        layers = run.backbone.layers
        if self.drops >= layers:
            raise ReproError(
                f"AdapterDrop cannot leave out {self.drops} layers of {run.backbone.name}, which "
                f"has {layers}: one keeps its adapter. Choose at most {layers - 1}."
            )

    @property
    def selects_layers(self) -> bool:
        """It has switches."""
        return self.switch != "none"

    @property
    def awaits_layers(self) -> bool:
        """A parent selects them."""
        return self.layers == "selected"

    def with_layers(self, selected: Sequence[int]) -> Method:
        """With adapters in these layers."""
        return self.model_copy(update={"layers": tuple(selected)})

    def adapted_layers(self, layers: int) -> tuple[int, ...]:
        """The layers (from 0) that have an adapter; all while a parent has not selected."""
        return self.layers if isinstance(self.layers, tuple) else tuple(range(layers))

    def added(self, place: Place) -> Adaptable:
        """The adapters, before each layer's last norm."""
        from repro.methods.adaptable_adapters.module import Adaptable

        return Adaptable(self, place)

    def added_parameters(self, backbone: Backbone) -> int:
        """Adapters with their activations and switches; while a parent has not selected, of all
        layers.
        """
        each = adapter_parameters(self.size, backbone.hidden_size)
        each += RATIONAL * (self.activation == "rational") + SWITCH * self.selects_layers
        return len(self.adapted_layers(backbone.layers)) * each

    def cost(self, run: RunSpec, length: float) -> tuple[float, float]:
        """An adapter in each of its layers."""
        layers = len(self.adapted_layers(run.backbone.layers))
        return layers * adapter_flops(self.size, run.backbone.hidden_size), 0.0


@method("last-layers")
class LastLayers(Evaluation):
    """A trained run scored with the adapters of its last layers only (AdapterDrop): as many as are
    given, or as the parent "architecture" selected.
    """

    kept: int | Literal["selected"] = identity(doc="how many of the last layers keep theirs")

    def label(self) -> str:
        """3 last layers of AdapterDrop."""
        return f"{self.kept} last layers of AdapterDrop"

    def check(self, run: RunSpec) -> None:
        """Layers that there are."""
        if isinstance(self.kept, int):
            layers = run.backbone.layers
            run.backbone.check_layers(range(layers - self.kept, layers))

    @property
    def awaits_layers(self) -> bool:
        """A parent selects how many."""
        return self.kept == "selected"

    def with_layers(self, selected: Sequence[int]) -> Method:
        """With as many as were selected."""
        return self.model_copy(update={"kept": len(selected)})


def evaluate(
    numerator: Sequence[float], denominator: Sequence[float], form: str, x: NDArray[Any]
) -> NDArray[Any]:
    """The rational activation R = P / Q at every x, of any shape, in float64; the coefficients
    a_0.. and b_1.. in this order. See `repro.methods.adaptable_adapters.rational`.
    """
    import numpy as np

    points = np.asarray(x, dtype=np.float64)
    top = sum((a * points**j for j, a in enumerate(numerator)), np.zeros_like(points))
    terms = [b * points**k for k, b in enumerate(denominator, start=1)]
    if form == "a":
        terms = [np.abs(term) for term in terms]
    result: NDArray[Any] = top / (1.0 + np.abs(sum(terms, np.zeros_like(points))))
    return result
