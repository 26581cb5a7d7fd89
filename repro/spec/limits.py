"""What cannot be trained is refused when it is planned, with the choices that can."""

from __future__ import annotations

from collections.abc import Sequence

from repro.errors import ReproError
from repro.spec.t5_limits import check_writing
from repro.spec.tasks import GlueTask, SquadTask
from repro.spec.trained import awaits_layers
from repro.spec.types import (
    AblatedSpans,
    AdaptableAdapters,
    AlwaysNull,
    Backbone,
    BottleneckAdapters,
    FrozenFeatures,
    LastLayers,
    LinearProbe,
    PipelinedCells,
    RunSpec,
    TopLayers,
)

SPANS_ONLY = (PipelinedCells, LinearProbe, AlwaysNull)


def check_run(spec: RunSpec) -> None:
    """Raises ReproError where the parts of a run do not fit each other."""
    method = spec.method
    check_writing(spec)
    _check_positions(spec)
    if isinstance(method, PipelinedCells):
        _check_cells(method, spec.backbone.layers)
        reads_padding = method.norm_axis == "position" or not method.attention_mask
        if reads_padding and spec.recipe.padding != "max":
            raise ReproError(
                "Cells that normalise positions or attend to padding need windows of one length, "
                "or their numbers depend on the batch: set the recipe's padding to 'max', as the "
                "released code does."
            )
    if not isinstance(spec.task, SquadTask) and isinstance(method, SPANS_ONLY):
        raise ReproError(
            f"The method '{method.kind}' answers questions with spans, and {spec.task.name} wants "
            "a class or a number. Choose a method inside the encoder, such as "
            "'bottleneck-adapters'."
        )
    if isinstance(spec.task, SquadTask) and isinstance(method, FrozenFeatures):
        raise ReproError(
            "Frozen features give a class, a number or tags; questions are answered with spans. "
            "Choose another method, such as 'linear-probe'."
        )
    if isinstance(method, TopLayers) and method.layers > spec.backbone.layers:
        raise ReproError(
            f"The top {method.layers} layers cannot be trained: {spec.backbone.name} has "
            f"{spec.backbone.layers}."
        )
    if isinstance(method, BottleneckAdapters):
        _check_span(method.span, spec.backbone)
    if isinstance(method, AdaptableAdapters):
        _check_adaptable(method, spec.backbone)
    if isinstance(method, LastLayers) and isinstance(method.kept, int):
        _check_layers(
            range(spec.backbone.layers - method.kept, spec.backbone.layers), spec.backbone
        )
    _check_parents(spec)
    if spec.recipe.loss_parts > 1 and spec.recipe.over_tokens != "sum":
        raise ReproError(
            f"recipe.loss_parts={spec.recipe.loss_parts} divides a summed loss, and the loss here "
            "is a mean: set recipe.over_tokens=sum too, or leave recipe.loss_parts at 1."
        )
    if isinstance(spec.task, GlueTask) and spec.task.drawn_from == "validation":
        _check_drawn(spec.task)
    if isinstance(method, LinearProbe) and method.layer > spec.backbone.layers:
        raise ReproError(
            f"The probe reads layer {method.layer}, and {spec.backbone.name} has "
            f"{spec.backbone.layers} layers."
        )


def _check_positions(spec: RunSpec) -> None:
    """An encoder has one embedding for each position, so no window may be longer."""
    longest, positions = spec.task.max_length, spec.backbone.positions
    if positions is not None and longest > positions:
        raise ReproError(
            f"Inputs of up to {longest} tokens are asked for (task.max_length), and "
            f"{spec.backbone.name} has {positions} positions. Shorten them (--set "
            f"task.max_length={positions}), or choose another --backbone."
        )


def _check_parents(spec: RunSpec) -> None:
    """What only evaluates, or is built from, another run names it."""
    needed = {"trained"} if isinstance(spec.method, (AblatedSpans, LastLayers)) else set()
    needed |= {"architecture"} if awaits_layers(spec) else set()
    for role in sorted(needed - set(spec.parents)):
        raise ReproError(
            f"The method '{spec.method.kind}' needs another run: name its key as the parent "
            f"'{role}'."
        )


def _check_adaptable(method: AdaptableAdapters, backbone: Backbone) -> None:
    if isinstance(method.layers, tuple):
        _check_layers(method.layers, backbone)
    if method.drops and method.switch != "none":
        raise ReproError(
            "A model drops layers by AdapterDrop (method.drops) or selects them by switches "
            "(method.switch), not both: leave one of them out."
        )
    if method.drops >= backbone.layers:
        raise ReproError(
            f"AdapterDrop cannot leave out {method.drops} layers of {backbone.name}, which has "
            f"{backbone.layers}: one keeps its adapter. Choose at most {backbone.layers - 1}."
        )


def _check_layers(layers: Sequence[int], backbone: Backbone) -> None:
    """Layers that have an adapter: distinct, and there. None at all is what a switch may select."""
    known = range(backbone.layers)
    if sorted(set(layers)) != list(layers) or not set(layers) <= set(known):
        raise ReproError(
            f"{', '.join(map(str, layers))} are no layers of {backbone.name}: name each once, in "
            f"order, from 0 to {backbone.layers - 1}."
        )


def _check_drawn(task: GlueTask) -> None:
    if task.development is None or task.train_rows is None:
        raise ReproError(
            "Rows drawn from the validation set need their number (task.train_rows) and the share "
            "of development rows (task.development): the rest is scored."
        )


def _check_span(span: int, backbone: Backbone) -> None:
    """Modules are shared by spans of equal size, so the size divides the depth."""
    layers = backbone.layers
    if span and layers % span:
        choices = ", ".join(str(n) for n in range(1, layers + 1) if layers % n == 0)
        raise ReproError(
            f"{backbone.name} has {layers} layers, which cannot be cut into spans of {span} that "
            f"share an adapter. Choose a span of {choices} (0 shares nothing)."
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
