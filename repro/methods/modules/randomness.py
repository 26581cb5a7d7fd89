"""Every run draws its initialisation, data order and dropout from generators of its own.

A stream is named by its purpose and the run's seed, so a run draws the same numbers alone and in
any group, and runs that differ only in method see the same data order (paired comparisons).
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor


def stream_seed(*names: object) -> int:
    """A 63-bit seed from the names of a stream, equal on every machine."""
    digest = hashlib.sha256("/".join(str(name) for name in names).encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def generator(device: torch.device | str, *names: object) -> torch.Generator:
    """A generator on `device` for the stream with these names."""
    return torch.Generator(device).manual_seed(stream_seed(*names))


WORDS = 2**16
Shapes = Sequence[Sequence[int]]
"""The shape of each run's part of a tensor."""


class Dropout:
    """Dropout for tensors that hold the elements of `len(generators)` runs.

    One generator a run: a mask does not depend on the other runs of the group.
    """

    def __init__(self, generators: list[torch.Generator]) -> None:
        self.generators = generators
        self.active = True

    def __call__(self, x: Tensor, rate: float) -> Tensor:
        """Zeroes elements of `x` (runs * n, ...) with probability `rate`, scales up the rest.

        The first axis is run-major.
        """
        if not self.active or rate == 0.0:
            return x
        shapes = [part.shape for part in x.chunk(len(self.generators))]
        [keep] = self.keep([shapes], rate, x.device)
        return dropped(x, join(keep), rate)

    def keep(
        self, wanted: Sequence[Shapes], rate: float, device: torch.device
    ) -> list[list[Tensor]]:
        """What stays of each of several tensors, by run: bool in the shape `wanted[i][run]`.

        A run draws all of them at once; on a CPU that gives the numbers of one draw after another.
        """
        least = round(rate * WORDS) - WORDS // 2
        by_run = [
            _above(least, [shapes[run] for shapes in wanted], device, stream)
            for run, stream in enumerate(self.generators)
        ]
        return [list(masks) for masks in zip(*by_run, strict=True)]


def dropped(x: Tensor, keep: Tensor, rate: float) -> Tensor:
    """`x` where `keep`, scaled so that its mean stays; 0 elsewhere."""
    found: Tensor = _Dropped.apply(x, keep, 1.0 / (1.0 - rate))  # type: ignore[no-untyped-call]
    return found


def dropped_onto(x: Tensor, keep: Tensor, rate: float, base: Tensor) -> Tensor:
    """`base` + dropped(x, keep, rate)."""
    scale = 1.0 / (1.0 - rate)
    found: Tensor = _DroppedOnto.apply(x, keep, scale, base)  # type: ignore[no-untyped-call]
    return found


def join(parts: Sequence[Tensor]) -> Tensor:
    """One after another along the first axis; a single one is not copied."""
    return parts[0] if len(parts) == 1 else torch.cat(list(parts))


def _above(
    least: int, shapes: Shapes, device: torch.device, stream: torch.Generator
) -> list[Tensor]:
    """Which of as many uniform 16-bit integers as each shape holds are at least `least`.

    One draw of 64 bits gives four: fifteen times faster on a CPU than `bernoulli_`, and the rate is
    met to 1 in 131,072.
    """
    draws = [(math.prod(shape) + 3) // 4 for shape in shapes]
    words = torch.empty(sum(draws), dtype=torch.int64, device=device)
    words.random_(-(2**63), None, generator=stream)
    above = torch.split(words.view(torch.int16) >= least, [4 * n for n in draws])
    return [
        mask[: math.prod(shape)].view(*shape) for mask, shape in zip(above, shapes, strict=True)
    ]


ZEROS = {
    kind: torch.zeros((), dtype=kind)
    for kind in (torch.float16, torch.bfloat16, torch.float32, torch.float64)
}
# One kernel each, forwards and backwards. A CPU multiplies by bytes twenty times faster than by
# truth values, and they are the same memory.


def scaled(x: Tensor, keep: Tensor, scale: float) -> Tensor:
    """x * keep * scale, without a gradient."""
    if x.device.type == "cpu":  # the other goes over x twice there
        return torch.addcmul(ZEROS[x.dtype], x, keep.view(torch.int8), value=scale)
    found: Tensor = torch.ops.aten.native_dropout_backward(x, keep, scale)
    return found


class _Dropped(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, keep: Tensor, scale: float) -> Tensor:
        ctx.save_for_backward(keep)
        ctx.scale = scale
        return scaled(x, keep, scale)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        return scaled(gradients[0], ctx.saved_tensors[0], ctx.scale), None, None


class _DroppedOnto(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, keep: Tensor, scale: float, base: Tensor) -> Tensor:
        ctx.save_for_backward(keep)
        ctx.scale = scale
        return torch.addcmul(base, x, keep.view(torch.int8), value=scale)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, None, None, Tensor]:
        [gradient] = gradients
        found = None
        if ctx.needs_input_grad[0]:
            found = scaled(gradient, ctx.saved_tensors[0], ctx.scale)
        return found, None, None, gradient
