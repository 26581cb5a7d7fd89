"""What is put into the modules of a learner's copy of the encoder. None of it knows the learner."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from repro.methods.inside.norms import TrainedNorm
from repro.methods.inside.packing import pick
from repro.methods.inside.passing import Pass
from repro.methods.inside.slots import Family


def seed_dropout(model: nn.Module, now: Pass) -> None:
    """Dropout from the runs' own generators; the library's would draw from the process's."""

    def drop(_: nn.Module, __: Any, output: Tensor) -> Tensor:
        return now.drop(output)

    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
            module.register_forward_hook(drop)


def narrow_after_attention(layer: nn.Module, family: Family, now: Pass) -> None:
    """From here on this layer goes on with the first token of each row: (1, rows, hidden)."""

    def narrow(_: nn.Module, given: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        now.narrowed = True
        return tuple(pick(x[0], now.packing.first).unsqueeze(0) for x in given)

    layer.get_submodule(family.narrow).register_forward_pre_hook(narrow)


def unfreeze_norms(model: nn.Module, below: str, runs: int, now: Pass) -> list[TrainedNorm]:
    """Puts norms of the runs' own in place of those below the path `below`, in module order."""
    made = []
    for name, norm in list(model.named_modules()):
        if isinstance(norm, nn.LayerNorm) and name.startswith(below):
            parent, _, child = name.rpartition(".")
            made.append(TrainedNorm(norm, runs, now))
            setattr(model.get_submodule(parent), child, made[-1])
    return made
