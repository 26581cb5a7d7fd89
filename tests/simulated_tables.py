"""Tables of simulated papers, and rules that judge whole arrays of them at once.

A second implementation of the rule of `repro.stats`, beside others that were considered. All
numbers are in margins. `test_rule_simulation.py` shows that the rule "new" gives the verdicts of
`repro.stats`, cell by cell.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Study:
    """Tables with `n` runs of ours a cell and `paper_n` of the paper's, all cells `apart`.

    `sds` are the deviations of the rows. Heavy-tailed runs have a t distribution with 3 degrees of
    freedom, scaled to the same deviation. The first run of each cell is lower by `collapse`. The
    paper does not say how many runs it has if `unknown`, and prints its numbers in steps of `unit`.
    """

    sds: tuple[float, ...]
    columns: int
    n: int
    paper_n: int
    apart: float = 0.0
    heavy: bool = False
    collapse: float = 0.0
    unknown: bool = False
    unit: float = 0.0

    def draw(self, tables: int, seed: int) -> tuple[Array, Array]:
        """Our runs (tables, rows, columns, n) and the printed numbers (tables, rows, columns)."""
        random = np.random.default_rng(seed)
        cells = (tables, len(self.sds), self.columns)
        sds = np.array(self.sds)[:, None, None]

        def runs(n: int) -> Array:
            shape = (*cells, n)
            heavy = random.standard_t(3, shape) / np.sqrt(3) if self.heavy else None
            drawn: Array = sds * (random.standard_normal(shape) if heavy is None else heavy)
            return drawn

        ours, theirs = self.apart + runs(self.n), runs(self.paper_n).mean(-1)
        ours[..., 0] -= self.collapse
        if self.unit:
            expected = random.uniform(0, self.unit, cells)
            theirs = np.round((expected + theirs) / self.unit) * self.unit - expected
        return ours, theirs


@dataclass(frozen=True)
class Scales:
    """What a rule takes for each cell: a deviation with its degrees of freedom for the 90 %
    interval, and the same for the test of LOWER and HIGHER.
    """

    interval: Array
    freedom: Array
    test: Array
    test_freedom: Array


def new(runs: Array) -> Scales:
    """Each cell's own; for the test the larger of that and the column's median."""
    own, freedom = _own(runs)
    return Scales(own, freedom, np.maximum(own, np.median(own, axis=1, keepdims=True)), freedom)


def own(runs: Array) -> Scales:
    """Each cell's own for both."""
    return Scales(*_own(runs), *_own(runs))


def old(runs: Array) -> Scales:
    """Pooled over the rows unless Brown and Forsythe's test rejects, at 1 %, that they are even."""
    deviations, freedom = _own(runs)
    rows = runs.shape[1]
    uneven = _brown_forsythe(runs)[:, None] < 0.01
    sd = np.where(uneven, deviations, _pooled(deviations))
    common = np.where(uneven, freedom, rows * freedom)
    return Scales(sd, common, sd, common)


def larger(runs: Array) -> Scales:
    """The larger of own and pooled, with the degrees of freedom of the own one."""
    deviations, freedom = _own(runs)
    sd = np.maximum(deviations, _pooled(deviations))
    return Scales(sd, freedom, sd, freedom)


def moderated(runs: Array) -> Scales:
    """Variances drawn towards a prior of the column whose weight is estimated (Smyth 2004)."""
    deviations, freedom = _own(runs)
    d, rows = runs.shape[-1] - 1, runs.shape[1]
    logs = np.log(deviations**2) - special.digamma(d / 2) + np.log(d / 2)
    mean = logs.mean(1, keepdims=True)
    excess = ((logs - mean) ** 2).sum(1, keepdims=True) / (rows - 1) - special.polygamma(1, d / 2)
    prior = np.where(excess > 0, 2 * _trigamma_inverse(np.maximum(excess, 1e-6)), 1e6)
    centre = np.exp(mean + special.digamma(prior / 2) - np.log(prior / 2))
    sd = np.sqrt((prior * centre + d * deviations**2) / (prior + d))
    total = np.minimum(prior + d, rows * d) + 0 * freedom
    return Scales(sd, total, sd, total)


RULES: dict[str, Callable[[Array], Scales]] = {
    "old": old, "moderated": moderated, "larger": larger, "own": own, "new": new,
}  # fmt: skip


