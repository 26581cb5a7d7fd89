"""The learned activation R = P / Q in numbers alone, for curves, without torch.

P(x) = sum_{j=0..5} a_j x^j
Q(x) = 1 + sum_{k=1..4} |b_k x^k|    form "a", as the released code runs
Q(x) = 1 + |sum_{k=1..4} b_k x^k|    form "b", as printed (Moosavi et al. 2022, section 3.1)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from repro.errors import UnknownName

FORMS = ("a", "b")


def check_form(form: str) -> None:
    """Raises UnknownName for a form that there is not."""
    if form not in FORMS:
        raise UnknownName("form of a rational activation", form, FORMS)


def evaluate(
    numerator: Sequence[float], denominator: Sequence[float], form: str, x: NDArray[Any]
) -> NDArray[np.float64]:
    """R at every x, of any shape, in float64; the coefficients a_0.. and b_1.. in this order.

    Raises UnknownName for a form that there is not.
    """
    check_form(form)
    points = np.asarray(x, dtype=np.float64)
    top = sum((a * points**j for j, a in enumerate(numerator)), np.zeros_like(points))
    terms = [b * points**k for k, b in enumerate(denominator, start=1)]
    if form == "a":
        terms = [np.abs(term) for term in terms]
    result: NDArray[np.float64] = top / (1.0 + np.abs(sum(terms, np.zeros_like(points))))
    return result
