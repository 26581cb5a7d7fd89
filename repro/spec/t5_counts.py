"""Closed-form counts of what is trained inside T5 (methods/t5); a test compares each with modules.

h: hidden size; d = h / r: bottleneck; L: layers a stack; t: width of I_tau. An adapter stands in
two slots of every layer of both stacks.
"""

from __future__ import annotations

from repro.spec.t5 import HyperFormer, T5Adapters, T5FineTuning, T5Method
from repro.spec.types import Backbone


def t5_norms(backbone: Backbone) -> int:
    """T5's own layer norms: 16,384 in T5-small, 47,616 in T5-base.

    Two a layer of the encoder, three of the decoder, one after each stack; gains only.
    """
    return backbone.hidden_size * (5 * backbone.layers + 2)


def bottleneck_parameters(hidden: int, bottleneck: int) -> int:
    """D, b_D, U, b_U of one adapter."""
    return 2 * hidden * bottleneck + bottleneck + hidden


def written_parameters(method: T5Method, backbone: Backbone, tasks: int) -> int:
    """What a method inside T5 trains: all of it, or what it adds and T5's own layer norms."""
    if isinstance(method, T5FineTuning):
        return backbone.parameters
    norms = isinstance(method, T5Adapters) or method.t5_norms
    return added_parameters(method, backbone, tasks) + t5_norms(backbone) * norms


def added_parameters(method: T5Method, backbone: Backbone, tasks: int) -> int:
    """What a method adds to T5: adapters, or all that generates them, of `tasks` tasks."""
    if isinstance(method, T5FineTuning):
        return 0
    hidden, slots = backbone.hidden_size, 4 * backbone.layers
    bottleneck = bottleneck_parameters(hidden, hidden // method.reduction)
    if isinstance(method, T5Adapters):  # the tasks share the norm of a slot
        return slots * (tasks * bottleneck + 2 * hidden)
    outputs = bottleneck * method.blocks + 2 * hidden * (method.norm == "generated")
    sets = {"slot": slots, "stack": 2, "kind": 4}[method.generators]
    count = sets * (method.projected + 1) * outputs
    count += tasks * method.task_embedding + _projecting(method, backbone.layers)
    return count + slots * 2 * hidden * (method.norm == "shared")


def _projecting(method: HyperFormer, layers: int) -> int:
    """From embeddings to I: the MLP, and the layer and slot embeddings that go into it."""
    width, hidden, t = method.task_embedding, method.projector, method.projected
    if hidden is None:
        return 0
    if method.generators == "slot":
        return _mlp(width, hidden, t)
    slots = 2 * (method.generators == "stack")
    joined = 3 if slots else 2
    return 2 * ((layers + slots) * width + _mlp(joined * width, hidden, t) + 2 * t)


def _mlp(width: int, hidden: int, outputs: int) -> int:
    return (width + 1) * hidden + (hidden + 1) * outputs
