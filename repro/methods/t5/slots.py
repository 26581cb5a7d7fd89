"""Where T5 has the slots of an adapter and the norms that train: names of the library's modules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor, nn

from repro.methods.t5.adapters import STACKS, Adapters, adapt

Current = Callable[[str, int], Adapters | None]
"""The adapter of a stack's slot in the pass that runs; None outside of one."""


def insert(model: nn.Module, current: Current) -> None:
    """Puts an adapter after the self-attention and the feed-forward of every layer, before their
    dropout and the residual; nothing after cross-attention.
    """
    for stack in STACKS:
        for number, block in enumerate(model.get_submodule(f"{stack}.block").children()):
            layers = list(block.get_submodule("layer").children())
            attention = layers[0].get_submodule("SelfAttention")
            attention.register_forward_hook(_after_attention(current, stack, 2 * number))
            feed_forward = layers[-1].get_submodule("DenseReluDense")
            feed_forward.register_forward_hook(_after(current, stack, 2 * number + 1))


def _after(current: Current, stack: str, slot: int) -> Callable[..., Tensor]:
    def hook(_: nn.Module, __: object, output: Tensor) -> Tensor:
        adapter = current(stack, slot)
        return output if adapter is None else adapt(output, adapter)

    return hook


def _after_attention(current: Current, stack: str, slot: int) -> Callable[..., tuple[Any, ...]]:
    after = _after(current, stack, slot)

    def hook(module: nn.Module, given: object, output: tuple[Any, ...]) -> tuple[Any, ...]:
        return after(module, given, output[0]), *output[1:]

    return hook


SUBLAYERS = {
    "encoder": ("attention", "feed_forward"),
    "decoder": ("attention", "cross_attention", "feed_forward"),
}


def norms_of(model: nn.Module) -> dict[str, dict[str, nn.Module]]:
    """Stack -> name ("0-attention", ..., "final") -> T5's own layer norm, in order."""
    found: dict[str, dict[str, nn.Module]] = {}
    for stack in STACKS:
        norms = {}
        for number, block in enumerate(model.get_submodule(f"{stack}.block").children()):
            sublayers = block.get_submodule("layer").children()
            for name, sublayer in zip(SUBLAYERS[stack], sublayers, strict=True):
                norms[f"{number}-{name}"] = sublayer.get_submodule("layer_norm")
        norms["final"] = model.get_submodule(f"{stack}.final_layer_norm")
        found[stack] = norms
    return found


def set_dropout(model: nn.Module, rate: float) -> None:
    """Gives every dropout of the model this rate, that of attention weights, too."""
    model.config.dropout_rate = rate  # type: ignore[union-attr]
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = rate
        elif isinstance(getattr(module, "dropout", None), float):  # attention keeps a number
            module.dropout = rate  # type: ignore[assignment]
