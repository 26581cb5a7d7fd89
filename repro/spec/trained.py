"""What each method inside the encoder trains, declared once: modules and counts follow it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from repro.spec.sentences import SentenceTask, facts_of
from repro.spec.tagging import TAGS
from repro.spec.tasks import TaggingTask
from repro.spec.types import (
    AdaptableAdapters,
    BottleneckAdapters,
    FullFineTuning,
    LastLayers,
    LayerNorms,
    RunSpec,
    Task,
    TopLayers,
)

INSIDE = (FullFineTuning, TopLayers, LayerNorms, BottleneckAdapters, AdaptableAdapters)
"""The methods that run the encoder themselves and train inside it."""


@dataclass(frozen=True, slots=True)
class Trained:
    """Everything not named here is frozen. A new output layer is always trained."""

    dropout: float
    outputs: int
    """Numbers that the output layer gives: for an example, or for a token (start and end)."""
    pooled: bool
    """The output layer reads BERT's pooler, not every token."""
    tags: bool = False
    """Every token gets a tag, instead of a score as start and one as end of an answer."""
    embeddings: bool = False
    layers: int = 0
    """Whole layers, counted from the last."""
    norms: Literal["none", "encoder", "all"] = "none"
    pooler: bool = False
    adapters: BottleneckAdapters | None = None
    adaptable: AdaptableAdapters | None = None
    dense: bool = False
    """A second dense layer before the output layer."""

    @property
    def copies(self) -> bool:
        """Whole parts of the encoder train, so a learner holds one run's copy of them."""
        return self.embeddings or self.layers > 0


def outputs_of(task: Task) -> int:
    """Numbers that an output layer gives for an example, or for a token."""
    if isinstance(task, SentenceTask):
        return facts_of(task).outputs
    return len(TAGS) if isinstance(task, TaggingTask) else 2


def trained(spec: RunSpec) -> Trained:
    """The declaration of `spec.method`, one of INSIDE, on `spec.task`."""
    method, pooled = spec.method, isinstance(spec.task, SentenceTask)
    assert isinstance(method, INSIDE)
    tags = isinstance(spec.task, TaggingTask)
    base = Trained(method.dropout, outputs_of(spec.task), pooled, tags)
    match method:
        case FullFineTuning():
            return replace(base, embeddings=True, layers=spec.backbone.layers, pooler=pooled)
        case TopLayers():
            return replace(base, layers=method.layers, pooler=pooled)
        case LayerNorms():
            own = pooled and method.pooler == "trained"
            return replace(base, norms="all", pooler=own)
        case BottleneckAdapters():
            return replace(
                base,
                norms=method.norms,
                pooler=pooled and method.pooler == "trained",
                adapters=method,
                dense=method.head == "two-layer",
            )
        case AdaptableAdapters():
            own = pooled and method.pooler == "trained"
            return replace(base, adaptable=method, pooler=own)


def adapted_layers(method: AdaptableAdapters, layers: int) -> tuple[int, ...]:
    """The layers (from 0) that have an adapter; all of them while a parent has not selected."""
    return method.layers if isinstance(method.layers, tuple) else tuple(range(layers))


def awaits_layers(spec: RunSpec) -> bool:
    """How many layers it has is known only once its parent "architecture" is trained."""
    method = spec.method
    if isinstance(method, LastLayers):
        return method.kept == "selected"
    return isinstance(method, AdaptableAdapters) and method.layers == "selected"


def selected_by(spec: RunSpec, key: str) -> str:
    """The key of the run that selected the layers of `spec`, the run of this `key`: its parent
    "architecture", or itself if it learns switches; "" if its settings name the layers.
    """
    if awaits_layers(spec):
        return spec.parents["architecture"]
    learns = isinstance(spec.method, AdaptableAdapters) and spec.method.switch != "none"
    return key if learns else ""


def with_layers(spec: RunSpec, selected: Sequence[int]) -> RunSpec:
    """The run as it is built, once the parent "architecture" has selected layers (from 0)."""
    if not awaits_layers(spec):
        return spec
    found = len(selected) if isinstance(spec.method, LastLayers) else tuple(selected)
    name = "kept" if isinstance(spec.method, LastLayers) else "layers"
    return spec.model_copy(update={"method": spec.method.model_copy(update={name: found})})
