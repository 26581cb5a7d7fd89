"""A table as it stands: every cell with its published and reproduced number and the runs behind.

Built from the store alone, without torch. All renderers read this one structure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from repro.papers.published import Published
from repro.papers.tables import Column, Fact, Mean, Printed, Request, Row, Score, Table
from repro.report.counted import read_count
from repro.report.runs_found import Found, Lookup, kept_epoch, varying, why_missing
from repro.spec import RunSpec
from repro.spec.counts import total_parameters, trained_parameters
from repro.stats.verdicts import Summary, Verdict, compare, judge, summarise
from repro.store.entry import StoredRun
from repro.store.store import Store

__all__ = ["Cell", "RowView", "TableView", "view_table", "why_missing"]


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell. `difference` is reproduced minus published, in the paper's units.

    `text` is what is reproduced in words. `complete`: everything that the cell needs stands behind
    it; `wanted`: it was asked for and can be reproduced at all. `partial` says which of the seeds
    are behind the number, where not all are. `runs` are behind the number, `behind` were read for
    it: a selection reads more. `chosen` is the selected run, by the fields that were swept.
    """

    column: Column
    published: Published | None
    reproduced: Summary | None
    difference: float | None
    verdict: Verdict | None
    reason: str
    runs: tuple[str, ...] = ()
    behind: tuple[str, ...] = ()
    complete: bool = False
    wanted: bool = True
    partial: str = ""
    text: str | None = None
    collapsed: tuple[str, ...] = ()
    chosen: dict[str, Any] | None = None
    model: RunSpec | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class RowView:
    """One row; `parameters` are the trained and the total ones of its first score's model."""

    row: Row
    cells: tuple[Cell, ...]
    parameters: tuple[int, int] | None
    span_f1: Summary | None

    @property
    def collapsed(self) -> int:
        """How many of its runs give a constant answer."""
        return len({key for cell in self.cells for key in cell.collapsed})


@dataclass(frozen=True, slots=True)
class TableView:
    """A whole table at one scale. `lead` is its first run, for what all share."""

    table: Table
    request: Request
    rows: tuple[RowView, ...]
    lead: RunSpec

    @property
    def wanted(self) -> list[Cell]:
        """The cells that were asked for."""
        return [cell for row in self.rows for cell in row.cells if cell.wanted]

    @property
    def done(self) -> int:
        """Cells behind which everything stands that they need."""
        return sum(cell.complete for cell in self.wanted)

    @property
    def cells(self) -> int:
        """Cells asked for."""
        return len(self.wanted)

    @property
    def runs(self) -> list[str]:
        """Keys of the stored runs that the cells need, each once."""
        return sorted({key for row in self.rows for cell in row.cells for key in cell.behind})

    @property
    def complete(self) -> bool:
        """Every cell asked for is reproduced."""
        return self.done == self.cells


def view_table(table: Table, request: Request, store: Store) -> TableView:
    """Lays the store's results into the table."""
    lookup = Lookup(store)
    rows = tuple(_row(table, row, request, lookup) for row in table.rows)
    first = (table.scores or table.columns)[0]
    return TableView(table, request, rows, table.cell_runs(table.rows[0], first, request)[0])


def _row(table: Table, row: Row, request: Request, lookup: Lookup) -> RowView:
    scored = {column.name: _score(table, row, column, request, lookup) for column in table.scores}
    cells = tuple(
        scored.get(column.name) or _derived(table, row, column, request, list(scored.values()),
                                            lookup.store)
        for column in table.columns
    )  # fmt: skip
    if not table.scores:
        return RowView(row, cells, None, None)
    first = table.scores[0]
    specs = table.cell_runs(row, first, request)
    shown = row.select == "mean" and not row.reference
    runs = [] if table.gap(first, request) else [f.run for f in lookup.find(specs) if f.run]
    return RowView(
        row=row,
        cells=cells,
        parameters=(trained_parameters(specs[0]), total_parameters(specs[0])) if shown else None,
        span_f1=_span_f1(runs, _split(table, first, request), row),
    )


def _split(table: Table, column: Score, request: Request) -> str:
    return column.split or table.splits[request.scale]


def _score(table: Table, row: Row, column: Score, request: Request, lookup: Lookup) -> Cell:
    """A cell that runs are trained for."""
    published = table.published_cell(row, column)
    gap = table.gap(column, request)
    if gap:
        wanted = column.task in table.needed(request)
        return Cell(column, published, None, None, "GAP", gap, wanted=wanted)
    found = lookup.find(table.cell_runs(row, column, request))
    split = _split(table, column, request)
    values = []
    for one in found:
        if one.run is not None:
            epoch = row.epoch or kept_epoch(one.run)
            score = one.run.score(split, table.protocol, column.metric, column.group, epoch)
            values += [(one, score.value)] if score is not None else []
    if row.select == "best":
        return _best(table, column, published, request, found, values, lookup)
    return _mean_of_seeds(table, row, column, published, request, found, values, lookup)


def _mean_of_seeds(
    table: Table,
    row: Row,
    column: Score,
    published: Published | None,
    request: Request,
    found: Sequence[Found],
    values: Sequence[tuple[Found, float]],
    lookup: Lookup,
) -> Cell:
    """The mean of a row's runs, one a seed."""
    stored = [one.run for one in found if one.run is not None]
    scored = {one.key for one, _ in values}
    rest = [one for one in found if one.key not in scored]
    why = lookup.why(rest, row.epoch, table.collapse)
    partial = f"{len(values)} of {len(found)} seeds; the rest: {why}" if values and rest else ""
    collapsed = tuple(run.key for run in stored if run.result.collapsed)
    return _judged(
        table, column, published, request, [value for _, value in values], why,
        runs=tuple(one.key for one, _ in values),
        behind=tuple(run.key for run in stored),
        complete=not rest,
        partial=partial,
        collapsed=collapsed if row.epoch is None else (),
    )  # fmt: skip


