"""A table as it stands: every cell with its published and reproduced number and the runs behind.

Built from the store alone, without torch. All renderers read this one structure.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from repro.comparison.columns import typed
from repro.comparison.comparison import COLUMNS, compared
from repro.comparison.external_rows import external_rows, placed
from repro.comparison.statistics import table_statistics
from repro.methods.adaptable_adapters import LastLayers
from repro.papers.matrix import Matrix
from repro.papers.request import Request
from repro.papers.tables import Mean, Score, Table
from repro.report.cells import Cell, Place, RowView
from repro.report.derived_cells import cells_of, delta_cell
from repro.report.runs_found import Lookup, kept_epoch
from repro.spec import RunSpec
from repro.stats.summary import Summary, summarise
from repro.store.store import Store

if TYPE_CHECKING:
    import pandas

SCORED = (Score, Mean)
"""The columns that a row which is a difference of two others has."""


@dataclass(frozen=True)
class TableView:
    """A whole table at one scale, as it is shown. `lead` is its first run, for what all share;
    `found` are the rows without verdicts, which follow when they are first needed.
    """

    table: Table
    matrix: Matrix[Table]
    found: tuple[RowView, ...]
    lead: RunSpec

    @property
    def request(self) -> Request:
        return self.matrix.request

    @cached_property
    def _compared(self) -> list[dict[str, Any]]:
        return compared(self.matrix, self.lead, self.found)

    @cached_property
    def rows(self) -> tuple[RowView, ...]:
        """Row by row, with verdicts."""
        verdicts = (
            {"verdict": one["verdict"], "reason": one["reason"] or ""} for one in self._compared
        )
        return tuple(
            replace(row, cells=tuple(replace(cell, **next(verdicts)) for cell in row.cells))
            for row in self.found
        )

    @cached_property
    def asked(self) -> tuple[RowView, ...]:
        """The rows with the cells that are shown, and those that a shown mean is of."""
        asked = {
            one.name for one in self.table.scores if self.table.is_asked(one, self.request)
        } | self._shown
        return tuple(
            replace(row, cells=tuple(cell for cell in row.cells if cell.column.name in asked))
            for row in self.rows
        )

    @cached_property
    def _shown(self) -> set[str]:
        return {column.name for column in self.table.shown(self.request)}

    @cached_property
    def records(self) -> list[dict[str, Any]]:
        """The rows of `frame` in plain Python; what is missing is None."""
        return [one for one in self._compared if one["column"] in self._shown]

    @property
    def frame(self) -> pandas.DataFrame:
        """The cells whose columns are asked for; `repro.comparison.comparison` describes it."""
        return typed(self.records, COLUMNS)

    @property
    def whole(self) -> pandas.DataFrame:
        """The same of all columns, those that the request leaves out included."""
        return typed(self._compared, COLUMNS)

    @cached_property
    def statistics(self) -> list[str]:
        return table_statistics(self.records)

    @property
    def _wanted(self) -> list[Cell]:
        cells = [cell for row in self.found for cell in row.cells]
        return [cell for cell in cells if cell.wanted and cell.column.name in self._shown]

    @property
    def done(self) -> int:
        """Cells behind which everything stands that they need."""
        return sum(cell.complete for cell in self._wanted)

    @property
    def cells(self) -> int:
        return len(self._wanted)

    @property
    def runs(self) -> list[str]:
        """Keys of the stored runs that the cells need, each once."""
        return sorted({key for row in self.found for cell in row.cells for key in cell.behind})

    @property
    def complete(self) -> bool:
        return self.done == self.cells

    @property
    def settled(self) -> bool:
        """No run is missing of a cell that is asked for; some may be without a number."""
        return all(cell.complete or cell.settled for cell in self._wanted)


def view_table(table: Table, request: Request, store: Store) -> TableView:
    matrix, lookup = table.matrix(request), Lookup(store)
    table = matrix.artefact
    rows: dict[str, RowView] = {}
    for row in table.rows:
        at = Place(matrix, row, lookup)
        if row.delta is None or row.only_printed:
            rows[row.name] = RowView(row, cells_of(at), _parameters(at), _span_f1(at))
        else:
            cells = zip(*(rows[name].cells for name in row.delta), strict=True)
            own = tuple(delta_cell(at, *two) for two in cells if isinstance(two[0].column, SCORED))
            rows[row.name] = RowView(row, own, None, None)
    first = (table.reproduced(request) or table.scores or table.columns)[0]
    lead = matrix.of(table.trained[0].name, first.name)[0]
    for row, found in external_rows(table, request, store):
        table, rows[row.name] = placed(table, [row]), found
    return TableView(table, matrix, tuple(rows[row.name] for row in table.rows), lead)


def _parameters(at: Place) -> tuple[int, int | None] | None:
    """Of the row's one model; a reference has none, and a sweep has many."""
    untold = at.row.swept or not at.row.scored
    if untold or not at.table.scores:
        return None
    spec = at.specs((at.table.reproduced(at.request) or at.table.scores)[0])[0]
    if isinstance(spec.method, LastLayers):
        return None  # it trains nothing of its own
    if spec.method.awaits_layers:
        run = at.lookup.find([spec])[0].run
        return (run.result.parameters_trained, run.result.parameters_total) if run else None
    return spec.trained_parameters(), spec.total_parameters()


def _span_f1(at: Place) -> Summary | None:
    """F1 of the best non-null span on answerable questions: tells collapsed models apart."""
    if at.table.tasks != ("squad2",) or at.row.gap is not None:
        return None
    column = at.table.scores[0]
    runs = [one.run for one in at.lookup.find(at.specs(column)) if one.run is not None]
    where = at.split(column), "legacy/best-span", "span_f1", "HasAns"
    found = [run.score(*where, at.row.epoch or kept_epoch(run)) for run in runs]
    values = [score.value for score in found if score is not None]
    return summarise(values) if values else None
