"""What the training loop trains: the modules of `runs` runs of one method, stacked.

Every parameter carries leading axes (runs, stacks): a stack is a part with an optimizer and a
gradient clip of its own (ResAdapters trains one stack for start scores and one for end scores).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from repro.methods.modules.layout import Layout
from repro.methods.modules.randomness import Dropout

if TYPE_CHECKING:
    from repro.spec import RunSpec

WITHIN = math.erf(2**0.5)
"""The share of a normal law within two deviations."""


@dataclass(frozen=True, slots=True)
class Inputs:
    """One batch of examples as a learner sees it.

    `states[i]` is the frozen output of layer i + 1, packed as `layout` says: (tokens, hidden).
    It is empty for learners that run an encoder of their own. `written`, `longest` and `task` are
    for tasks of text to text: what is to be written, how many tokens the task's longest answer has
    (end of text included), and which task of a mixture all rows are of.
    """

    input_ids: Tensor  # (batch, length)
    attention_mask: Tensor  # (batch, length)
    type_ids: Tensor  # (batch, length)
    layout: Layout
    states: list[Tensor]
    written: Tensor | None = None  # (batch, target length), UNWRITTEN on padding
    longest: int = 0
    task: int = 0


@dataclass(frozen=True, slots=True)
class Learned:
    """A rational activation as trained: `low` and `high` are the inputs that it met."""

    form: str
    numerator: list[float]
    denominator: list[float]
    low: float
    high: float


class Trainable(nn.Module):
    """What training asks of a learner, and of what a method adds to an encoder."""

    idles = False
    """In some steps a part of its parameters takes no part."""
    rates: Mapping[str, str] = {}
    """Last part of a parameter's name -> the recipe's field that holds its learning rate."""
    unrestored: tuple[str, ...] = ()
    """Last parts of the names of parameters that stay the last epoch's, whichever epoch is kept."""

    def initialise(self, streams: list[torch.Generator]) -> None:
        """Draws the initial parameters of run r from `streams[r]` (CPU generators)."""
        raise NotImplementedError(f"{type(self).__name__} does not say how it is initialised")

    def prepare(self, step: int, seeds: Sequence[int]) -> None:
        """Draws what holds for a whole step (from 1) of training; `seeds` are the runs' own."""

    def selected(self, run: int) -> list[int] | None:
        """The layers (from 0) whose adapter run `run` uses, where a method chooses."""
        return None

    def activations(self, run: int) -> dict[int, Learned]:
        """Layer -> the activation that run `run` learned, where a method learns some, and the
        inputs that it met since `forget_inputs`.
        """
        return {}

    def forget_inputs(self) -> None:
        """From here on the inputs of learned activations are remembered anew."""


class Learner(Trainable):
    """Base of all methods. Subclasses set the class attributes and write `forward`."""

    reads_states = True
    """Reads the frozen encoder's states, shared with the other learners of the group."""
    keeps_padding = False
    """Works on padded positions too, as the released code does."""
    batch_statistics = False
    """Its numbers depend on the whole batch, so a batch is never split into micro-batches."""
    stacked = True
    """Its parameters and buffers carry the axes (runs, stacks, ...)."""
    replayable = False
    """`begin`, `read` and `outputs` part a pass into what differs between batches of one shape and
    operations that do not, as `repro.methods.inside.learner.Inside` has them.
    """
    runs: int
    stacks: int

    def forward(self, inputs: Inputs, dropout: Dropout) -> Tensor:
        """What the loss and the task's scores read, in fp32 or in the precision of the run.

        Start and end scores (runs, 2, batch, length), -inf on dropped padding; of a classifier
        (runs, batch, outputs); of a model that writes (1, batch, target length, vocabulary), each
        token given those of `inputs.written` before it.
        """
        raise TypeError(f"{type(self).__name__} does not say how it scores")

    def answer(self, inputs: Inputs, dropout: Dropout) -> Tensor:
        """What the task's scores read, where that is not what the loss reads: see `forward`.

        Of a model that writes: the tokens of its answers, (1, batch, inputs.longest), int64.
        """
        found: Tensor = self(inputs, dropout)
        return found

    def start_from(self, spec: RunSpec, tensors: Mapping[str, Tensor]) -> None:
        """Takes what a run that was trained before leaves to this one: its spec, its artefact."""
        raise TypeError(f"{type(self).__name__} starts from no other run")

    def embeddings(self) -> dict[str, list[float]]:
        """Task -> its learned embedding, where a method learns some."""
        return {}

    def initialise(self, streams: list[torch.Generator]) -> None:
        """Every linear map in the order of the modules, with torch's default; norms start at 1 and
        0.
        """
        for module in self.modules():
            if isinstance(module, Linear):
                module.initialise(streams)


