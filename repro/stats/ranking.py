"""How well a reproduction keeps the published order of methods."""

from __future__ import annotations

import random
import statistics
import zlib
from collections.abc import Mapping, Sequence
from itertools import combinations

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
    generator = random.Random(zlib.crc32(seed.encode()))
    drawn = (kendall(printed, _means_drawn(values, behind, generator)) for _ in range(DRAWS))
    known = [value for value in drawn if value is not None]
    if len(known) < 2:
        return tau, None
    low, *_, high = statistics.quantiles(known, n=40, method="inclusive")
    return tau, (low, high)


def _means_drawn(
    values: Sequence[Sequence[float]],
    behind: Sequence[tuple[str, ...]],
    generator: random.Random,
) -> list[float]:
    """Each method's mean over runs drawn with replacement, the same ones for the same runs."""
    chosen: dict[tuple[tuple[str, ...], int], list[int]] = {}
    means = []
    for own, keys in zip(values, behind, strict=True):
        if (keys, len(own)) not in chosen:
            chosen[keys, len(own)] = generator.choices(range(len(own)), k=len(own))
        means.append(statistics.fmean([own[index] for index in chosen[keys, len(own)]]))
    return means
