"""A table as a whole: how far its numbers are off together, and whether its rows keep order."""

from __future__ import annotations

import random
import statistics
import zlib
from collections.abc import Sequence

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
    """Measured cells of the paper's models beside their printed numbers."""
    return [
        cell
        for row in view.rows
        if row.row.scored
        for cell in row.cells
        if cell.evidence is not None
    ]


def _offset(view: TableView) -> list[str]:
    """The mean difference: a common one hints at other data or another evaluation."""
    cells = _compared(view)
    found = [cell.evidence.difference for cell in cells if cell.evidence is not None]
    if len(found) < FEWEST:
        return []
    low, high = over_cells(found, view.table.id)
    columns: dict[str, list[float]] = {}
    for cell, difference in zip(cells, found, strict=True):
        columns.setdefault(cell.column.name, []).append(difference)
    common = [
        f"{name} {statistics.fmean(own):+.1f}"
        for name, own in columns.items()
        if len(own) >= FEWEST and (min(own) > 0 or max(own) < 0)
    ]
    said = f"; every model on one side in {', '.join(common)}" if common else ""
    return [
        f"Mean difference of {len(found)} cells {statistics.fmean(found):+.1f} "
        f"(95 % over cells {low:+.1f} to {high:+.1f}), mean absolute "
        f"{statistics.fmean(map(abs, found)):.1f}{said}."
    ]


def over_cells(found: Sequence[float], seed: str) -> tuple[float, float]:
    """The 95 % percentile interval of the mean of cells drawn anew; `seed` fixes the draws."""
    generator = random.Random(zlib.crc32(seed.encode()))
    means = sorted(statistics.fmean(generator.choices(found, k=len(found))) for _ in range(DRAWS))
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
            if cell.column.name == column.name and cell.evidence is not None
        }
        published = {
            name: cell.published.value
            for name, cell in cells.items()
            if cell.published is not None and cell.published.value is not None
        }
        runs = {name: cell.reproduced.values for name, cell in cells.items() if cell.reproduced}
        if len(published) < FEWEST:
            continue
        tau, interval = ranking(published, runs, f"{view.table.id}, {column.name}")
        if tau is not None:
            spread = f" ({interval[0]:.2f} to {interval[1]:.2f})" if interval else ""
            said.append(f"{column.name} {tau:.2f}{spread}")
    if not said:
        return []
    return [f"Order of the models as printed (1) or opposite (-1), Kendall's τ: {'; '.join(said)}."]
