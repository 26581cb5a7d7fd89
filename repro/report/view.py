"""A table as it stands: every cell with its published and reproduced number and the runs behind.

Built from the store alone, without torch. All renderers read this one structure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from repro.papers.published import Published
from repro.papers.tables import Column, Request, Row, Table
from repro.spec import RunSpec, run_key
from repro.spec.counts import total_parameters, trained_parameters
from repro.stats.verdicts import Summary, Verdict, judge, summarise
from repro.store.entry import StoredRun
from repro.store.store import Store


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell. `difference` is reproduced minus published, in the paper's units."""

    column: Column
    published: Published | None
    reproduced: Summary | None
    difference: float | None
    verdict: Verdict | None
    reason: str
    runs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RowView:
    """One row; `collapsed` counts its runs that answer nothing at all.

    `partial` says which of the seeds are behind its numbers, where not all are.
    """

    row: Row
    cells: tuple[Cell, ...]
    parameters: tuple[int, int] | None
    collapsed: int
    epochs: int
    span_f1: Summary | None
    partial: str = ""


@dataclass(frozen=True, slots=True)
class TableView:
    """A whole table at one scale."""

    table: Table
    request: Request
    rows: tuple[RowView, ...]
    lead: RunSpec

    @property
    def done(self) -> int:
        """Cells with a reproduced number behind which every seed stands."""
        summaries = (cell.reproduced for row in self.rows for cell in row.cells)
        return sum(found is not None and found.n == self.request.seeds for found in summaries)

    @property
    def cells(self) -> int:
        """Cells in all."""
        return sum(len(row.cells) for row in self.rows)

    @property
    def runs(self) -> list[str]:
        """Keys of the runs behind the cells, each once."""
        return sorted({key for row in self.rows for cell in row.cells for key in cell.runs})

    @property
    def complete(self) -> bool:
        """Every cell is reproduced."""
        return self.done == self.cells


def view_table(table: Table, request: Request, store: Store) -> TableView:
    """Lays the store's results into the table."""
    stored: dict[str, StoredRun | None] = {}
    rows = tuple(_row(table, row, request, store, stored) for row in table.rows)
    return TableView(table, request, rows, table.run(table.rows[0].variant, request, 0))


def _row(
    table: Table, row: Row, request: Request, store: Store, stored: dict[str, StoredRun | None]
) -> RowView:
    specs = [table.run(row.variant, request, seed) for seed in range(request.seeds)]
    keys = [run_key(spec) for spec in specs]
    for key in keys:
        if key not in stored:
            stored[key] = store.read(key)
    runs = [run for key in keys if (run := stored[key]) is not None]
    absent = [key for key in keys if stored[key] is None]
    why = why_missing(store, absent) if absent else ""
    missing = "" if runs else why
    epoch = row.epoch or specs[0].recipe.epochs
    if runs and epoch > specs[0].recipe.epochs:
        missing = f"the run has {specs[0].recipe.epochs} epochs"
    split = table.splits[request.scale]
    cells = tuple(
        _cell(table, row, column, request, _values(runs, table, column, split, epoch), missing)
        for column in table.columns
    )
    trained = trained_parameters(specs[0])
    return RowView(
        row=row,
        cells=cells,
        parameters=None if row.reference else (trained, total_parameters(specs[0])),
        collapsed=sum(bool(run.result.collapsed) for run in runs) if row.epoch is None else 0,
        epochs=epoch,
        span_f1=_span_f1(runs, split, epoch),
        partial=f"{len(runs)} of {len(keys)} seeds; the rest: {why}" if runs and absent else "",
    )


def _values(
    runs: Sequence[StoredRun], table: Table, column: Column, split: str, epoch: int
) -> list[tuple[str, float]]:
    found = [
        (run.key, run.score(split, table.protocol, column.metric, column.group, epoch))
        for run in runs
    ]
    return [(key, score.value) for key, score in found if score is not None]


def _cell(
    table: Table,
    row: Row,
    column: Column,
    request: Request,
    values: list[tuple[str, float]],
    missing: str,
) -> Cell:
    published = table.published_cell(row, column)
    reproduced = summarise([value for _, value in values]) if values else None
    known = published.value if published else None
    verdict, reason = judge(known, reproduced, request.scale, missing or "not scored")
    difference = reproduced.mean - known if reproduced and known is not None else None
    keys = tuple(key for key, _ in values)
    return Cell(column, published, reproduced, difference, verdict, reason, keys)


def _span_f1(runs: Sequence[StoredRun], split: str, epoch: int) -> Summary | None:
    """F1 of the best non-null span on answerable questions: tells collapsed models apart."""
    found = [run.score(split, "legacy/best-span", "span_f1", "HasAns", epoch) for run in runs]
    values = [score.value for score in found if score is not None]
    return summarise(values) if values else None


def why_missing(store: Store, keys: Sequence[str]) -> str:
    """Why these runs have no result: one failed, is running, or was never run."""
    states = {store.state(key) for key in keys}
    if "failed" in states:
        failure = next(f for key in keys if (f := store.failure(key)) is not None)
        return f"failed ({failure.kind}): {' '.join(failure.message.split())}"
    return "running" if "running" in states else "not run"
