"""One cell of a table as it stands: from the runs behind it, or from other cells."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from repro.papers.matrix import Matrix
from repro.papers.published import Published
from repro.papers.request import Request
from repro.papers.tables import NOT_ASKED, Column, Mean, Row, Score, Table
from repro.report.declared import runs_differ
from repro.report.runs_found import Found, Lookup, kept_epoch, varying
from repro.server.layout import of_column
from repro.spec import RunSpec, canonical_json
from repro.spec.identity import identity_fields
from repro.spec.types import ARCHITECTURE
from repro.stats.summary import Summary, expected_maximum, summarise
from repro.stats.verdicts import Verdict, comparable, compare
from repro.store.entry import StoredRun
from repro.store.result import Number
from repro.words import grouped

NOT_IMPORTED = "no score of the GLUE test server was imported (see python -m repro export --help)"


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell. `difference` is reproduced minus published, in the paper's units.

    `text` is what is reproduced in words. `complete`: everything that the cell needs stands behind
    it; `wanted`: it was asked for and can be reproduced at all. `partial` says which of the seeds
    have no number and why, if some but not all have one. `runs` are behind the number, `behind`
    were read for it: a selection reads more. `chosen` is the selected run, by the fields that were
    swept. `differs`: why its runs are not the paper's (see `report.declared`), "" where they are.
    """

    column: Column
    published: Published | None
    reproduced: Summary | None = None
    difference: float | None = None
    verdict: Verdict | None = None
    reason: str = ""
    runs: tuple[str, ...] = ()
    behind: tuple[str, ...] = ()
    complete: bool = False
    wanted: bool = True
    partial: str = ""
    text: str | None = None
    collapsed: tuple[str, ...] = ()
    chosen: dict[str, Any] | None = None
    settled: bool = False
    """All its runs are stored, and they give no number: nothing that is trained would change it."""
    model: RunSpec | None = field(default=None, repr=False)
    differs: str = ""
    external: Number | None = None
    """What somebody added, in place of a reproduced number."""
    rows: str = ""
    """The rows that it is scored on, where these are not those of the column."""

    @property
    def converged(self) -> Summary | None:
        """Of the runs that did not collapse; None where all or none of them did."""
        if not self.collapsed or self.reproduced is None or len(self.runs) != self.reproduced.n:
            return None
        pairs = zip(self.runs, self.reproduced.values, strict=True)
        values = [value for key, value in pairs if key not in self.collapsed]
        return summarise(values) if values else None


@dataclass(frozen=True, slots=True)
class RowView:
    """One row; `parameters` are the trained and the total ones of its first score's model, these
    None where nobody knows.
    """

    row: Row
    cells: tuple[Cell, ...]
    parameters: tuple[int, int | None] | None
    span_f1: Summary | None

    @property
    def collapsed(self) -> int:
        """How many of its runs give a constant answer."""
        return len({key for cell in self.cells for key in cell.collapsed})


@dataclass(frozen=True, slots=True)
class Place:
    """A row of a table, and where its runs are looked up."""

    matrix: Matrix[Table]
    row: Row
    lookup: Lookup

    @property
    def table(self) -> Table:
        return self.matrix.artefact

    @property
    def request(self) -> Request:
        return self.matrix.request

    def specs(self, column: Column) -> list[RunSpec]:
        return self.matrix.of(self.row.name, column.name)

    def differs(self, column: Column) -> str:
        return runs_differ(self.matrix, self.lookup, (self.row.name, column.name))

    def split(self, column: Score) -> str:
        """The rows that the column is scored on."""
        return self.table.split(column, self.request.scale)

    def gap(self, column: Column, reason: str, **more: Any) -> Cell:
        published = self.table.published_cell(self.row, column)
        return Cell(column, published, verdict="GAP", reason=reason, **more)


def score_cell(at: Place, column: Score) -> Cell:
    """A cell that runs are trained for."""
    gap = at.table.gap(column, at.request)
    if at.row.only_printed or (at.row.gap is not None and not gap):
        return without_runs(at, column)
    if gap:
        return at.gap(column, gap, wanted=gap != NOT_ASKED)
    found = at.lookup.find(at.specs(column))
    values = [
        (one, value)
        for one in found
        if one.run is not None and (value := value_of(at, column, one.run)) is not None
    ]
    if at.row.swept:
        return _chosen(at, column, found, values)
    if at.request.server:
        values = [(one, value) for one in found if (value := _served(at, column, one)) is not None]
    return _mean_of_seeds(at, column, found, values)


