"""Adapters of T5, their plain modules (Karimi Mahabadi et al. 2021, section 2.2), and where T5 has
them.

    A(x) = LN(U g(D x + b_D) + b_U) + x,   D (d, h), U (h, d), g = GELU in its tanh form

An adapter stands after self-attention and after feed-forward of every layer, in the encoder and in
the decoder. The slots of a stack are numbered layer by layer, self-attention first; tensors of all
its slots stand in one, along a leading axis.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from repro.methods.t5 import T5Adapters

INIT_STD = 0.01
"""Standard deviation of the initial maps: rabeehk/hyperformer, adapters/adapter_utils.py."""
PLACES = ("attention", "feed_forward")
"""The slots of a layer, in order."""
STACKS = ("encoder", "decoder")


class Adapters(NamedTuple):
    """The tensors of a stack's adapters, (slots, ...) each, or of one, without that axis.

    What an ablation leaves out is None: the four of the bottleneck, or the two of the norm.
    """

    down: Tensor | None  # (slots, d, h)
    down_bias: Tensor | None  # (slots, d)
    up: Tensor | None  # (slots, h, d)
    up_bias: Tensor | None  # (slots, h)
    gain: Tensor | None  # (slots, h)
    shift: Tensor | None  # (slots, h)

    def each(self) -> list[Adapters]:
        """One for each slot: views, whose gradients are joined once."""
        parts = [None if tensor is None else tensor.unbind() for tensor in self]
        count = next(len(part) for part in parts if part is not None)
        return [
            Adapters(*[None if part is None else part[slot] for part in parts])
            for slot in range(count)
        ]


def shapes_of(hidden: int, bottleneck: int) -> dict[str, tuple[int, ...]]:
    """Tensor of one adapter -> its shape."""
    return {
        "down": (bottleneck, hidden),
        "down_bias": (bottleneck,),
        "up": (hidden, bottleneck),
        "up_bias": (hidden,),
        "gain": (hidden,),
        "shift": (hidden,),
    }


def adapt(x: Tensor, adapter: Adapters) -> Tensor:
    """A(x) of x (batch, tokens, h), in the same shape, with the tensors of one adapter."""
    y = x
    if adapter.down is not None and adapter.up is not None:
        middle = F.gelu(F.linear(y, adapter.down, adapter.down_bias), approximate="tanh")
        y = F.linear(middle, adapter.up, adapter.up_bias)
    if adapter.gain is not None:
        y = F.layer_norm(y, x.shape[-1:], adapter.gain, adapter.shift)
    return y + x


class Bottlenecks(nn.Module):
    """D, b_D, U, b_U of every slot of a stack, of one task."""

    def __init__(self, slots: int, hidden: int, bottleneck: int) -> None:
        super().__init__()
        self.down = nn.Parameter(torch.zeros(slots, bottleneck, hidden))
        self.down_bias = nn.Parameter(torch.zeros(slots, bottleneck))
        self.up = nn.Parameter(torch.zeros(slots, hidden, bottleneck))
        self.up_bias = nn.Parameter(torch.zeros(slots, hidden))

    def initialise(self, stream: torch.Generator) -> None:
        """D and U N(0, INIT_STD^2), biases 0."""
        for matrix in (self.down, self.up):
            draw(matrix, INIT_STD, stream)
        for vector in (self.down_bias, self.up_bias):
            nn.init.zeros_(vector)


class SlotNorms(nn.Module):
    """The layer norm of every slot of a stack, one for all tasks; gain 1 and shift 0 at first."""

    def __init__(self, slots: int, hidden: int) -> None:
        super().__init__()
        self.gain = nn.Parameter(torch.ones(slots, hidden))
        self.shift = nn.Parameter(torch.zeros(slots, hidden))


class StackAdapters(nn.Module):
    """The plain adapters of one stack: bottlenecks of each task, norms that tasks share."""

    def __init__(self, tasks: Sequence[str], slots: int, hidden: int, bottleneck: int) -> None:
        super().__init__()
        self.tasks = nn.ModuleDict({task: Bottlenecks(slots, hidden, bottleneck) for task in tasks})
        self.norm = SlotNorms(slots, hidden)

    def forward(self, task: str) -> Adapters:
        """The adapters of `task`."""
        own = self.tasks[task]
        assert isinstance(own, Bottlenecks)
        norm = self.norm
        return Adapters(own.down, own.down_bias, own.up, own.up_bias, norm.gain, norm.shift)


class PlainAdapters(nn.Module):
    """Adapters of `tasks` in a T5 with `layers` layers a stack."""

    def __init__(self, spec: T5Adapters, tasks: Sequence[str], layers: int, hidden: int) -> None:
        super().__init__()
        slots, bottleneck = layers * len(PLACES), hidden // spec.reduction
        self.encoder = StackAdapters(tasks, slots, hidden, bottleneck)
        self.decoder = StackAdapters(tasks, slots, hidden, bottleneck)

    def forward(self, task: str) -> dict[str, Adapters]:
        """Stack -> the adapters of `task`."""
        return {"encoder": self.encoder(task), "decoder": self.decoder(task)}

    def initialise(self, stream: torch.Generator) -> None:
        """Draws every bottleneck, encoder first, in the order of tasks."""
        for module in self.modules():
            if isinstance(module, Bottlenecks):
                module.initialise(stream)


def draw(tensor: Tensor, std: float, stream: torch.Generator) -> None:
    """Fills `tensor` with N(0, std^2) from a CPU stream."""
    with torch.no_grad():
        tensor.copy_(torch.empty(tensor.shape).normal_(0.0, std, generator=stream))


# -- names of the library's modules -------------------------------------------------------------

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
