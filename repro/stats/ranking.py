"""How well a reproduction keeps the published order of methods."""

from __future__ import annotations

import random
import statistics
import zlib
from collections.abc import Mapping, Sequence

Interval = tuple[float, float]
DRAWS = 2_000
"""Resamples behind an interval."""


def kendall(published: Sequence[float], reproduced: Sequence[float]) -> float | None:
    """Kendall's τ-b of two orders of the same methods: 1 the same, -1 the opposite.

    None for fewer than two methods, or where all are equal in one of the two. Raises ValueError
    for orders of different length.
    """
    agree, left, right = 0, 0, 0
    pairs = list(zip(published, reproduced, strict=True))
    for index, (a, b) in enumerate(pairs):
        for c, d in pairs[index + 1 :]:
            one, other = _sign(c - a), _sign(d - b)
            agree += one * other
            left += abs(one)
            right += abs(other)
    return float(agree / (left * right) ** 0.5) if left and right else None


def ranking(
    published: Mapping[str, float], reproduced: Mapping[str, Sequence[float]], seed: str
) -> tuple[float | None, Interval | None]:
    """τ over the methods that have a number in both, and its 95 % interval from runs drawn anew.

    `published`: method -> printed number; `reproduced`: method -> a value a run. `seed`: what the
    draws depend on, so that they are always the same ("ResAdapters-1, ALL F1"). The interval is
    the range of τ when each method's runs are drawn anew with replacement (percentiles): how
    firmly the runs order the methods, not how surely this τ is the true one. None where τ is
    None, or where a method has fewer than two runs.
    """
    methods = [name for name in published if reproduced.get(name)]
    printed = [published[name] for name in methods]
    runs = [list(reproduced[name]) for name in methods]
    tau = kendall(printed, list(map(statistics.fmean, runs)))
    if tau is None or any(len(values) < 2 for values in runs):
        return tau, None
    generator = random.Random(zlib.crc32(seed.encode()))
    drawn = (
        kendall(
            printed, [statistics.fmean(generator.choices(values, k=len(values))) for values in runs]
        )
        for _ in range(DRAWS)
    )
    ordered = sorted(value for value in drawn if value is not None)
    return tau, (_percentile(ordered, 2.5), _percentile(ordered, 97.5)) if ordered else None


def _sign(value: float) -> int:
    return (value > 0) - (value < 0)


def _percentile(ordered: Sequence[float], share: float) -> float:
    """With linear interpolation, as numpy's default."""
    place = share / 100 * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])
