"""A table as a whole: how far its numbers are off together, and whether its rows keep order."""

from __future__ import annotations

import random
import zlib
from collections.abc import Iterable, Sequence
from statistics import fmean
from typing import TYPE_CHECKING

from repro.stats.ranking import DRAWS, ranking

if TYPE_CHECKING:
    import numpy as np
    import pandas
    from numpy.typing import NDArray

FEWEST = 3
"""The fewest cells, or rows, for which a statistic of the whole table is given."""


def table_statistics(frame: pandas.DataFrame) -> list[str]:
    """Sentences on the cells of a comparison frame that are measured, of the paper's models and
    weighed, with a number of every seed; none at smoke scale, where nothing is weighed.
    """
    whole = frame["margin"].notna() & frame["partial"].isna()
    cells = frame[whole & ~frame["reference"] & (frame["measure"] == "score")]
    return [*_offset(cells), *_order(cells, frame["column"].unique())]


def _offset(cells: pandas.DataFrame) -> list[str]:
    """The mean difference: a common one hints at other data or another evaluation.

    A mean restates its row's scores, so it is only taken where none of these is compared.
    """
    scores = cells["kind"] == "score"
    cells = cells[scores | ~scores.groupby(cells["row"]).transform("any")]
    if len(cells) < FEWEST:
        return []
    found = cells["difference"]
    groups = [list(own) for _, own in found.groupby(_sets_of_runs(cells["runs"]))]
    interval = ", "
    if len(groups) >= FEWEST:
        low, high = over_groups(groups, cells["artefact"].iloc[0])
        over = "cells" if len(groups) == len(cells) else f"{len(groups)} sets of runs"
        interval = f" (95 % over {over} {low:+.1f} to {high:+.1f}), "
    common = [
        f"{name} {fmean(own['difference']):+.1f}"
        for name, own in cells.groupby("column", sort=False)
        if own["runs"].map(tuple).nunique() >= FEWEST
        and (own["difference"].min() > 0 or own["difference"].max() < 0)
    ]
    said = f"; every model on one side in {', '.join(common)}" if common else ""
    return [
        f"Mean difference of {len(found)} cells {fmean(found):+.1f}"
        f"{interval}mean absolute {fmean(found.abs()):.1f}{said}."
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
    generator = random.Random(zlib.crc32(seed.encode()))
    drawn = (generator.choices(groups, k=len(groups)) for _ in range(DRAWS))
    means = sorted(fmean([value for own in some for value in own]) for some in drawn)
    return means[round(0.025 * DRAWS)], means[round(0.975 * DRAWS) - 1]


def _order(cells: pandas.DataFrame, columns: Iterable[str]) -> list[str]:
    """Kendall's τ of the printed and the reproduced order of the rows, column by column."""
    said = []
    for name in columns:
        own = cells[cells["column"] == name].set_index("row")
        if len(own) < FEWEST:
            continue
        seed = f"{own['artefact'].iloc[0]}, {name}"
        tau, interval = ranking(
            own["published"].to_dict(), own["values"].to_dict(), seed, own["runs"].to_dict()
        )
        if tau is not None:
            spread = f" ({interval[0]:.2f} to {interval[1]:.2f})" if interval else ""
            said.append(f"{name} {tau:.2f}{spread}")
    if not said:
        return []
    return [f"Order of the models as printed (1) or opposite (-1), Kendall's τ: {'; '.join(said)}."]
