"""The rational activation against differences, sums by hand and a second implementation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from scipy.optimize import least_squares
from scipy.special import erf
from torch import Tensor

from repro.methods.adaptable_adapters import evaluate
from repro.methods.adaptable_adapters.rational import STARTS, Rational, rational

FORMS = ["a", "b"]
POINTS = np.linspace(-3.0, 3.0, 1201)
FITTED: dict[str, Callable[[NDArray[Any]], NDArray[Any]]] = {
    "relu": lambda x: np.maximum(x, 0.0),
    "gelu": lambda x: x * (1.0 + erf(x / 2**0.5)) / 2.0,
    "tanh": np.tanh,
}
WIDE = torch.float64


def drawn(runs: int, items: int = 6, dtype: torch.dtype = WIDE) -> tuple[Tensor, Tensor, Tensor]:
    """x (runs, items, 5) and coefficients of both signs, none of them 0."""
    torch.manual_seed(7)
    shapes = [(runs, items, 5), (runs, 6), (runs, 4)]
    tensors = [torch.randn(shape, dtype=dtype) for shape in shapes]
    x, a, b = (t.requires_grad_() for t in tensors)
    return x, a, b


def differences(a: list[float], b: list[float], form: str, x: NDArray[Any]) -> NDArray[Any]:
    """dR/db_k from b_k > 0 at every x: (4, points)."""
    small = 1e-7
    here = evaluate(a, b, form, x)
    moved = [[b_k + small * (k == i) for i, b_k in enumerate(b)] for k in range(4)]
    return np.stack([(evaluate(a, there, form, x) - here) / small for there in moved])


def slopes(a: list[float], b: list[float], form: str, x: NDArray[Any]) -> NDArray[Any]:
    """dR/db_k at every x as ours has it: (4, points), one point a run."""
    given = torch.tensor(b, dtype=WIDE).repeat(len(x), 1).requires_grad_()
    numerator = torch.tensor(a, dtype=WIDE).repeat(len(x), 1)
    rational(torch.tensor(x)[:, None, None], numerator, given, form).sum().backward()  # type: ignore[no-untyped-call]
    assert given.grad is not None
    return given.grad.T.numpy()


# -- values and gradients ----------------------------------------------------------------------


def test_values_by_hand() -> None:
    a, b, x = [1.0, 2.0, 0.0, 0.0, 0.0, 0.0], [1.0, -1.0, 0.0, 0.0], np.array([2.0])
    assert evaluate(a, b, "a", x).tolist() == [5 / (1 + 2 + 4)]
    assert evaluate(a, b, "b", x).tolist() == [5 / (1 + 2)]


@pytest.mark.parametrize("form", FORMS)
def test_values_are_those_of_the_second_implementation(form: str) -> None:
    x, a, b = drawn(3)
    found = rational(x, a, b, form).detach()
    for run in range(3):
        expected = evaluate(a[run].tolist(), b[run].tolist(), form, x[run].detach().numpy())
        np.testing.assert_allclose(found[run].numpy(), expected, rtol=1e-12)


@pytest.mark.parametrize("form", FORMS)
def test_gradients_are_central_differences(form: str) -> None:
    assert torch.autograd.gradcheck(lambda x, a, b: rational(x, a, b, form), drawn(2))


@pytest.mark.parametrize("b", [[0.0, 0.0, 0.0, 0.0], [0.5, 0.0, -0.2, 0.0]])
@pytest.mark.parametrize("a", [[1.0, 0.0, 0.0, 0.0, 0.0, 0.0], [0.3, -1.0, 0.5, 0.2, -0.1, 0.04]])
@pytest.mark.parametrize("form", FORMS)
def test_where_b_is_0_the_slope_is_the_difference_from_above(
    form: str, a: list[float], b: list[float]
) -> None:
    x = np.array([-2.5, -1.0, -0.3, 0.0, 0.4, 1.0, 2.2])
    expected = differences(a, b, form, x)
    np.testing.assert_allclose(slopes(a, b, form, x), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("form", FORMS)
def test_the_first_slopes_of_the_denominator_by_hand(form: str) -> None:
    x = np.array([-2.0, 0.5, 3.0])
    start = STARTS["one"]
    found = slopes(list(start.numerator), list(start.denominator), form, x)
    assert found.T.tolist() == [
        [-2.0, -4.0, -8.0, -16.0],  # -P / Q^2 |x|^k with P = Q = 1
        [-0.5, -0.25, -0.125, -0.0625],
        [-3.0, -9.0, -27.0, -81.0],
    ]


@pytest.mark.parametrize("form", FORMS)
def test_the_kink_at_0_leaves_the_numerators_slope(form: str) -> None:
    _, a, b = drawn(1)
    x = torch.zeros(1, 1, 1, dtype=WIDE, requires_grad=True)
    (slope,) = torch.autograd.grad(rational(x, a, b, form).sum(), x)
    assert slope.item() == a[0, 1].item()


@pytest.mark.parametrize("form", FORMS)
def test_runs_together_are_each_alone(form: str) -> None:
    x, a, b = drawn(2)
    together = torch.autograd.grad(rational(x, a, b, form).sin().sum(), (x, a, b))
    for run in range(2):
        own = tuple(t[run : run + 1].detach().requires_grad_() for t in (x, a, b))
        value = rational(own[0], own[1], own[2], form)
        assert torch.equal(value[0], rational(x, a, b, form)[run])
        alone = torch.autograd.grad(value.sin().sum(), own)
        for ours, expected in zip(together, alone, strict=True):
            torch.testing.assert_close(ours[run], expected[0], rtol=1e-12, atol=1e-12)


# -- precision ---------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
def test_gradients_of_many_items_are_exact_in_fp32(form: str) -> None:
    gradients = []
    given = drawn(1, items=20_000, dtype=torch.float32)
    for dtype in (torch.float32, WIDE):
        x, a, b = (t.detach().to(dtype).requires_grad_() for t in given)
        gradients.append(torch.autograd.grad(rational(x, a, b, form).square().sum(), (a, b)))
    for found, expected in zip(*gradients, strict=True):
        torch.testing.assert_close(found.double(), expected, rtol=1e-5, atol=1e-5)


COEFFICIENTS = {
    **{name: (start.numerator, start.denominator) for name, start in STARTS.items()},
    "steep": ((1.0,) * 6, (0.0,) * 4),  # R = 1e20 at 1e4
    "mixed": ((1.0, -1.0, 1.0, -1.0, 1.0, -1.0), (1.0, -1.0, 1.0, -1.0)),
}


@pytest.mark.parametrize("name", COEFFICIENTS)
@pytest.mark.parametrize("form", FORMS)
def test_bf16_autocast_is_fp32_rounded_and_finite_up_to_10000(form: str, name: str) -> None:
    a, b = (torch.tensor([c], requires_grad=True) for c in COEFFICIENTS[name])
    points = [0.0, 1e-30, 0.1, 1.0, 7.0, 300.0, 1e4]
    signed = torch.tensor([sign * point for sign in (-1, 1) for point in points])
    x = signed.bfloat16()[None, :, None].requires_grad_()
    with torch.autocast("cpu", torch.bfloat16):
        found = rational(x, a, b, form)
        got = torch.autograd.grad(found.float().sum(), (x, a, b))
    wide = x.detach().float().requires_grad_()
    exact = rational(wide, a, b, form)
    expected = torch.autograd.grad(exact.sum(), (wide, a, b))
    assert torch.equal(found, exact.bfloat16())
    assert torch.equal(got[0], expected[0].bfloat16())
    assert all(torch.equal(ours, other) for ours, other in zip(got[1:], expected[1:], strict=True))
    assert all(torch.isfinite(t).all() for t in (found, exact, *got, *expected))


def test_x_and_the_coefficients_are_all_that_is_kept() -> None:
    given, kept = drawn(2), list[int]()

    def keep(tensor: Tensor) -> Tensor:
        kept.append(tensor.numel())
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        rational(*given, "a")
    assert kept == [2 * 6 * 5, 2 * 6, 2 * 4]


# -- the module --------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
def test_all_ten_coefficients_move(form: str) -> None:
    torch.manual_seed(3)
    learned = Rational(2, form, "one")
    optimizer = torch.optim.Adam(learned.parameters(), lr=0.01)
    x = torch.randn(2, 50, 8)
    assert torch.equal(learned(x), torch.ones_like(x))
    for _ in range(3):
        optimizer.zero_grad()
        (learned(x) - x.sin()).square().mean().backward()
        optimizer.step()
    start = Rational(2, form, "one")
    assert (learned.numerator != start.numerator).all()
    assert (learned.denominator != start.denominator).all()
    assert learned.numerator.shape == (2, 1, 6)
    assert learned.denominator.shape == (2, 1, 4)


def fit(function: Callable[[NDArray[Any]], NDArray[Any]]) -> tuple[list[float], list[float]]:
    """Least squares on `POINTS`, b_1 = b_3 = 0 and b_2, b_4 >= 0: a and b."""

    def deviation(c: NDArray[Any]) -> NDArray[Any]:
        curve = evaluate(c[:6].tolist(), [0.0, c[6], 0.0, c[7]], "a", POINTS)
        apart: NDArray[Any] = curve - function(POINTS)
        return apart

    first = [0.0, 0.5, 0.1, 0.0, 0.0, 0.0, 0.3, 0.3]
    bounds = [-np.inf] * 6 + [0.0] * 2, np.inf
    found = least_squares(deviation, first, bounds=bounds, xtol=1e-15, ftol=1e-15, gtol=1e-15).x
    return list(found[:6]), [0.0, found[6], 0.0, found[7]]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", FITTED)
def test_fitted_starts_are_within_the_stated_error(name: str, form: str) -> None:
    x = torch.tensor(POINTS, dtype=torch.float32)[None, :, None]
    curve = Rational(1, form, name)(x).detach().double().flatten().numpy()
    largest = np.abs(curve - FITTED[name](POINTS)).max()
    assert 0.3 * STARTS[name].error < largest <= STARTS[name].error


@pytest.mark.parametrize("name", FITTED)
def test_fitted_starts_are_what_the_fit_gives(name: str) -> None:
    a, b = fit(FITTED[name])
    np.testing.assert_allclose(STARTS[name].numerator, a, atol=2e-6)
    np.testing.assert_allclose(STARTS[name].denominator, b, atol=2e-6)
