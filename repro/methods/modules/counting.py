"""Counts what a run trains from its modules, built without weights.

The independent check of the closed forms, and what the tables of parameters recompute.
"""

from __future__ import annotations

import re
from collections import Counter

import torch
from torch import nn

from repro.backbones.load import Encoder
from repro.errors import ReproError
from repro.spec import Backbone, RunSpec
from repro.spec.backbones import bert_parameters, t5_parameters

ADDED = "adapters"
"""Whatever a method adds to the model that has no part of its own."""
OF_ENCODER = {
    "encoder": "encoder",
    "added": ADDED,
    "norms": "layer norms",
    "pooler": "pooler",
    "head.dense": "head layers",
    "head.scorer": "classifier",
}
OF_T5 = {
    "model": "model",
    "norms": "layer norms",
    "embeddings": "task embeddings",
    "layer_embeddings": "layer and slot embeddings",
    "slot_embeddings": "layer and slot embeddings",
    "projector": "projector",
    "input_norm": "projector",
    "generators": "generators",
    "added": ADDED,
}
"""Beginning of a parameter's name -> the part that it counts as."""
STACK = re.compile(r"adapters\.((encoder|decoder)\.)?")
POSITIONS, TYPES, MOST_HEADS = 512, 2, 128


def count_modules(spec: RunSpec) -> dict[str, int]:
    """Trained parameters of one run, by part of the model.

    Inside an encoder: encoder (whole layers or all of it), adapters, layer norms, pooler, head
    layers (between pooler and classifier), classifier (the output layer). Inside T5: model (all of
    it), layer norms (T5's own), task embeddings, layer and slot embeddings, projector (with the
    norm after it), generators, adapters (those that are not generated, and norms that tasks share).
    Every part is there, 0 where nothing of it trains.
    """
    spec.check()
    written = spec.method.family == "t5"
    parts = OF_T5 if written else OF_ENCODER
    encoder = (_t5_of if written else shape_of)(spec.backbone)
    with torch.device("meta"):
        learner = spec.method.learner(spec, 1, encoder)
    found = Counter[str]()
    for name, parameter in learner.named_parameters():
        if parameter.requires_grad:
            plain = f"{STACK.sub('', name, 1) if written else name}."
            begins = (part for start, part in parts.items() if plain.startswith(f"{start}."))
            found[next(begins, ADDED)] += parameter.numel()
    return {part: found[part] for part in dict.fromkeys(parts.values())}


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


def _t5_of(backbone: Backbone) -> Encoder:
    """A T5 of the backbone's shape on the meta device.

    Heads and vocabulary are what the backbone's number of parameters leaves for them. Raises
    ReproError where that is not a T5 v1.0's.
    """
    from transformers import T5Config, T5ForConditionalGeneration

    hidden = backbone.hidden_size
    shape = hidden, backbone.layers, backbone.intermediate_size
    for heads in range(1, MOST_HEADS + 1):
        rest = backbone.parameters - t5_parameters(*shape, 0, heads)
        if hidden % heads == 0 and rest > 0 and rest % hidden == 0:
            break
    else:
        raise ReproError(
            f"{backbone.parameters:,} parameters are not those of a T5 v1.0 with "
            f"{backbone.layers} layers of width {hidden}, so nothing can be counted in it."
        )
    config = T5Config(
        vocab_size=rest // hidden,
        d_model=hidden,
        d_kv=hidden // heads,
        d_ff=backbone.intermediate_size,
        num_layers=backbone.layers,
        num_heads=heads,
    )
    with torch.device("meta"):
        model = T5ForConditionalGeneration(config).requires_grad_(False)
    return Encoder(model, None)
