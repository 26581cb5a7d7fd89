"""How the cells of ResAdapters are joined: the chain, Figure 1 (ResNet) and Figure 2 (ResNeXt).

T_1 .. T_L are the frozen layers' outputs, C_1 .. C_L the cells, s = 3 layers a stage. Whatever can
be added can flow through them: tensors, or the names that a figure is drawn from.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from torch import Tensor

    Apply = Callable[[Tensor], Tensor]


def plain(cells: Sequence[Apply], states: Sequence[Tensor], stage: int) -> Tensor:
    """h_k = C_k(T_k + h_{k-1}), h_0 = 0; the output is h_L (section 3.1: a cell takes both)."""
    out = cells[0](states[0])
    for cell, state in zip(cells[1:], states[1:], strict=True):
        out = cell(state + out)
    return out


def resnet(cells: Sequence[Apply], states: Sequence[Tensor], stage: int) -> Tensor:
    """The chain, with a residual path from the first layer of a stage to its end.

    For a stage i .. i+s-1 that receives p (0 for the first):
    out = C_{i+s-1}(... C_i(T_i + p) ... + T_{i+s-1}) + T_i, handed to the next stage as p.
    """
    out: Tensor | None = None
    for first in range(0, len(cells), stage):
        out = sector(cells, states, first, stage, out)
    assert out is not None
    return out


def resnext(cells: Sequence[Apply], states: Sequence[Tensor], stage: int) -> Tensor:
    """The stages side by side, each on its own layers only: out = S_1 + ... + S_{L/s} + T_1."""
    total = states[0]
    for first in range(0, len(cells), stage):
        total = total + sector(cells, states, first, stage, None)
    return total


def sector(
    cells: Sequence[Apply],
    states: Sequence[Tensor],
    first: int,
    stage: int,
    received: Tensor | None,
) -> Tensor:
    """One stage of `stage` cells with its residual path, from layer index `first`."""
    start = states[first]
    out = cells[first](start if received is None else start + received)
    for k in range(first + 1, first + stage):
        out = cells[k](out + states[k])
    return out + start


WIRINGS = {"plain": plain, "resnet": resnet, "resnext": resnext}
