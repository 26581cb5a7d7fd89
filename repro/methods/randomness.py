"""Every run draws its initialisation, data order and dropout from generators of its own.

A stream is named by its purpose and the run's seed, so a run draws the same numbers alone and in
any group, and runs that differ only in method see the same data order (paired comparisons).
"""

from __future__ import annotations

import hashlib

import torch
from torch import Tensor


def stream_seed(*names: object) -> int:
    """A 63-bit seed from the names of a stream, equal on every machine."""
    digest = hashlib.sha256("/".join(str(name) for name in names).encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def generator(device: torch.device | str, *names: object) -> torch.Generator:
    """A generator on `device` for the stream with these names."""
    return torch.Generator(device).manual_seed(stream_seed(*names))


class Dropout:
    """Dropout for tensors whose first axis holds the copies of `len(generators)` runs, run-major.

    One generator a run: a mask does not depend on the other runs of the group.
    """

    def __init__(self, generators: list[torch.Generator]) -> None:
        self.generators = generators
        self.active = True

    def __call__(self, x: Tensor, rate: float) -> Tensor:
        """Zeroes elements of `x` (runs * n, ...) with probability `rate`, scales up the rest."""
        if not self.active or rate == 0.0:
            return x
        runs = len(self.generators)
        mask = torch.empty_like(x, memory_format=torch.contiguous_format)
        for part, stream in zip(mask.chunk(runs), self.generators, strict=True):
            part.bernoulli_(1.0 - rate, generator=stream)
        return x * mask.div_(1.0 - rate)
