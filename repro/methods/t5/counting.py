"""Counts what a run inside T5 trains from its modules, built without weights.

The independent check of the closed forms, and what the table of parameters recomputes.
"""

from __future__ import annotations

from collections import Counter

import torch

from repro.backbones.load import Encoder
from repro.errors import ReproError
from repro.methods.t5.learner import Writer
from repro.spec import Backbone, RunSpec
from repro.spec.backbones import t5_parameters

PARTS = {
    "model": "model",
    "norms": "layer norms",
    "embeddings": "task embeddings",
    "layer_embeddings": "layer and slot embeddings",
    "slot_embeddings": "layer and slot embeddings",
    "projector": "projector",
    "input_norm": "projector",
    "generators": "generators",
    "tasks": "adapters",
    "norm": "adapters",
}
"""A part of a parameter's name -> what it counts as."""
MOST_HEADS = 128


def count_modules(spec: RunSpec) -> dict[str, int]:
    """Trained parameters of one run of a method inside T5, by part.

    Parts: model (all of T5), layer norms (T5's own), task embeddings, layer and slot embeddings,
    projector (with the norm after it), generators, adapters (those that are not generated, and
    norms that tasks share). Every part is there, 0 where there is none.
    """
    spec.check()
    encoder = _shape_of(spec.backbone)
    with torch.device("meta"):
        learner = Writer(spec, encoder)
    found = Counter[str]()
    for name, parameter in learner.named_parameters():
        found[_part_of(name)] += parameter.numel()
    return {part: found[part] for part in dict.fromkeys(PARTS.values())}


def _part_of(name: str) -> str:
    """What a parameter counts as: the first word of its name that says so."""
    return next(PARTS[word] for word in name.split(".") if word in PARTS)


def _shape_of(backbone: Backbone) -> Encoder:
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