def _best(
    table: Table,
    column: Score,
    published: Published | None,
    request: Request,
    found: Sequence[Found],
    values: Sequence[tuple[Found, float]],
    lookup: Lookup,
) -> Cell:
    """The best run of a whole sweep; ties to the first. A diverged run is never the best."""
    behind = tuple(one.key for one in found if one.run is not None)
    open_ = [one for one in found if one.run is None and not lookup.diverged(one.key)]
    if open_ or not values:
        why = lookup.why(open_ or found, None, table.collapse)
        if open_ and len(open_) < len(found):
            known = len(found) - len(open_)
            why = f"{known} of {len(found)} runs of the sweep are known; the rest: {why}"
        return Cell(column, published, None, None, "GAP", why, behind=behind)
    best, value = max(values, key=lambda pair: pair[1])
    assert best.run is not None
    return _judged(
        table, column, published, request, [value], "",
        runs=(best.key,),
        behind=behind,
        complete=True,
        collapsed=(best.key,) if best.run.result.collapsed else (),
        chosen=varying(best.spec, [one.spec for one in found]),
        model=best.spec,
    )  # fmt: skip


def _judged(
    table: Table,
    column: Score,
    published: Published | None,
    request: Request,
    values: Sequence[float],
    missing: str,
    **more: Any,
) -> Cell:
    reproduced = summarise(values) if values else None
    known = published.value if published else None
    elsewhere = f"published: {table.server}, reproduced: {column.split}" if table.server else ""
    verdict, reason = judge(known, reproduced, request.scale, missing, elsewhere)
    difference = reproduced.mean - known if reproduced and known is not None else None
    return Cell(column, published, reproduced, difference, verdict, reason, **more)


def _derived(
    table: Table, row: Row, column: Column, request: Request, scores: list[Cell], store: Store
) -> Cell:
    """A cell that follows from others, or from the models themselves."""
    published = table.published_cell(row, column)
    if isinstance(column, Mean):
        return _mean_of_row(table, column, published, request, scores)
    if isinstance(column, Fact):
        return _fact(table, row, column, published, request, scores, store)
    assert isinstance(column, Printed)
    return Cell(column, published, None, None, None, column.reason, wanted=False)


def _mean_of_row(
    table: Table, column: Mean, published: Published | None, request: Request, scores: list[Cell]
) -> Cell:
    """The mean of the row's scores, seed by seed; blank while one of them is not complete."""
    wanted = all(cell.wanted for cell in scores)
    done = sum(cell.complete for cell in scores)
    if done < len(scores):
        why = f"{done}/{len(scores)} columns"
        return Cell(column, published, None, None, "GAP", why, wanted=wanted)
    values = [cell.reproduced.values for cell in scores if cell.reproduced is not None]
    totals = [sum(of_seed) / len(of_seed) for of_seed in zip(*values, strict=True)]
    reproduced = summarise(totals)
    known = published.value if published else None
    elsewhere = f"published: {table.server}, reproduced: validation" if table.server else ""
    verdict, reason = judge(known, reproduced, request.scale, "", elsewhere)
    difference = reproduced.mean - known if known is not None else None
    keys = tuple(dict.fromkeys(key for cell in scores for key in cell.runs))
    return Cell(
        column, published, reproduced, difference, verdict, reason, runs=keys, complete=True
    )


def _fact(
    table: Table,
    row: Row,
    column: Fact,
    published: Published | None,
    request: Request,
    scores: list[Cell],
    store: Store,
) -> Cell:
    """What is known of the row's models; blank while it depends on a choice not made yet."""
    values = []
    groups = [
        [cell.model] if cell.model else table.cell_runs(row, cell.column, request)
        for cell in scores
    ] or [table.cell_runs(row, column, request)]
    for specs in groups:
        counts = [read_count(store, spec) if column.counted else {} for spec in specs]
        if any(count is None for count in counts):
            return Cell(column, published, None, None, "GAP", "not counted")
        found = {column.of(spec, count or {}) for spec, count in zip(specs, counts, strict=True)}
        values += list(found) if len(found) == 1 else []
    if len(values) < len(groups):
        why = f"{len(values)}/{len(groups)} columns have their models chosen"
        wanted = all(cell.wanted for cell in scores)
        return Cell(column, published, None, None, "GAP", why, wanted=wanted)
    value = column.combine(values)
    known = published.value if published else None
    printed = published.text if published and known is None else known
    verdict, reason = compare(printed, value, column.digits)
    if known is not None and not column.everywhere and request.scale != "paper":
        verdict, reason = "NOT COMPARABLE", f"{request.scale} scale"
    if isinstance(value, str):
        return Cell(column, published, None, None, verdict, reason, complete=True, text=value)
    difference = value - known if known is not None else None
    return Cell(column, published, summarise([value]), difference, verdict, reason, complete=True)


def _span_f1(runs: Sequence[StoredRun], split: str, row: Row) -> Summary | None:
    """F1 of the best non-null span on answerable questions: tells collapsed models apart."""
    found = [
        run.score(split, "legacy/best-span", "span_f1", "HasAns", row.epoch or kept_epoch(run))
        for run in runs
    ]
    values = [score.value for score in found if score is not None]
    return summarise(values) if values else None