def verdicts(study: Study, rule: str, runs: Array, printed: Array) -> tuple[Flags, Flags]:
    """Which cells are a MATCH, and which LOWER or HIGHER: (tables, rows, columns) each."""
    scales, cells = RULES[rule](runs), printed.shape[1] * printed.shape[2]
    distance = np.abs(runs.mean(-1) - printed)
    paper_n = 1 if study.unknown else study.paper_n
    test_error = np.maximum(scales.test, study.unit) * np.sqrt(1 / study.n + 1 / paper_n)
    deviation = np.maximum(scales.interval, study.unit)
    error = deviation * np.sqrt(1 / study.n + 1 / paper_n)
    if study.unknown and rule == "old":
        error = deviation / np.sqrt(study.n)
    match = distance + special.stdtrit(scales.freedom, 0.95) * error < 1
    beyond = distance - (0 if rule == "old" else 1)
    p = np.minimum(1, 2 * special.stdtr(scales.test_freedom, -beyond / test_error))
    adjusted = _holm(p.reshape(len(p), cells)).reshape(p.shape)
    return match, (adjusted < 0.05) & (distance > 1) & ~match


@dataclass(frozen=True)
class Rates:
    """MATCH by row; LOWER or HIGHER by row; and the share of tables that have one of these."""

    match: Array
    contradicted: Array
    tables: float


def rates(study: Study, rule: str, tables: int, seed: int = 0) -> Rates:
    """How often `rule` gives which verdict."""
    match, contradicted = verdicts(study, rule, *study.draw(tables, seed))
    any_of_table = contradicted.any((1, 2)).mean()
    return Rates(match.mean((0, 2)), contradicted.mean((0, 2)), float(any_of_table))


def spreads(pattern: str, rows: int, ratio: float, largest: float) -> tuple[float, ...]:
    """Deviations of the rows, of which the largest is given: one, two or no noisy rows that have
    `ratio` times the deviation of the others, or all steps of a gradient.
    """
    if pattern == "gradient":
        return tuple((largest * ratio ** (-np.arange(rows) / max(1, rows - 1))).tolist())
    noisy = {"even": rows, "one": 1, "two": 2}[pattern]
    return (largest,) * noisy + (largest / ratio,) * (rows - noisy)


def _own(runs: Array) -> tuple[Array, Array]:
    sd = runs.std(-1, ddof=1)
    return sd, np.full(sd.shape, runs.shape[-1] - 1.0)


def _pooled(deviations: Array) -> Array:
    common: Array = np.sqrt((deviations**2).mean(1, keepdims=True))
    return common + 0 * deviations


def _brown_forsythe(runs: Array) -> Array:
    """The p-values of each column: (tables, columns)."""
    distances = np.abs(runs - np.median(runs, axis=-1, keepdims=True))
    rows, n = runs.shape[1], runs.shape[-1]
    means = distances.mean(-1)
    between = n * ((means - means.mean(1, keepdims=True)) ** 2).sum(1) / (rows - 1)
    within = ((distances - means[..., None]) ** 2).sum((1, 3)) / (rows * (n - 1))
    with np.errstate(divide="ignore"):
        p: Array = special.fdtrc(rows - 1, rows * (n - 1), between / within)
    return p


def _trigamma_inverse(values: Array) -> Array:
    """By Newton's method, as in limma."""
    found: Array = 0.5 + 1 / values
    for _ in range(20):
        trigamma = special.polygamma(1, found)
        found = found + trigamma * (1 - trigamma / values) / special.polygamma(2, found)
    return found


def _holm(p: Array) -> Array:
    order = np.argsort(p, -1)
    ranked = np.take_along_axis(p, order, -1) * np.arange(p.shape[-1], 0, -1)
    adjusted = np.empty_like(p)
    np.put_along_axis(adjusted, order, np.minimum(1, np.maximum.accumulate(ranked, -1)), -1)
    return adjusted


def worst(studies: Sequence[Study], rule: str, draws: int) -> tuple[float, float]:
    """The largest share of a row's cells that are a MATCH, and of tables with a LOWER or HIGHER."""
    match = contradicted = 0.0
    for seed, study in enumerate(studies):
        cells = len(study.sds) * study.columns
        found = rates(study, rule, draws // cells, seed)
        match = max(match, float(found.match.max()))
        contradicted = max(contradicted, found.tables)
    return match, contradicted
