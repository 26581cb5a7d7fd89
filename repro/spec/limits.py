"""What cannot be trained is refused when it is planned, with the choices that can."""

from __future__ import annotations

from repro.errors import ReproError
from repro.spec.types import LinearProbe, PipelinedCells, RunSpec


def check_run(spec: RunSpec) -> None:
    """Raises ReproError where the parts of a run do not fit each other."""
    method = spec.method
    if isinstance(method, PipelinedCells):
        _check_cells(method, spec.backbone.layers)
        reads_padding = method.norm_axis == "position" or not method.attention_mask
        if reads_padding and spec.recipe.padding != "max":
            raise ReproError(
                "Cells that normalise positions or attend to padding need windows of one length, "
                "or their numbers depend on the batch: set the recipe's padding to 'max', as the "
                "released code does."
            )
    if isinstance(method, LinearProbe) and method.layer > spec.backbone.layers:
        raise ReproError(
            f"The probe reads layer {method.layer}, and {spec.backbone.name} has "
            f"{spec.backbone.layers} layers."
        )


def _check_cells(method: PipelinedCells, layers: int) -> None:
    stage = method.stage
    if layers % stage:
        below, above = layers // stage * stage, (layers // stage + 1) * stage
        choices = f"{below} or {above}" if below else str(above)
        raise ReproError(
            f"ResAdapters joins layers in stages of {stage}, and this encoder has {layers} layers, "
            f"which is no multiple of {stage}. Choose an encoder of {choices} layers (--backbone)."
        )
    if method.nonlinearity == "attention" and method.bottleneck % method.heads:
        raise ReproError(
            f"A bottleneck of {method.bottleneck} cannot be split into {method.heads} attention "
            f"heads; choose a multiple of {method.heads}."
        )