def without_runs(at: Place, column: Column) -> Cell:
    if at.row.only_printed or at.row.gap is None:
        published = at.table.published_cell(at.row, column)
        return Cell(column, published, reason=at.row.only_printed, wanted=False)
    return at.gap(column, at.row.gap.reason, wanted=at.row.gap.wanted)


def value_of(at: Place, column: Score, run: StoredRun, split: str = "") -> float | None:
    """The run's score, on these rows where a split is given; or how many of its layers have an
    adapter in use.
    """
    if at.row.measure == "layers":
        return None if run.result.layers is None else float(len(run.result.layers))
    epoch = at.row.epoch or kept_epoch(run)
    rows = split or at.split(column)
    where = rows, column.protocol or at.table.protocol, column.metric, column.group, epoch
    score = run.score(*where, task=column.task if len(run.tasks) > 1 else None)
    return None if score is None else score.value


def _served(at: Place, column: Score, found: Found) -> float | None:
    """What the GLUE test server said of a stored run for the test rows that belong to a column.

    None where no score of that metric was imported, where the run was trained again to another
    result since, and where the server has no such test rows.
    """
    served, file = at.lookup.store.served(found.key), of_column(column.task, column.split)
    if found.run is None or served is None or file is None or found.run.digest != served.result:
        return None
    return served.value(file.task, file.split, column.metric)


def _mean_of_seeds(
    at: Place, column: Score, found: Sequence[Found], values: Sequence[tuple[Found, float]]
) -> Cell:
    """The mean of a row's runs, one a seed."""
    scored = {one.key for one, _ in values}
    rest = [one for one in found if one.key not in scored]

    def why(lacking: Sequence[Found]) -> str:
        if at.request.server and all(one.run is not None for one in lacking):
            return NOT_IMPORTED
        return at.lookup.why(lacking, at.row.epoch, at.table.collapse)

    stored = [one.run for one in found if one.run is not None]
    collapsed = tuple(run.key for run in stored if run.result.collapsed)
    once = _once(at, values)
    cell = judged(
        at,
        column,
        list(once.values()),
        why(rest),
        differs=at.differs(column) if values else "",
        runs=tuple(once),
        behind=tuple(run.key for run in stored),
        complete=not rest,
        settled=bool(rest) and not at.request.server and _all_stored(rest),
        partial=at.lookup.missing(rest, len(found), why) if values else "",
        collapsed=collapsed if at.row.epoch is None and at.row.measure == "score" else (),
    )
    named = at.row.measure == "layers" and not any(map(_selected_by, found))
    if named and cell.verdict == "UNDECIDED" and cell.reproduced and cell.published:
        # a number of layers that the settings name is compared exactly
        published, mean = cell.published, cell.reproduced.mean
        verdict, reason = compare(published.value, mean, published.decimals)
        return replace(cell, verdict=verdict, reason=reason)
    return cell


def _once(at: Place, values: Sequence[tuple[Found, float]]) -> dict[str, float]:
    """Run -> the value that it gave, each run once.

    A number of layers is given by the run that selected them, however many runs use its selection;
    where the settings name the layers, all runs have the same number and the first stands for it.
    """
    once: dict[str, float] = {}
    for one, value in values:
        key = one.key
        if at.row.measure == "layers":
            key = _selected_by(one) or values[0][0].key
        once.setdefault(key, value)
    return once


def _selected_by(one: Found) -> str:
    """The key of the run that selected a run's layers: its parent "architecture", or itself if it
    learns which; "" if its settings name the layers.
    """
    if one.spec.method.awaits_layers:
        return one.spec.parents[ARCHITECTURE]
    return one.key if one.spec.method.selects_layers else ""


def _all_stored(found: Sequence[Found]) -> bool:
    return all(one.run is not None for one in found)


