"""HyperFormer and HyperFormer++ (Karimi Mahabadi et al. 2021, sections 2.2 and 2.3): adapters whose
tensors are linear maps of an embedding of the task.

    I_tau = MLP(z_tau)                                  HyperFormer: own generators in every slot
    I = LN(MLP([z_tau; layer; slot]))                   HyperFormer++: one set a stack
    I = LN(MLP([z_tau; layer]))                         released configuration: one a kind of slot

    D = W_D I + w_D, b_D, U, b_U, gain, shift likewise;  MLP: linear, ReLU, linear

The embeddings z_tau are one table for encoder and decoder; HyperFormer's MLP is one for both, too.
In the others each stack has everything else of its own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from repro.methods.t5 import HyperFormer
from repro.methods.t5.adapters import (
    INIT_STD,
    PLACES,
    Adapters,
    SlotNorms,
    draw,
    shapes_of,
)

BOTTLENECK = ("down", "down_bias", "up", "up_bias")
NORM = ("gain", "shift")
INPUT_NORM_EPS = 1e-6
"""Of the norm of I: rabeehk/hyperformer, adapters/adapter_modeling.py."""


class Maps(nn.Module):
    """`copies` linear maps side by side: weight (copies, in, out), bias (copies, out)."""

    def __init__(self, copies: int, width_in: int, width_out: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(copies, width_in, width_out))
        self.bias = nn.Parameter(torch.zeros(copies, width_out))

    def forward(self, x: Tensor) -> Tensor:
        """(copies, items, in) -> (copies, items, out)."""
        return torch.baddbmm(self.bias.unsqueeze(1), x, self.weight)

    def initialise(self, stream: torch.Generator) -> None:
        """Weight N(0, INIT_STD^2), bias 0."""
        draw(self.weight, INIT_STD, stream)
        nn.init.zeros_(self.bias)


class Projector(nn.Module):
    """The MLP from joined embeddings to I."""

    def __init__(self, width_in: int, hidden: int, width_out: int) -> None:
        super().__init__()
        self.first = Maps(1, width_in, hidden)
        self.second = Maps(1, hidden, width_out)

    def forward(self, x: Tensor) -> Tensor:
        """(items, in) -> (items, out)."""
        found: Tensor = self.second(F.relu(self.first(x.unsqueeze(0))))
        return found.squeeze(0)


class Generators(nn.Module):
    """`copies` sets of generators, one linear map a tensor of an adapter."""

    def __init__(self, spec: HyperFormer, copies: int, hidden: int) -> None:
        super().__init__()
        names = BOTTLENECK * spec.blocks + NORM * (spec.norm == "generated")
        shapes = shapes_of(hidden, hidden // spec.reduction)
        self.shapes = {name: shapes[name] for name in names}
        self.maps = nn.ModuleDict(
            {name: Maps(copies, spec.projected, math.prod(shapes[name])) for name in names}
        )

    def forward(self, embedded: Tensor) -> dict[str, Tensor]:
        """I (copies, items, t) -> tensors (items x copies, ...), each item's copies together."""
        return {
            name: self.maps[name](embedded).transpose(0, 1).reshape(-1, *shape)
            for name, shape in self.shapes.items()
        }


class Controller(nn.Module):
    """What generates the adapters of one stack."""

    def __init__(self, spec: HyperFormer, layers: int, hidden: int) -> None:
        super().__init__()
        self.kind, self.layers = spec.generators, layers
        width, slots = spec.task_embedding, layers * len(PLACES)
        if self.kind != "slot":
            assert spec.projector is not None
            self.layer_embeddings = nn.Parameter(torch.zeros(layers, width))
            parts = 2
            if self.kind == "stack":
                self.slot_embeddings = nn.Parameter(torch.zeros(len(PLACES), width))
                parts = 3
            self.projector = Projector(parts * width, spec.projector, spec.projected)
            self.input_norm = nn.LayerNorm(spec.projected, eps=INPUT_NORM_EPS)
        copies = {"slot": slots, "stack": 1, "kind": len(PLACES)}[self.kind]
        self.copies = copies
        self.generators = Generators(spec, copies, hidden)
        self.norm = SlotNorms(slots, hidden) if spec.norm == "shared" else None

    def forward(self, embedding: Tensor) -> Adapters:
        """z_tau (of HyperFormer: I_tau) -> the adapters of the stack."""
        made = self.generators(self.embedded(embedding))
        if self.norm is not None:
            made |= {"gain": self.norm.gain, "shift": self.norm.shift}
        return Adapters(*(made.get(name) for name in Adapters._fields))

    def embedded(self, embedding: Tensor) -> Tensor:
        """I for every set of generators: (copies, items, t); items are what one set makes."""
        if self.kind == "slot":
            return embedding.expand(self.copies, 1, -1)
        of_layers: Tensor = self.layer_embeddings
        if self.kind == "stack":  # rows: layer by layer, the slots of each
            of_layers = of_layers.repeat_interleave(len(PLACES), 0)
            of_layers = torch.cat([of_layers, self.slot_embeddings.repeat(self.layers, 1)], 1)
        joined = torch.cat([embedding.expand(len(of_layers), -1), of_layers], 1)
        found: Tensor = self.input_norm(self.projector(joined))
        return found.expand(self.copies, -1, -1)

    def initialise(self, stream: torch.Generator) -> None:
        """Layer and slot embeddings N(0, 1), every linear map by its own law."""
        if self.kind != "slot":
            draw(self.layer_embeddings, 1.0, stream)
        if self.kind == "stack":
            draw(self.slot_embeddings, 1.0, stream)
        _initialise_maps(self, stream)


class GeneratedAdapters(nn.Module):
    """Adapters of `tasks` in a T5 with `layers` layers a stack, generated when asked for."""

    def __init__(self, spec: HyperFormer, tasks: Sequence[str], layers: int, hidden: int) -> None:
        super().__init__()
        self.tasks, width = tuple(tasks), spec.task_embedding
        self.embeddings = nn.ParameterDict(
            {task: nn.Parameter(torch.zeros(width)) for task in tasks}
        )
        self.projector: Projector | None = None
        if spec.generators == "slot" and spec.projector is not None:
            self.projector = Projector(width, spec.projector, spec.projected)
        self.encoder = Controller(spec, layers, hidden)
        self.decoder = Controller(spec, layers, hidden)

    def forward(self, task: str) -> dict[str, Adapters]:
        """Stack -> the adapters of `task`, in fp32 whatever the precision of the run."""
        embedding = self.embeddings[task]
        with torch.autocast(embedding.device.type, enabled=False):
            embedding = embedding.unsqueeze(0)
            if self.projector is not None:
                embedding = self.projector(embedding)
            return {"encoder": self.encoder(embedding), "decoder": self.decoder(embedding)}

    def initialise(self, stream: torch.Generator) -> None:
        """z_tau N(0, 1), then HyperFormer's MLP, the encoder's part, the decoder's."""
        for task in self.tasks:
            draw(self.embeddings[task], 1.0, stream)
        if self.projector is not None:
            _initialise_maps(self.projector, stream)
        self.encoder.initialise(stream)
        self.decoder.initialise(stream)


def _initialise_maps(module: nn.Module, stream: torch.Generator) -> None:
    for part in module.modules():
        if isinstance(part, Maps):
            part.initialise(stream)
