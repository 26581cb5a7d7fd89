"""The rational activation R = P / Q (Moosavi et al. 2022, section 3.1; Molina et al. 2020).

    P(x) = sum_{j=0..5} a_j x^j
    Q(x) = 1 + S,  S = sum_{k=1..4} |b_k x^k|      form "a", as the released code runs
    Q(x) = 1 + |S|,  S = sum_{k=1..4} b_k x^k      form "b", as printed

    dR/da_j = x^j / Q        dR/db_k = -R/Q dQ/db_k        dR/dx = (P' - R Q') / Q

The absolute value has no slope where b = 0, which is where training begins: with 0 in its place
no b_k would ever move. There dQ/db_k is |x|^k, the slope from b_k > 0, in both forms. Where the
absolute value has its kink in x (x = 0; in form "b" every x with S = 0), Q' is 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn


@dataclass(frozen=True, slots=True)
class Start:
    """What a rational begins as.

    `numerator` is a_0..a_5, `denominator` b_1..b_4, `error` the largest deviation on [-3, 3].
    """

    numerator: tuple[float, ...]
    denominator: tuple[float, ...]
    error: float


STARTS = {
    "one": Start((1.0, 0.0, 0.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 0.0), 0.0),
    "relu": Start(
        (0.033917, 0.5, 1.668913, 1.987103, 0.939145, 0.150446),
        (0.0, 3.974205, 0.0, 0.300891),
        0.034,
    ),
    "gelu": Start(
        (-0.001165, 0.5, 0.407537, 0.10579, 0.008286, 0.0), (0.0, 0.21158, 0.0, 0.0), 0.0024
    ),
    "tanh": Start(
        (0.0, 0.999994, 0.0, 0.107703, 0.0, 0.000871), (0.0, 0.441009, 0.0, 0.014579), 0.00001
    ),
}
"""Least squares on [-3, 3] with b_1 = b_3 = 0 and b_2, b_4 >= 0, where both forms are equal.

Odd terms of Q would gain little: ReLU's error falls to 0.030, the others' are small already.
"""


class Rational(nn.Module):
    """R of `runs` runs, ten parameters a run."""

    def __init__(self, runs: int, form: str, start: str) -> None:
        super().__init__()
        self.form = form
        begun = STARTS[start]
        self.numerator = nn.Parameter(torch.tensor(begun.numerator).repeat(runs, 1, 1))
        self.denominator = nn.Parameter(torch.tensor(begun.denominator).repeat(runs, 1, 1))

    def forward(self, x: Tensor) -> Tensor:
        """(runs, items, width) -> the same shape."""
        coefficients = self.numerator.flatten(0, 1), self.denominator.flatten(0, 1)
        return rational(x, *coefficients, self.form)


def rational(x: Tensor, numerator: Tensor, denominator: Tensor, form: str) -> Tensor:
    """R(x) of each run: x (runs, items, width), numerator (runs, 6), denominator (runs, 4).

    Computed in fp32, in float64 where x is; the result has x's dtype and shape. Finite up to
    |x| = 1e4.
    """
    found: Tensor = _Rational.apply(x, numerator, denominator, form)  # type: ignore[no-untyped-call]
    return found


class _Rational(torch.autograd.Function):
    """Keeps x and the coefficients alone; products and sums only, which autocast leaves in fp32."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, numerator: Tensor, denominator: Tensor, form: str) -> Tensor:
        ctx.save_for_backward(x, numerator, denominator)
        ctx.form = form
        wide = _wide(x)
        y, b = _inside(wide, denominator, form)
        s = _polynomial(b, y).mul_(y)
        top = _polynomial(_columns(numerator, wide), wide)
        return top.div_(s.abs_().add_(1)).to(x.dtype)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        x, numerator, denominator = ctx.saved_tensors
        wide, released = _wide(x), ctx.form == "a"
        a = _columns(numerator, wide)
        y, b = _inside(wide, denominator, ctx.form)
        s = _polynomial(b, y).mul_(y)
        bottom = s.abs().add_(1)
        share = _wide(gradients[0]) / bottom
        ratio = _polynomial(a, wide).div_(bottom)  # R
        to_q = -(ratio * share)
        slope = _polynomial(_derived(b, 1), y).mul_((wide if released else s).sign())  # Q'
        to_x = _polynomial(_derived(a, 0), wide).sub_(slope.mul_(ratio)).mul_(share)
        if not released:  # S turns its sign from item to item
            y = torch.where(s == 0, wide.abs(), wide)
            to_q.mul_(_sign(s))
        to_b = _moments(to_q.mul_(y), y, denominator.shape[1])
        if released:
            to_b.mul_(_sign(denominator))
        to_a = _moments(share, wide, numerator.shape[1])
        return to_x.to(x.dtype), to_a.to(numerator.dtype), to_b.to(denominator.dtype), None


def _wide(x: Tensor) -> Tensor:
    """x in fp32, in float64 where it is that."""
    return x.to(torch.promote_types(x.dtype, torch.float32))


def _columns(coefficients: Tensor, wide: Tensor) -> list[Tensor]:
    """(runs, n) -> n of (runs, 1, 1), in the dtype of `wide`."""
    return list(coefficients.to(wide.dtype)[:, :, None, None].unbind(1))


def _inside(wide: Tensor, denominator: Tensor, form: str) -> tuple[Tensor, list[Tensor]]:
    """S as a polynomial: its variable, and its coefficients from the first power on."""
    b = _columns(denominator, wide)
    return (wide.abs(), [k.abs() for k in b]) if form == "a" else (wide, b)


def _polynomial(coefficients: list[Tensor], x: Tensor) -> Tensor:
    """sum_j c_j x^j by Horner's rule, a new tensor."""
    *others, second, first = coefficients
    value = torch.addcmul(second, first, x)
    for coefficient in reversed(others):
        value.mul_(x).add_(coefficient)
    return value


def _derived(coefficients: list[Tensor], power: int) -> list[Tensor]:
    """The derivative's coefficients, from x^0 on, of a sum that begins at `power`, 0 or 1."""
    return [j * coefficient for j, coefficient in enumerate(coefficients, power) if j > 0]


def _sign(x: Tensor) -> Tensor:
    """-1 below 0, else 1."""
    return torch.where(x < 0, -1.0, 1.0)


def _moments(weights: Tensor, x: Tensor, count: int) -> Tensor:
    """Sums of weights * x^j over items and width, j = 0..count-1: (runs, count).

    `weights` is overwritten. torch adds pairs of blocks, so fp32 loses a few units at most.
    """
    sums = [weights.sum((1, 2))]
    for _ in range(count - 1):
        sums.append(weights.mul_(x).sum((1, 2)))
    return torch.stack(sums, 1)
