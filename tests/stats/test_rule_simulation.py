"""The rule against simulated papers: how often it is wrong, and how often it can tell."""

from __future__ import annotations

import numpy as np
import pytest

from repro.stats.evidence import Target, weigh
from repro.stats.spread import pooled
from repro.stats.summary import summarise
from repro.stats.verdicts import judge

DRAWS = 20_000
CELLS = 8


def rate(apart: float, ratio: float, n: int, n_p: int | None, known: bool = True) -> float:
    """How often a cell is a MATCH: `apart` and the deviation `ratio` in margins, `n` runs of ours
    and `n_p` of the paper's, whose number is `known`, deviation pooled over eight cells.
    """
    random = np.random.default_rng(round(1e4 * apart + 1e3 * ratio + 10 * n + (n_p or 0)))
    found = 0
    for _ in range(DRAWS // CELLS):
        runs = [summarise(cell.tolist()) for cell in random.normal(apart, ratio, (CELLS, n))]
        spread = pooled(runs)
        printed = random.normal(0, ratio / np.sqrt(n_p), CELLS) if n_p else np.zeros(CELLS)
        for cell, value in zip(runs, printed.tolist(), strict=True):
            target = Target(value, 1e-9, n_p if known else None)
            own = spread or pooled([cell])
            found += judge(weigh(cell, target, 1.0, own))[0] == "MATCH"
    return found / DRAWS


@pytest.mark.slow
@pytest.mark.parametrize("n_p", [1, 3, 5])
@pytest.mark.parametrize("ratio", [0.25, 0.5, 1.0])
def test_what_is_a_margin_apart_is_rarely_a_match(ratio: float, n_p: int) -> None:
    assert rate(1.0, ratio, 5, n_p) <= 0.06


@pytest.mark.slow
def test_against_an_exact_number_too() -> None:
    assert rate(1.0, 0.5, 5, None) <= 0.06


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n_p", "known", "expected"), [(1, True, 0.14), (5, True, 0.85), (5, False, 0.97)]
)
def test_equal_results_match_as_often_as_simulated_before(
    n_p: int, known: bool, expected: float
) -> None:
    assert rate(0.0, 0.5, 5, n_p, known) == pytest.approx(expected, abs=0.03)


@pytest.mark.slow
def test_what_the_paper_does_not_say_costs_false_matches() -> None:
    """A printed number that was a single run, and is taken as it stands."""
    assert rate(1.0, 0.5, 5, 1, known=False) == pytest.approx(0.24, abs=0.03)
