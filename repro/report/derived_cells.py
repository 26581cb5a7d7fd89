"""Cells that follow from other cells of their row, or from its models and data, without a run."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from repro.papers.tables import Column, Fact, Mean, Printed, Value
from repro.report.cells import Cell, Place, judged, score_cell, without_runs
from repro.report.counted import read_count
from repro.report.declared import OF_A_COUNT, settings_differ
from repro.spec import RunSpec
from repro.stats.summary import summarise
from repro.stats.verdicts import compare


def cells_of(at: Place) -> tuple[Cell, ...]:
    """The cells of a row; those that follow from its scores are made after these."""
    scores = [score_cell(at, column) for column in at.table.scores]
    found = {cell.column.name: cell for cell in scores}
    return tuple(found.get(one.name) or _derived(at, one, scores) for one in at.table.columns)


def delta_cell(at: Place, first: Cell, second: Cell) -> Cell:
    """The difference of two rows' cells, seed by seed; blank while one of them lacks a seed."""
    column = first.column
    if not (first.complete and second.complete and first.reproduced and second.reproduced):
        wanted = first.wanted and second.wanted
        lacking = " and ".join(at.row.delta or ()) if wanted else first.reason or second.reason
        reason = f"needs {lacking}" if wanted else lacking
        settled = all(cell.complete or cell.settled for cell in (first, second))
        return at.gap(column, reason, wanted=wanted, settled=settled)
    pairs = zip(first.reproduced.values, second.reproduced.values, strict=True)
    keys = tuple(dict.fromkeys(first.runs + second.runs))
    differs = _of_cells([first, second])
    values = [a - b for a, b in pairs]
    return judged(at, column, values, "", runs=keys, complete=True, differs=differs)


def _derived(at: Place, column: Column, scores: list[Cell]) -> Cell:
    """A cell that follows from the row's scores, or from its models themselves."""
    if at.row.only_printed or (at.row.gap is not None and not at.specs(column)):
        return without_runs(at, column)
    if isinstance(column, Mean):
        return _mean_of_row(at, column, scores)
    if isinstance(column, Fact):
        return _fact(at, column, scores)
    assert isinstance(column, Printed)
    published = at.table.published_cell(at.row, column)
    return Cell(column, published, reason=column.reason, wanted=False)


def _mean_of_row(at: Place, column: Mean, scores: list[Cell]) -> Cell:
    """The mean of the row's scores, seed by seed; blank while one of them is not complete."""
    scores = [cell for cell in scores if cell.column in at.table.parts(column)]
    done = [cell.reproduced.values for cell in scores if cell.complete and cell.reproduced]
    if len(done) < len(scores):
        wanted = all(cell.wanted for cell in scores)
        settled = all(cell.complete or cell.settled for cell in scores)
        return at.gap(column, f"{len(done)}/{len(scores)} columns", wanted=wanted, settled=settled)
    totals = [statistics.fmean(of_seed) for of_seed in zip(*done, strict=True)]
    number = None
    if at.table.statistic == "median":  # the paper's is of the printed medians
        number = statistics.fmean(cell.reproduced.mean for cell in scores if cell.reproduced)
    keys = tuple(dict.fromkeys(key for cell in scores for key in cell.runs))
    differs = _of_cells(scores)
    return judged(at, column, totals, "", runs=keys, complete=True, differs=differs, number=number)


def _of_cells(cells: Sequence[Cell]) -> str:
    """Why the runs behind several cells are not the paper's: what holds for the first such cell."""
    found = [cell for cell in cells if cell.differs]
    if len(found) == len(cells) or not found:
        return found[0].differs if found else ""
    return f"{found[0].column.name}: {found[0].differs}"


def _fact(at: Place, column: Fact, scores: list[Cell]) -> Cell:
    """What is known of the row's models; blank while it depends on a choice not made yet."""
    own = at.specs(column)
    of_scores = [] if own else scores
    models = [[cell.model] if cell.model else at.specs(cell.column) for cell in of_scores]
    values: list[Value] = []
    for specs in models or [own]:
        found = {_of_model(at, column, spec) for spec in specs}
        if None in found:
            absent = at.request.unavailable.get(specs[0].task.name)
            return at.gap(column, absent or "not counted")
        values += [value for value in found if value is not None and len(found) == 1]
    if models and len(values) < len(models):
        why = f"{len(values)}/{len(models)} columns have their model chosen"
        settled = all(cell.complete or cell.settled for cell in scores)
        wanted = all(cell.wanted for cell in scores)
        return at.gap(column, why, wanted=wanted, settled=settled)
    return _stated(at, column, column.combine(values), _model_differs(at, column, scores))


def _of_model(at: Place, column: Fact, spec: RunSpec) -> Value | None:
    what = column.counted
    counted = read_count(at.lookup.store, what, spec) if what else {}
    return None if counted is None else column.of(spec, counted)


def _model_differs(at: Place, column: Fact, scores: Sequence[Cell]) -> str:
    """Why the models that a fact is of are not the paper's; nothing is read to count them."""
    if not column.everywhere and at.request.scale != "paper":
        return f"{at.request.scale} scale"
    if not column.everywhere and scores:
        return _of_cells(scores)
    of_all = at.matrix, at.matrix.declared
    ours, declared = (matrix.behind((at.row.name, column.name)) for matrix in of_all)
    return settings_differ(ours, declared, OF_A_COUNT)


def _stated(at: Place, column: Fact, value: Value, differs: str) -> Cell:
    """A cell whose number or words are no measurement: compared exactly."""
    published = at.table.published_cell(at.row, column)
    known = published.value if published else None
    worded = known is None or isinstance(value, str)
    printed = published.text if published and worded else known
    digits = min(column.digits, published.places) if published else column.digits
    verdict, reason = compare(printed, value, digits)
    if verdict is not None and differs:
        verdict, reason = "NOT COMPARABLE", differs
    text = value if isinstance(value, str) else None
    found = None if isinstance(value, str) else summarise([value])
    difference = found.mean - known if found is not None and known is not None else None
    return Cell(
        column, published, found, difference, verdict, reason, complete=True, text=text,
        differs=differs,
    )  # fmt: skip
