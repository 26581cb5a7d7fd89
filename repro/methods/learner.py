"""What the training loop trains: the modules of `runs` runs of one method, stacked.

Every parameter carries leading axes (runs, stacks): a stack is a part with an optimizer and a
gradient clip of its own (ResAdapters trains one stack for start scores and one for end scores).
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from repro.methods.layout import Layout
from repro.methods.randomness import Dropout


@dataclass(frozen=True, slots=True)
class Inputs:
    """One batch of windows as a learner sees it.

    `states[i]` is the frozen output of layer i + 1, packed as `layout` says: (tokens, hidden).
    It is empty for learners that run an encoder of their own.
    """

    input_ids: Tensor  # (batch, length)
    attention_mask: Tensor  # (batch, length)
    type_ids: Tensor  # (batch, length)
    layout: Layout
    states: list[Tensor]


class Learner(nn.Module):
    """Base of all methods. Subclasses set the class attributes and write `forward`."""

    reads_states = True
    """Reads the frozen encoder's states, shared with the other learners of the group."""
    keeps_padding = False
    """Works on padded positions too, as the released code does."""
    batch_statistics = False
    """Its numbers depend on the whole batch, so a batch is never split into micro-batches."""
    stacked = True
    """Its parameters and buffers carry the axes (runs, stacks, ...)."""
    runs: int
    stacks: int

    def forward(self, inputs: Inputs, dropout: Dropout) -> Tensor:
        """Start and end scores (runs, 2, batch, length); padding scores -inf where it is dropped."""
        raise TypeError(f"{type(self).__name__} does not say how it scores")

    def initialise(self, streams: list[torch.Generator]) -> None:
        """Draws the initial parameters of run r from `streams[r]` (CPU generators)."""
        raise TypeError(f"{type(self).__name__} does not say how it starts")


def stacked(*shape: int) -> nn.Parameter:
    """An uninitialised parameter (runs, stacks, ...)."""
    return nn.Parameter(torch.empty(*shape))


def linear(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """`x` (1 or copies, tokens, in) by `weight` (runs, stacks, in, out) plus bias.

    Returns (copies, tokens, out) with copies = runs * stacks.
    """
    weight, bias = weight.flatten(0, 1), bias.flatten(0, 1)
    if x.shape[0] != weight.shape[0]:
        x = x.expand(weight.shape[0], -1, -1)
    return torch.baddbmm(bias.unsqueeze(1), x, weight)


def uniform_linear(weight: Tensor, bias: Tensor, streams: list[torch.Generator]) -> None:
    """torch's default initialisation of a Linear, for each run from its own stream.

    Kaiming-uniform with a = sqrt(5) is the uniform law on +-1/sqrt(fan_in), for the bias too.
    """
    bound = weight.shape[-2] ** -0.5
    with torch.no_grad():
        for run, stream in enumerate(streams):
            for tensor in (weight[run], bias[run]):
                tensor.copy_(torch.empty(tensor.shape).uniform_(-bound, bound, generator=stream))


def span_logits(scores: Tensor, runs: int, layout: Layout) -> Tensor:
    """Packed scores (runs * 2, tokens, 1) -> (runs, 2, batch, length), -inf on dropped padding."""
    padded = layout.unpack(scores.float(), fill=float("-inf")).squeeze(-1)
    return padded.unflatten(0, (runs, 2))
