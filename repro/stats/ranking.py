"""How well a reproduction keeps the published order of methods."""

from __future__ import annotations

import random
import statistics
import zlib
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Interval = tuple[float, float]
DRAWS = 2_000
"""Resamples behind an interval."""


def kendall(published: Sequence[float], reproduced: Sequence[float]) -> float | None:
    """Kendall's τ-b of two orders of the same methods: 1 the same, -1 the opposite.

    None for fewer than two methods, or where all are equal in one of the two. Raises ValueError
    for orders of different length.
    """
    agree, left, right = 0, 0, 0
    for (a, b), (c, d) in combinations(zip(published, reproduced, strict=True), 2):
        one, other = (c > a) - (c < a), (d > b) - (d < b)
        agree += one * other
        left += abs(one)
        right += abs(other)
    return _tau(agree, left, right)


def _tau(agree: int, left: int, right: int) -> float | None:
    """τ-b of the pairs in the same order minus those in opposite order (`agree`), and of those that
    are no tie on either side.
    """
    return float(agree / (left * right) ** 0.5) if left and right else None


def ranking(
    published: Mapping[str, float],
    reproduced: Mapping[str, Sequence[float]],
    seed: str,
    runs: Mapping[str, Sequence[str]] | None = None,
) -> tuple[float | None, Interval | None]:
    """τ over the methods that have a number in both, and its 95 % interval from runs drawn anew.

    `published`: method -> printed number; `reproduced`: method -> a value a run. `seed`: what the
    draws depend on, so that they are always the same ("ResAdapters-1, ALL F1"). `runs`: method ->
    the keys behind its values; methods with the same keys are values of the same runs (two epochs
    of one training), and these are drawn once for all of them. The interval is the range of τ when
    the runs are drawn anew with replacement (percentiles): how firmly the runs order the methods,
    not how surely this τ is the true one. None where τ is None, or where a method has fewer than
    two runs.
    """
    methods = [name for name in published if reproduced.get(name)]
    printed = [published[name] for name in methods]
    values = [list(reproduced[name]) for name in methods]
    tau = kendall(printed, list(map(statistics.fmean, values)))
    if tau is None or any(len(own) < 2 for own in values):
        return tau, None
    behind = [tuple((runs or {}).get(name, (name,))) for name in methods]
    known = [value for value in _taus_drawn(printed, values, behind, seed) if value is not None]
    if len(known) < 2:
        return tau, None
    low, *_, high = statistics.quantiles(known, n=40, method="inclusive")
    return tau, (low, high)


def _taus_drawn(
    printed: Sequence[float],
    values: Sequence[Sequence[float]],
    behind: Sequence[tuple[str, ...]],
    seed: str,
) -> list[float | None]:
    """τ of each of `DRAWS` samples of the runs."""
    import numpy as np

    means = _means_drawn(values, behind, zlib.crc32(seed.encode()))
    agree, left, right = np.zeros(DRAWS, int), 0, np.zeros(DRAWS, int)
    for first, second in combinations(range(len(printed)), 2):
        one = int(np.sign(printed[second] - printed[first]))
        other = np.sign(means[second] - means[first]).astype(int)
        agree += one * other
        left += abs(one)
        right += abs(other)
    return [_tau(a, left, r) for a, r in zip(agree.tolist(), right.tolist(), strict=True)]


def uniforms(seed: int, size: int) -> NDArray[np.float64]:
    """`DRAWS` times so many numbers from 0 to 1: those of `random.Random(seed).random()`, which
    numpy makes from the same state.
    """
    import numpy as np

    *state, place = random.Random(seed).getstate()[1]
    generator = np.random.RandomState()
    generator.set_state(("MT19937", np.array(state, dtype=np.uint32), place, 0, 0.0))
    return generator.random_sample((DRAWS, size))


def _means_drawn(
    values: Sequence[Sequence[float]], behind: Sequence[tuple[str, ...]], seed: int
) -> list[NDArray[np.float64]]:
    """Of each method `DRAWS` means over runs drawn with replacement, the same ones for the same
    runs.

    The draws are those of `random.Random(seed).choices`, sample by sample.
    """
    import numpy as np

    sets = [(keys, len(own)) for own, keys in zip(values, behind, strict=True)]
    starts, total = {}, 0
    for one in dict.fromkeys(sets):
        starts[one], total = total, total + one[1]
    uniform = uniforms(seed, total)
    means = []
    for one, own in zip(sets, values, strict=True):
        drawn = np.sort(np.floor(uniform[:, starts[one] : starts[one] + len(own)] * len(own)))
        # The exact mean does not depend on the order of the runs, so equal samples tie.
        samples = list(map(tuple, drawn.astype(int).tolist()))
        exact = {one: statistics.fmean([own[run] for run in one]) for one in set(samples)}
        means.append(np.array([exact[sample] for sample in samples]))
    return means
