"""Counts what a run trains from its modules, built without weights.

The independent check of the closed forms, and what table 3-shared-1 recomputes.
"""

from __future__ import annotations

from collections import Counter

import torch
from torch import nn

from repro.backbones.load import Encoder
from repro.spec import Backbone, RunSpec
from repro.spec.backbones import bert_parameters

PARTS = {
    "encoder": "encoder",
    "norms": "layer norms",
    "pooler": "pooler",
    "head.dense": "head layers",
    "head.scorer": "classifier",
}
ADDED = "adapters"
"""Whatever a method adds inside the encoder."""
POSITIONS, TYPES = 512, 2


def count_modules(spec: RunSpec) -> dict[str, int]:
    """Trained parameters of one run of a method inside the encoder, by part.

    Parts: encoder (whole layers or all of it), adapters, layer norms, pooler, head layers (between
    pooler and classifier), classifier (the output layer). Every part is there, 0 where frozen.
    """
    spec.check()
    encoder = shape_of(spec.backbone)
    with torch.device("meta"):
        learner = spec.method.learner(spec, 1, encoder)
    found = Counter[str]()
    for name, parameter in learner.named_parameters():
        if parameter.requires_grad:
            parts = (part for start, part in PARTS.items() if name.startswith(start))
            part = next(parts, ADDED)
            found[part] += parameter.numel()
    return {part: found[part] for part in ("encoder", ADDED, *list(PARTS.values())[1:])}


def shape_of(backbone: Backbone) -> Encoder:
    """A BERT of the backbone's shape on the meta device, with a pooler.

    Its vocabulary is what the backbone's number of parameters leaves for it.
    """
    from transformers import BertConfig, BertModel

    shape = backbone.hidden_size, backbone.layers, backbone.intermediate_size
    rest = bert_parameters(*shape, 0, POSITIONS, TYPES)
    config = BertConfig(
        vocab_size=max(1, (backbone.parameters - rest) // backbone.hidden_size),
        hidden_size=backbone.hidden_size,
        num_hidden_layers=backbone.layers,
        num_attention_heads=1,
        intermediate_size=backbone.intermediate_size,
        max_position_embeddings=POSITIONS,
        type_vocab_size=TYPES,
    )
    with torch.device("meta"):
        model = BertModel(config, add_pooling_layer=False).requires_grad_(False)
        pooler = nn.Linear(backbone.hidden_size, backbone.hidden_size).requires_grad_(False)
    return Encoder(model, None, pooler)
