"""A table as a whole: how far its numbers are off together, and whether its rows keep order."""

from __future__ import annotations

import random
import statistics
import zlib
from collections.abc import Sequence

from repro.papers.tables import Score
from repro.report.cells import Cell
from repro.report.view import TableView
from repro.stats.ranking import DRAWS, ranking

FEWEST = 3
"""Cells or rows below which nothing is said of all of them together."""


def table_level(view: TableView) -> list[str]:
    """Notes on all measured cells together; none at smoke scale, whose data are made up."""
    if view.request.scale == "smoke":
        return []
    return [*_offset(view), *_order(view)]


def _compared(view: TableView) -> list[Cell]:
    """Measured cells of the paper's models beside their printed numbers, all their seeds there.

    A mean restates its row's scores, so it is only taken where none of these is compared.
    """
    found = []
    for row in view.rows:
        whole = [cell for cell in row.cells if not cell.partial and row.row.scored]
        cells = [cell for cell in whole if cell.evidence is not None]
        found += [cell for cell in cells if isinstance(cell.column, Score)] or cells
    return found


def _offset(view: TableView) -> list[str]:
    """The mean difference: a common one hints at other data or another evaluation."""
    cells = _compared(view)
    found = [cell.evidence.difference for cell in cells if cell.evidence is not None]
    if len(found) < FEWEST:
        return []
    groups = _of_same_runs(cells)
    interval = ", "
    if len(groups) >= FEWEST:
        own = [[found[index] for index in group] for group in groups]
        low, high = over_groups(own, view.table.id)
        over = "cells" if len(groups) == len(cells) else f"{len(groups)} sets of runs"
        interval = f" (95 % over {over} {low:+.1f} to {high:+.1f}), "
    columns: dict[str, list[float]] = {}
    models: dict[str, set[tuple[str, ...]]] = {}
    for cell, difference in zip(cells, found, strict=True):
        columns.setdefault(cell.column.name, []).append(difference)
        models.setdefault(cell.column.name, set()).add(cell.runs)
    common = [
        f"{name} {statistics.fmean(own):+.1f}"
        for name, own in columns.items()
        if len(models[name]) >= FEWEST and (min(own) > 0 or max(own) < 0)
    ]
    said = f"; every model on one side in {', '.join(common)}" if common else ""
    return [
        f"Mean difference of {len(found)} cells {statistics.fmean(found):+.1f}"
        f"{interval}mean absolute {statistics.fmean(map(abs, found)):.1f}{said}."
    ]


def _of_same_runs(cells: Sequence[Cell]) -> list[list[int]]:
    """The places of these cells, those that share a run together: they are off together."""
    groups: list[tuple[set[str], list[int]]] = []
    for index, cell in enumerate(cells):
        keys, places = set(cell.runs), [index]
        apart = []
        for known, others in groups:
            if known & keys:
                keys, places = keys | known, others + places
            else:
                apart.append((known, others))
        groups = [*apart, (keys, places)]
    return sorted(sorted(places) for _, places in groups)


def over_groups(groups: Sequence[Sequence[float]], seed: str) -> tuple[float, float]:
    """The 95 % percentile interval of the mean of all values, whole groups drawn anew; `seed` fixes
    the draws.
    """
    generator = random.Random(zlib.crc32(seed.encode()))
    drawn = (generator.choices(groups, k=len(groups)) for _ in range(DRAWS))
    means = sorted(statistics.fmean([value for own in some for value in own]) for some in drawn)
    return means[round(0.025 * DRAWS)], means[round(0.975 * DRAWS) - 1]


def _order(view: TableView) -> list[str]:
    """Kendall's τ of the printed and the reproduced order of the rows, column by column."""
    said = []
    for column in view.table.columns:
        cells = {
            row.row.name: cell
            for row in view.rows
            if row.row.scored
            for cell in row.cells
            if cell.column.name == column.name and cell.evidence is not None and not cell.partial
        }
        published = {
            name: cell.published.value
            for name, cell in cells.items()
            if cell.published is not None and cell.published.value is not None
        }
        values = {name: cell.reproduced.values for name, cell in cells.items() if cell.reproduced}
        runs = {name: cell.runs for name, cell in cells.items()}
        if len(published) < FEWEST:
            continue
        tau, interval = ranking(published, values, f"{view.table.id}, {column.name}", runs)
        if tau is not None:
            spread = f" ({interval[0]:.2f} to {interval[1]:.2f})" if interval else ""
            said.append(f"{column.name} {tau:.2f}{spread}")
    if not said:
        return []
    return [f"Order of the models as printed (1) or opposite (-1), Kendall's τ: {'; '.join(said)}."]
