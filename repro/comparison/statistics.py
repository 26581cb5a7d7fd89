"""A table as a whole: how far its numbers are off together, and whether its rows keep order."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, combinations
from math import fsum
from statistics import fmean, quantiles
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Interval = tuple[float, float]
DRAWS = 2_000
"""Resamples behind an interval."""
Cell = Mapping[str, Any]
"""A record of a comparison frame; what is missing is None."""
FEWEST = 3
"""The fewest cells, or rows, for which a statistic of the whole table is given."""


def table_statistics(cells: Sequence[Cell]) -> list[str]:
    """Sentences on the cells of a table that are measured, of the paper's models and weighed, with
    a number of every seed; none at smoke scale, where nothing is weighed. `cells` are the records
    of a comparison frame.
    """
    weighed = [
        cell
        for cell in cells
        if cell["margin"] is not None and cell["partial"] is None
        if not cell["reference"] and cell["measure"] == "score"
    ]
    return [*_offset(weighed), *_order(weighed, dict.fromkeys(cell["column"] for cell in cells))]


def _offset(cells: Sequence[Cell]) -> list[str]:
    """The mean difference: a common one hints at other data or another evaluation.

    A mean restates its row's scores, so it is only taken where none of these is compared.
    """
    scored = {cell["row"] for cell in cells if cell["kind"] == "score"}
    cells = [cell for cell in cells if cell["kind"] == "score" or cell["row"] not in scored]
    if len(cells) < FEWEST:
        return []
    found = [cell["difference"] for cell in cells]
    groups: dict[int, list[float]] = {}
    for label, value in zip(_sets_of_runs([cell["runs"] for cell in cells]), found, strict=True):
        groups.setdefault(int(label), []).append(value)
    interval = ", "
    if len(groups) >= FEWEST:
        low, high = over_groups(list(groups.values()), cells[0]["artefact"])
        over = "cells" if len(groups) == len(cells) else f"{len(groups)} sets of runs"
        interval = f" (95 % over {over} {low:+.1f} to {high:+.1f}), "
    columns: dict[str, list[Cell]] = {}
    for cell in cells:
        columns.setdefault(cell["column"], []).append(cell)
    common = [
        f"{name} {fmean(differences):+.1f}"
        for name, own in columns.items()
        if len({tuple(cell["runs"]) for cell in own}) >= FEWEST
        if (differences := [cell["difference"] for cell in own])
        if min(differences) > 0 or max(differences) < 0
    ]
    said = f"; every model on one side in {', '.join(common)}" if common else ""
    return [
        f"Mean difference of {len(found)} cells {fmean(found):+.1f}"
        f"{interval}mean absolute {fmean(map(abs, found)):.1f}{said}."
    ]


def _sets_of_runs(runs: Iterable[Sequence[str]]) -> NDArray[np.int64]:
    """For each cell a number, the same for cells that share a run: they are off together."""
    import numpy as np

    sets = [frozenset(keys) for keys in runs]
    shared = np.array([[not one.isdisjoint(other) for other in sets] for one in sets])
    labels = np.arange(len(sets))
    for _ in sets:  # the smallest number goes one step along a chain of shared runs
        labels = np.where(shared, labels, len(sets)).min(axis=1)
    return labels


def over_groups(groups: Sequence[Sequence[float]], seed: str) -> tuple[float, float]:
    """The 95 % percentile interval of the mean of all values, whole groups drawn anew; `seed` fixes
    the draws.
    """
    places = (uniforms(seed, len(groups)) * len(groups)).astype(int)
    drawn = ([groups[place] for place in sample] for sample in places.tolist())
    means = sorted(fsum(chain(*some)) / sum(map(len, some)) for some in drawn)
    return means[round(0.025 * DRAWS)], means[round(0.975 * DRAWS) - 1]


def _order(cells: Sequence[Cell], columns: Iterable[str]) -> list[str]:
    """Kendall's τ of the printed and the reproduced order of the rows, column by column."""
    said = []
    for name in columns:
        own = [cell for cell in cells if cell["column"] == name]
        if len(own) < FEWEST:
            continue
        published, values, runs = (
            {cell["row"]: cell[what] for cell in own} for what in ("published", "values", "runs")
        )
        tau, interval = ranking(published, values, f"{own[0]['artefact']}, {name}", runs)
        if tau is not None:
            spread = f" ({interval[0]:.2f} to {interval[1]:.2f})" if interval else ""
            said.append(f"{name} {tau:.2f}{spread}")
    if not said:
        return []
    return [f"Order of the models as printed (1) or opposite (-1), Kendall's τ: {'; '.join(said)}."]


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
    tau = kendall(printed, list(map(fmean, values)))
    if tau is None or any(len(own) < 2 for own in values):
        return tau, None
    behind = [tuple((runs or {}).get(name, (name,))) for name in methods]
    known = [value for value in _taus_drawn(printed, values, behind, seed) if value is not None]
    if len(known) < 2:
        return tau, None
    low, *_, high = quantiles(known, n=40, method="inclusive")
    return tau, (low, high)


def _taus_drawn(
    printed: Sequence[float],
    values: Sequence[Sequence[float]],
    behind: Sequence[tuple[str, ...]],
    seed: str,
) -> list[float | None]:
    """τ of each of `DRAWS` samples of the runs."""
    import numpy as np

    means = _means_drawn(values, behind, seed)
    agree, left, right = np.zeros(DRAWS, int), 0, np.zeros(DRAWS, int)
    for first, second in combinations(range(len(printed)), 2):
        one = int(np.sign(printed[second] - printed[first]))
        other = np.sign(means[second] - means[first]).astype(int)
        agree += one * other
        left += abs(one)
        right += abs(other)
    return [_tau(a, left, r) for a, r in zip(agree.tolist(), right.tolist(), strict=True)]


def uniforms(seed: str, size: int) -> NDArray[np.float64]:
    """`DRAWS` times so many numbers from 0 to 1, the same ones for the same text."""
    import numpy as np

    generator = np.random.RandomState([zlib.crc32(seed.encode())])  # as random.Random(number)
    return generator.random_sample((DRAWS, size))


def _means_drawn(
    values: Sequence[Sequence[float]], behind: Sequence[tuple[str, ...]], seed: str
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
        exact = {one: fmean([own[run] for run in one]) for one in set(samples)}
        means.append(np.array([exact[sample] for sample in samples]))
    return means