class Linear(nn.Module):
    """A linear map with leading run and stack axes: weight (runs, stacks, in, out)."""

    def __init__(self, runs: int, stacks: int, width_in: int, width_out: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(runs, stacks, width_in, width_out))
        self.bias = nn.Parameter(torch.empty(runs, stacks, width_out))

    def forward(self, x: Tensor) -> Tensor:
        """(1 or copies, tokens, in) -> (copies, tokens, out), copies = runs * stacks."""
        return mapped(x, [self])

    def initialise(self, streams: list[torch.Generator]) -> None:
        """torch's default for a Linear, for each run from its own stream.

        Kaiming-uniform with a = sqrt(5) is the uniform law on +-1/sqrt(in), for the bias too.
        """
        bound = self.weight.shape[-2] ** -0.5
        with torch.no_grad():
            for run, stream in enumerate(streams):
                for tensor in (self.weight[run], self.bias[run]):
                    drawn = torch.empty(tensor.shape).uniform_(-bound, bound, generator=stream)
                    tensor.copy_(drawn)


class LayerNorm(nn.Module):
    """Layer norm with leading run and stack axes: gain and bias (runs, stacks, width)."""

    def __init__(self, runs: int, stacks: int, width: int, eps: float) -> None:
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(runs, stacks, width))
        self.bias = nn.Parameter(torch.zeros(runs, stacks, width))

    def forward(self, x: Tensor) -> Tensor:
        """(copies, tokens, width) -> the same shape."""
        normed = F.layer_norm(x, x.shape[-1:], eps=self.eps)
        weight, bias = self.weight.flatten(0, 1), self.bias.flatten(0, 1)
        return torch.addcmul(bias[:, None], normed, weight[:, None])


def mapped(x: Tensor, maps: Sequence[Linear]) -> Tensor:
    """What each of the linear maps gives for x (1 or copies, tokens, in), side by side:
    (copies, tokens, all out).
    """
    weight = beside([one.weight.view(-1, *one.weight.shape[-2:]) for one in maps])
    bias = beside([one.bias.view(-1, one.bias.shape[-1]) for one in maps])
    return torch.baddbmm(bias.unsqueeze(1), x.expand(len(weight), -1, -1), weight)


def beside(parts: Sequence[Tensor]) -> Tensor:
    """The parts side by side along the last axis; a single one is not copied."""
    return parts[0] if len(parts) == 1 else torch.cat(list(parts), -1)


def span_logits(scores: Tensor, runs: int, layout: Layout) -> Tensor:
    """Packed scores (runs * 2, tokens, 1) -> (runs, 2, batch, length), -inf on dropped padding."""
    padded = layout.unpack(scores.float(), fill=float("-inf")).squeeze(-1)
    return padded.view(runs, 2, *padded.shape[1:])


def draw(
    linear: Linear, streams: list[torch.Generator], std: float, truncated: bool = False
) -> None:
    """Draws the weights of run r from `streams[r]`; biases 0.

    `std` is that of the normal law before it is truncated, as TensorFlow's initialiser has it.
    """
    shape = linear.weight.shape[-2:]
    with torch.no_grad():
        for weight, stream in zip(linear.weight.view(-1, *shape), streams, strict=True):
            drawn = torch.empty(shape, dtype=torch.float64)
            if truncated:  # by the inverse of the distribution function
                drawn.uniform_(-WITHIN, WITHIN, generator=stream)
                drawn = torch.erfinv(drawn) * (std * 2**0.5)
            else:
                drawn.normal_(0.0, std, generator=stream)
            weight.copy_(drawn)
        linear.bias.zero_()
