"""Closed-form parameter counts, so that a plan or a table needs no module and no torch.

A test compares each with the real module. Shapes: methods' own docstrings.
"""

from __future__ import annotations

from repro.spec.types import (
    AlwaysNull,
    Backbone,
    FullFineTuning,
    LinearProbe,
    PipelinedCells,
    RunSpec,
)


def bert_parameters(
    hidden: int, layers: int, intermediate: int, vocabulary: int, positions: int, types: int
) -> int:
    """Parameters of a BERT encoder with its pooler (109,482,240 for bert-base-uncased)."""
    embeddings = (vocabulary + positions + types) * hidden + 2 * hidden
    attention = 4 * (hidden * hidden + hidden) + 2 * hidden
    feed_forward = 2 * hidden * intermediate + intermediate + hidden + 2 * hidden
    return embeddings + layers * (attention + feed_forward) + hidden * hidden + hidden


def pooler_parameters(backbone: Backbone) -> int:
    """BERT's pooler, which question answering neither uses nor trains."""
    return backbone.hidden_size * (backbone.hidden_size + 1)


def cell_parameters(method: PipelinedCells, hidden: int, length: int) -> int:
    """One ResAdapters cell; `length` is that of a window: the channels of a norm over positions."""
    b = method.bottleneck
    projections = 2 * hidden * b + b + hidden
    batch_norm = 2 * (b if method.norm_axis == "feature" else length)
    attention = 4 * (b * b + b) + 2 * b if method.nonlinearity == "attention" else 0
    return projections + batch_norm + attention + 2 * hidden


def stack_parameters(method: PipelinedCells, layers: int, hidden: int, length: int) -> int:
    """One stack (start or end): a cell a layer and a scorer; two stacks are trained."""
    return layers * cell_parameters(method, hidden, length) + hidden + 1


def trained_parameters(spec: RunSpec) -> int:
    """How many parameters the run trains."""
    method, backbone = spec.method, spec.backbone
    scorers = 2 * (backbone.hidden_size + 1)
    if isinstance(method, PipelinedCells):
        length = spec.task.max_length
        return 2 * stack_parameters(method, backbone.layers, backbone.hidden_size, length)
    if isinstance(method, LinearProbe):
        return scorers
    if isinstance(method, FullFineTuning):
        return backbone.parameters - pooler_parameters(backbone) + scorers
    assert isinstance(method, AlwaysNull)
    return 0


def total_parameters(spec: RunSpec) -> int:
    """Parameters of the whole model that answers a question, frozen ones included."""
    if isinstance(spec.method, AlwaysNull):
        return 0
    encoder = spec.backbone.parameters - pooler_parameters(spec.backbone)
    trained = trained_parameters(spec)
    return trained if isinstance(spec.method, FullFineTuning) else encoder + trained
