"""The verdicts of a whole table: its cells share the chance of a false LOWER or HIGHER."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from repro.papers.margins import LAYER
from repro.papers.published import Published
from repro.papers.tables import Mean, Row, Score, Table
from repro.report.cells import Cell
from repro.stats.evidence import Evidence, Target, holm, typical_sd, weigh
from repro.stats.summary import Summary
from repro.stats.verdicts import judge

Cells = dict[str, tuple[Cell, ...]]
"""Row -> its cells."""


def with_verdicts(table: Table, rows: Cells) -> Cells:
    """The same cells with their evidence, and verdicts where they are comparable."""
    kinds = {row.name: row for row in table.rows}
    typical = _typical_deviations(rows, kinds)
    tests = sum(
        cell.verdict == "UNDECIDED" and cell.reproduced is not None and cell.reproduced.n > 1
        for cells in rows.values()
        for cell in cells
    )
    weighed = {
        name: [_weighed(table, kinds[name], cell, typical, tests) for cell in cells]
        for name, cells in rows.items()
    }
    open_ = [
        (name, i, cell.evidence)
        for name, cells in weighed.items()
        for i, cell in enumerate(cells)
        if cell.verdict == "UNDECIDED" and cell.evidence is not None
    ]
    tested = iter(holm([found.p for *_, found in open_ if found.p is not None]))
    for name, i, found in open_:
        adjusted = None if found.p is None else next(tested)  # a single run is not tested
        weighed[name][i] = _judged(weighed[name][i], replace(found, adjusted=adjusted))
    return {name: tuple(cells) for name, cells in weighed.items()}


def _typical_deviations(rows: Cells, kinds: Mapping[str, Row]) -> dict[str, float]:
    """Column -> the typical deviation of its rows; a reference and a difference are no models."""
    columns: dict[str, list[Summary]] = {}
    for name, cells in rows.items():
        if not kinds[name].scored:
            continue
        for cell in cells:
            if isinstance(cell.column, Score | Mean) and cell.reproduced is not None:
                columns.setdefault(cell.column.name, []).append(cell.reproduced)
    return {column: typical_sd(found) for column, found in columns.items()}


def _weighed(table: Table, row: Row, cell: Cell, typical: Mapping[str, float], tests: int) -> Cell:
    """The cell with its evidence, where a measured number stands beside a printed one."""
    margin, printed = table.margin_of(cell.column), cell.published
    if margin is not None and row.measure == "layers":
        margin = LAYER
    if margin is None or printed is None or printed.value is None or cell.reproduced is None:
        return cell
    column_sd = typical.get(cell.column.name, 0.0) if row.scored else 0.0
    target = target_of(printed, printed.value, table.spread)
    return replace(cell, evidence=weigh(cell.reproduced, target, margin, column_sd, tests))


def _judged(cell: Cell, evidence: Evidence) -> Cell:
    verdict, reason = judge(evidence, cell.partial)
    return replace(cell, evidence=evidence, verdict=verdict, reason=reason)


def target_of(printed: Published, value: float, spread: str) -> Target:
    """The published number as the rule needs it; `spread` says what the paper prints after ±."""
    sem = printed.sd if spread == "sem" else None
    sd = None if spread == "sem" else printed.sd
    if spread == "population sd" and sd is not None and printed.n is not None and printed.n > 1:
        sd *= math.sqrt(printed.n / (printed.n - 1))
    return Target(value, 10.0**-printed.decimals, printed.n, sd, sem)