def _chosen(
    at: Place, column: Score, found: Sequence[Found], values: Sequence[tuple[Found, float]]
) -> Cell:
    """The best run of a whole sweep or, tuned, the mean over seeds of the setting with the best
    mean on validation. Ties go to the first; what diverged is never the best.

    Blank while one of the others may still win.
    """
    stored = tuple(one.key for one in found if one.run is not None)
    shown = {one.key: value for one, value in values}
    tuned = at.row.select == "tuned"
    settings = grouped((_setting(one.spec) if tuned else one.key, one) for one in found)
    worth = {
        name: _on_validation(at, runs) if tuned else shown.get(name)
        for name, runs in settings.items()
    }
    known = {name: value for name, value in worth.items() if value is not None}
    why = _undecided(at, found, values) or ("" if known else "every setting diverged")
    if why:
        return at.gap(column, why, behind=stored, settled=_all_stored(found))
    best = settings[max(known, key=lambda name: known[name])]
    if any(one.key not in shown for one in best):
        why = at.lookup.why(best, at.row.epoch, at.table.collapse)
        return at.gap(column, why, behind=stored, settled=_all_stored(best))
    chosen = varying(best[0].spec, [runs[0].spec for runs in settings.values()])
    more: dict[str, Any] = {"behind": stored, "chosen": chosen, "model": best[0].spec}
    numbers, differs = [shown[one.key] for one in best], at.differs(column)
    if not tuned:
        number, fewer = _best_of(at, column, best[0], values)
        if number is None:
            return at.gap(column, NOT_IMPORTED, **more)
        numbers, differs = [number], differs or fewer
    return judged(
        at,
        column,
        numbers,
        "",
        differs=differs,
        runs=tuple(one.key for one in best),
        complete=True,
        collapsed=tuple(one.key for one in best if one.run and one.run.result.collapsed),
        **more,
    )


def _best_of(
    at: Place, column: Score, best: Found, values: Sequence[tuple[Found, float]]
) -> tuple[float | None, str]:
    """The number of the best run, None where the server's was not imported, and why it is the best
    of fewer runs than declared.

    With more seeds than the paper's best is of (as printed, else as declared), it is what the best
    of that number is expected to be.
    """
    published = at.table.published_cell(at.row, column)
    restarts = (published.n if published else None) or at.table.default_seeds["paper"]
    of_seed = list(map(max, grouped((one.spec.seed, value) for one, value in values).values()))
    fewer = f"best of {at.request.seeds}, declared of {restarts}"
    if at.request.server:
        number = _served(at, column, best)
    else:
        number = expected_maximum(of_seed, min(restarts, len(of_seed)))
    return number, fewer if at.request.seeds < restarts else ""


def _setting(spec: RunSpec) -> str:
    """What the runs of a setting share: all but the seed."""
    return canonical_json(identity_fields(spec.model_copy(update={"seed": 0})))


def _undecided(at: Place, found: Sequence[Found], values: Sequence[tuple[Found, float]]) -> str:
    """Why the best of a sweep is not known yet; "" where it is."""
    open_ = [one for one in found if one.run is None and not at.lookup.diverged(one.key)]
    if not open_ and values:
        return ""
    why = at.lookup.why(open_ or found, None, at.table.collapse)
    if open_ and len(open_) < len(found):
        known = f"{len(found) - len(open_)} of {len(found)}"
        return f"{known} runs of the sweep have ended; the rest: {why}"
    return why


def _on_validation(at: Place, runs: Sequence[Found]) -> float | None:
    """The mean of the task's monitored metric on its first scored split; None where one lacks."""
    values = []
    for one in runs:
        facts = one.spec.task.facts
        where = facts.evaluation[0], one.spec.task.protocol, facts.monitor, "ALL"
        score = one.run.score(*where, kept_epoch(one.run)) if one.run is not None else None
        if score is None:
            return None
        values.append(score.value)
    return statistics.fmean(values)


def judged(
    at: Place,
    column: Column,
    values: Sequence[float],
    missing: str,
    differs: str,
    number: float | None = None,
    **more: Any,
) -> Cell:
    """A cell with the mean or median of `values`, or `number` in its place, or a gap because of
    `missing`.
    """
    published = at.table.published_cell(at.row, column)
    known = published.value if published else None
    reproduced = summarise(values, at.table.statistic) if values else None
    if reproduced is not None and number is not None:
        reproduced = replace(reproduced, mean=number)
    obstacle = differs or _other_rows(at, column)
    verdict, reason = comparable(known, reproduced, missing, obstacle)
    difference = reproduced.mean - known if reproduced and known is not None else None
    return Cell(column, published, reproduced, difference, verdict, reason, differs=differs, **more)


def _other_rows(at: Place, column: Column) -> str:
    """Why the printed number is of other rows; that of a mean is of the rows of all its scores."""
    if isinstance(column, Score):
        scores = [column]
    else:
        scores = at.table.parts(column) if isinstance(column, Mean) else at.table.scores
    found = {score.name: why for score in scores if (why := at.table.other_rows(score, at.request))}
    if not found:
        return ""
    first, many = next(iter(found)), len(scores) > 1
    named = f"{first}: " if many and len(set(found.values())) > 1 else ""
    return f"{named}{found[first]}"
