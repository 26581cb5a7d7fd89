"""Fine-tuning of the encoder's own parameters: all of them, the top layers, or the layer norms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from repro.errors import ReproError
from repro.methods.inside import InsideEncoder, PooledEncoder
from repro.spec.fields import identity
from repro.spec.method import method
from repro.words import counted

if TYPE_CHECKING:
    from repro.spec.types import RunSpec


@method("full-fine-tuning")
class FullFineTuning(InsideEncoder):
    """Every parameter of the encoder and a new head: scorers of spans, or BERT's classifier.

    A classifier reads BERT's pooler, which is trained with the rest.
    """

    revision: ClassVar[int] = 2
    trains_encoder: ClassVar[bool] = True
    trains_alone: ClassVar[bool] = True

    def label(self) -> str:
        """Without its dropout."""
        return "full fine-tuning"

    def parts(self, run: RunSpec) -> dict[str, Any]:
        """All."""
        return {"embeddings": True, "layers": run.backbone.layers, "pooler": run.pooled}


@method("top-layers")
class TopLayers(InsideEncoder):
    """The top `layers` layers of the encoder, its pooler and a classifier (Houlsby et al., 3.4)."""

    layers: int = identity(
        doc="how many layers are trained, counted from the last", ge=1, examples=[1]
    )

    trains_encoder: ClassVar[bool] = True
    trains_alone: ClassVar[bool] = True

    def label(self) -> str:
        """top 3 layers."""
        return f"top {counted(self.layers, 'layer')}"

    def check(self, run: RunSpec) -> None:
        """No more layers than there are."""
        if self.layers > run.backbone.layers:
            raise ReproError(
                f"The top {self.layers} layers cannot be trained: {run.backbone.name} has "
                f"{run.backbone.layers}."
            )

    def parts(self, run: RunSpec) -> dict[str, Any]:
        """Some layers and the pooler."""
        return {"layers": self.layers, "pooler": run.pooled}

    def passes(self, run: RunSpec) -> float:
        """The layers below are passed forward only."""
        return 1 + 2 * min(1.0, self.layers / run.backbone.layers)


@method("layer-norms")
class LayerNorms(PooledEncoder):
    """Every layer norm of the encoder and a classifier (Houlsby et al., section 3.4)."""

    def parts(self, run: RunSpec) -> dict[str, Any]:
        """All norms."""
        return super().parts(run) | {"norms": "all"}
