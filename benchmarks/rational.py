"""The rational activation's own gradients, against those that torch derives from the formula."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from common import CYCLES, report, seconds
from torch import Tensor

from repro.methods.adaptable_adapters.rational import rational
from repro.training.environment import prepare_process, prepare_torch

SHAPES = [(1, 4096, 64), (5, 4096, 64)]
"""Runs, tokens and bottleneck."""
Activation = Callable[[Tensor, Tensor, Tensor, str], Tensor]


def formula(x: Tensor, numerator: Tensor, denominator: Tensor, form: str) -> Tensor:
    """R(x) as one writes it down; torch derives the gradients."""
    a0, a1, a2, a3, a4, a5 = numerator[:, :, None, None].unbind(1)
    b1, b2, b3, b4 = denominator[:, :, None, None].unbind(1)
    x2, x3, x4, x5 = x**2, x**3, x**4, x**5
    top = a0 + a1 * x + a2 * x2 + a3 * x3 + a4 * x4 + a5 * x5
    if form == "a":
        return top / (1 + (b1 * x).abs() + (b2 * x2).abs() + (b3 * x3).abs() + (b4 * x4).abs())
    return top / (1 + (b1 * x + b2 * x2 + b3 * x3 + b4 * x4).abs())


def forward_and_backward(activation: Activation, given: list[Tensor], form: str) -> None:
    """One pass each way."""
    x, numerator, denominator = given
    torch.autograd.grad(activation(x, numerator, denominator, form).sum(), given)


def kept_bytes(activation: Activation, given: list[Tensor], form: str) -> int:
    """What the forward pass keeps for the backward pass, every storage once."""
    kept: dict[int, int] = {}

    def keep(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        result = activation(given[0], given[1], given[2], form)
    assert result.requires_grad  # holds the graph, and so the storages, until here
    return sum(kept.values())


def compare(shape: tuple[int, int, int], form: str, device: torch.device) -> None:
    """Prints the ratios of time and of memory of one shape."""
    sizes = [shape, (shape[0], 6), (shape[0], 4)]
    given = [torch.randn(size, device=device, requires_grad=True) for size in sizes]
    naive, ours = [], []
    for _ in range(CYCLES):
        naive.append(seconds(partial(forward_and_backward, formula, given, form), device))
        ours.append(seconds(partial(forward_and_backward, rational, given, form), device))
    report(f"{shape}, form {form}, formula / ours, time", naive, ours)
    memory = kept_bytes(formula, given, form) / kept_bytes(rational, given, form)
    print(f"{shape}, form {form}, formula / ours, kept memory: {memory:.1f}x")


def main() -> None:
    """Compares every shape and form."""
    prepare_process(deterministic=False)
    device = prepare_torch("auto", threads=None, deterministic=False, tf32=False)
    for shape in SHAPES:
        for form in ("a", "b"):
            compare(shape, form, device)


if __name__ == "__main__":
    main()
