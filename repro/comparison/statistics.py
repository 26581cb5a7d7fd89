"""A table as a whole: how far its numbers are off together, and whether its rows keep order."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from math import fsum
from statistics import fmean
from typing import TYPE_CHECKING, Any

from repro.stats.ranking import DRAWS, ranking, uniforms

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

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
    places = (uniforms(zlib.crc32(seed.encode()), len(groups)) * len(groups)).astype(int)
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
