"""Closed-form parameter counts, so that a plan or a table needs no module and no torch.

A test compares each with the real module. Shapes: methods' own docstrings.
"""

from __future__ import annotations

from dataclasses import replace

from repro.spec.kinds import WRITING
from repro.spec.sentences import SentenceTask
from repro.spec.t5 import TextToText
from repro.spec.t5_counts import added_parameters, written_parameters
from repro.spec.trained import INSIDE, Trained, adapted_layers, outputs_of, trained
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
)

T5_BUCKETS = 32
"""Of T5's relative positions."""
RATIONAL, SWITCH = 6 + 4, 2
"""Coefficients of a rational activation, and logits of a switch (Moosavi et al. 2022)."""


def bert_parameters(
    hidden: int, layers: int, intermediate: int, vocabulary: int, positions: int, types: int
) -> int:
    """Parameters of a BERT encoder with its pooler (109,482,240 for bert-base-uncased)."""
    embeddings = (vocabulary + positions + types) * hidden + 2 * hidden
    attention = 4 * (hidden * hidden + hidden) + 2 * hidden
    feed_forward = 2 * hidden * intermediate + intermediate + hidden + 2 * hidden
    return embeddings + layers * (attention + feed_forward) + hidden * hidden + hidden


def t5_parameters(hidden: int, layers: int, intermediate: int, vocabulary: int, heads: int) -> int:
    """Parameters of a T5 v1.0 whose heads have `hidden` in all (60,506,624 for T5-small).

    Maps have no bias, norms no shift; the output layer is the embedding.
    """
    attention, feed_forward = 4 * hidden * hidden, 2 * hidden * intermediate
    encoder = layers * (attention + feed_forward + 2 * hidden)
    decoder = layers * (2 * attention + feed_forward + 3 * hidden)
    positions = 2 * T5_BUCKETS * heads  # of the first layer of each stack
    return vocabulary * hidden + encoder + decoder + 2 * hidden + positions


def pooler_parameters(backbone: Backbone) -> int:
    """BERT's pooler, which question answering neither uses nor trains."""
    return backbone.hidden_size * (backbone.hidden_size + 1)


def cell_parts(method: PipelinedCells, hidden: int, length: int) -> dict[str, int]:
    """Module of a ResAdapters cell, by its name there -> its parameters, in the order of use.

    `length` is that of a window: the channels of a norm over positions.
    """
    b = method.bottleneck
    channels = b if method.norm_axis == "feature" else length
    parts = {"down": hidden * b + b, "batch_norm": 2 * channels}
    if method.nonlinearity == "attention":
        maps = ("query", "key", "value", "output")
        parts |= {f"attention.{name}": b * b + b for name in maps}
        parts["attention.norm"] = 2 * b
    return parts | {"up": b * hidden + hidden, "norm": 2 * hidden}


def cell_parameters(method: PipelinedCells, hidden: int, length: int) -> int:
    """One ResAdapters cell; `length` as above."""
    return sum(cell_parts(method, hidden, length).values())


def stack_parameters(method: PipelinedCells, layers: int, hidden: int, length: int) -> int:
    """One stack (start or end): a cell a layer and a scorer; two stacks are trained."""
    return layers * cell_parameters(method, hidden, length) + hidden + 1


def layer_parameters(backbone: Backbone) -> int:
    """One layer of BERT: four maps of the attention, two of the feed-forward, two norms."""
    d, f = backbone.hidden_size, backbone.intermediate_size
    return 4 * d * (d + 1) + 2 * d * f + f + d + 4 * d


def adapter_parameters(size: int, hidden: int) -> int:
    """One bottleneck adapter: 2 m d + m + d (Houlsby et al. 2019, section 2.1)."""
    return 2 * size * hidden + size + hidden


def adapter_modules(method: BottleneckAdapters, layers: int) -> int:
    """Modules of the whole encoder; a layer has two slots, in Pfeiffer's configuration one."""
    if method.span:
        return layers // method.span
    return layers * (2 if method.placement == "houlsby" else 1)


def adaptable_parameters(method: AdaptableAdapters, layers: int, hidden: int) -> int:
    """Adapters with their activations and switches; where a parent selects, as if in all layers."""
    each = adapter_parameters(method.size, hidden)
    each += RATIONAL * (method.activation == "rational") + SWITCH * (method.switch != "none")
    return len(adapted_layers(method, layers)) * each


def inside_parameters(trains: Trained, backbone: Backbone) -> int:
    """What a method inside the encoder trains, its new output layer included."""
    d, layers = backbone.hidden_size, backbone.layers
    count = trains.outputs * (d + 1)
    count += (d * (d + 1)) * (trains.pooler + trains.dense)
    count += 2 * d * {"none": 0, "encoder": 2 * layers, "all": 2 * layers + 1}[trains.norms]
    if trains.adapters is not None:
        modules = adapter_modules(trains.adapters, layers)
        count += modules * adapter_parameters(trains.adapters.size, d)
    if trains.adaptable is not None:
        count += adaptable_parameters(trains.adaptable, layers, d)
    if trains.embeddings:
        return count + backbone.parameters - pooler_parameters(backbone)
    return count + trains.layers * layer_parameters(backbone)


def features_parameters(method: FrozenFeatures, backbone: Backbone, outputs: int) -> int:
    """A weight a layer and a scale, an LSTM in two directions, an output layer."""
    d, u = backbone.hidden_size, method.units
    return backbone.layers + 1 + 2 * 4 * u * (d + u + 2) + outputs * (2 * u + 1)


def trained_parameters(spec: RunSpec) -> int:
    """How many parameters the run trains; none of its own where it only evaluates a parent's."""
    method, backbone = spec.method, spec.backbone
    if isinstance(method, PipelinedCells):
        length = spec.task.max_length
        return 2 * stack_parameters(method, backbone.layers, backbone.hidden_size, length)
    if isinstance(method, LinearProbe):
        return 2 * (backbone.hidden_size + 1)
    if isinstance(method, INSIDE):
        return inside_parameters(trained(spec), backbone)
    if isinstance(method, FrozenFeatures):
        return features_parameters(method, backbone, outputs_of(spec.task))
    if isinstance(method, WRITING):
        return written_parameters(method, backbone, _tasks(spec))
    assert isinstance(method, (AlwaysNull, AblatedSpans, LastLayers))
    return 0


def total_parameters(spec: RunSpec) -> int:
    """Parameters of the whole model that gives the outputs, frozen ones included.

    Of a run that only evaluates its parent: the encoder; what was added to it is the parent's.
    """
    method, backbone = spec.method, spec.backbone
    if isinstance(method, AlwaysNull):
        return 0
    if isinstance(method, WRITING):
        return backbone.parameters + added_parameters(method, backbone, _tasks(spec))
    encoder = backbone.parameters
    if not isinstance(spec.task, SentenceTask) or isinstance(method, FrozenFeatures):
        encoder -= pooler_parameters(backbone)
    if not isinstance(method, INSIDE):
        return encoder + trained_parameters(spec)
    added = replace(trained(spec), embeddings=False, layers=0, norms="none", pooler=False)
    return encoder + inside_parameters(added, backbone)


def _tasks(spec: RunSpec) -> int:
    assert isinstance(spec.task, TextToText)
    return len(spec.task.tasks)
