"""What a published table is."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol

from repro.errors import MissingData, ReproError
from repro.papers.margins import WIDEST, half_of
from repro.papers.published import Published, load_published
from repro.papers.request import Request
from repro.spec import RunSpec, Scale, TextToText, run_key


class Artefact(Protocol):
    """A table or a figure: what a plan and the command line need of it."""

    @property
    def id(self) -> str:
        """What a user types."""

    @property
    def title(self) -> str:
        """What it shows, with its number in the paper."""

    @property
    def default_seeds(self) -> dict[Scale, int]:
        """Seeds where the user asks for no number."""

    @property
    def tasks(self) -> tuple[str, ...]:
        """What it can train on: "squad2", or names of GLUE tasks."""

    def needed(self, request: Request) -> tuple[str, ...]:
        """Those of its tasks that this request trains on, if their data can be had."""

    def wanted(self, request: Request) -> list[RunSpec]:
        """The runs whose results it shows, each once."""

    def runs(self, request: Request) -> list[RunSpec]:
        """These and all that they are made from, each once, parents before their children."""


@dataclass(frozen=True, slots=True)
class Column:
    """A printed column: where its numbers stand in the CSV ("" where they are not printed)."""

    name: str
    published_column: str
    published_metric: str


SERVER = "GLUE test server"


@dataclass(frozen=True, slots=True)
class Score(Column):
    """A column that a score of a row's runs on one task reproduces. `protocol` and `margin`, where
    they are None, are the table's.

    `published_rows` says which rows the printed number is of, `split` which rows are scored here:
    the same word where these are the same rows. Only then can the two numbers be compared. A paper
    that does not say is `not_stated`.
    """

    metric: str
    published_rows: str
    split: str
    group: str = "ALL"
    task: str = "squad2"
    protocol: str | None = None
    margin: float | None = None


def not_stated(what: str) -> str:
    """The published rows of a number whose paper leaves open what it is of."""
    return f"rows that cannot be known ({what})"


@dataclass(frozen=True, slots=True)
class Mean(Column):
    """The mean of a row's scores; without a printed column of its own, that of printed scores.

    `between`: two rows whose printed means the paper compares; their gap bounds the margin.
    """

    digits: int = 1
    between: tuple[str, str] | None = None


Value = float | str
Counted = Literal["", "modules", "rows"]


@dataclass(frozen=True, slots=True)
class Fact(Column):
    """What is known of a row's models without a score: a count, a share, a word.

    `of` gives it for one run, from what was counted for it; `combine` joins those of a row's
    scores, in a table that has some. `counted`: what must be counted first, the modules of the
    model or the rows of its task's data; "": nothing.
    `everywhere`: the same at all scales, so that it can be compared at all.
    """

    of: Callable[[RunSpec, Mapping[str, int]], Value]
    combine: Callable[[Sequence[Value]], Value] = lambda values: values[0]
    digits: int = 0
    counted: Counted = ""
    everywhere: bool = False


@dataclass(frozen=True, slots=True)
class Printed(Column):
    """A column that nothing here reproduces, and the reason."""

    reason: str


Select = Literal["mean", "best", "tuned"]


@dataclass(frozen=True, slots=True)
class RowGap:
    """Why the runs of a row cannot be trained for a request: its encoder cannot have the model, or
    data are not here for a run that they are made from. `wanted`: with the data they could be.
    """

    reason: str
    wanted: bool


@dataclass(frozen=True, slots=True)
class Row:
    """One printed row and the runs that reproduce it.

    `published` is its name in the CSV (None: a row of ours, without a published value); `epoch`
    picks one epoch of the run's history (None: the one it kept). `select`: a cell is the mean of
    its runs; the best of them by its own metric on validation; or, tuned, the mean over seeds of
    the setting that is best on validation, whatever rows are shown.
    """

    name: str
    variant: str
    published: str | None = None
    section: str = ""
    epoch: int | None = None
    reference: bool = False
    note: str = ""
    select: Select = "mean"
    only_printed: str = ""
    """Why nothing here reproduces the row; such a row has no runs."""
    delta: tuple[str, str] | None = None
    """Two other rows, by name: this one is the first minus the second."""
    measure: Literal["score", "layers"] = "score"
    """What its cells hold: scores, or how many layers of the runs have an adapter in use."""
    metric: str = ""
    """The metric of its numbers in the CSV, where that is not the column's."""
    gap: RowGap | None = None
    """Set for a request by `Table.shown`; such a row has no runs."""

    @property
    def trained(self) -> bool:
        """It has runs of its own."""
        return not self.only_printed and self.delta is None and self.gap is None

    @property
    def scored(self) -> bool:
        """Its cells are scores of a model of the paper's."""
        return self.trained and not self.reference and self.measure == "score"

    @property
    def swept(self) -> bool:
        """A cell has runs of several settings, of which one is chosen."""
        return self.select != "mean"


@dataclass(frozen=True, slots=True)
class Table:
    """A published table as data. `cell_runs(row, column, request)` are the runs behind a cell;
    in a table without scores, the models that its facts are of.

    `splits`: the name of the scored rows at a scale where it is not the column's `split`.
    `transposed`: it is printed with columns as rows, in the CSV and for a reader. `spread` is what
    stands after ±: the standard deviation of the runs, or the standard error of their mean; of a
    paper that divides by the number of runs, the population's. `parents(row, column, request)` are
    runs that those of a cell need first; `also` are tasks that they may be on, whatever is asked.
    `low_data`: where a task has no training rows here, validation rows are divided.
    `models(row, request)`: of what a row's facts are, where that is not its runs.
    `published` is the CSV of its numbers, "" where none is known.
    `margin`: the largest difference, in the columns' units, that changes no conclusion of the
    paper's, declared before any result exists (see `papers.margins`); a column may have its own.
    """

    id: str
    paper: str
    title: str
    published: str
    rows: tuple[Row, ...]
    columns: tuple[Column, ...]
    protocol: str
    default_seeds: dict[Scale, int]
    cell_runs: Callable[[Row, Column, Request], list[RunSpec]]
    margin: float = WIDEST
    collapse: str = "answers no question"
    transposed: bool = False
    spread: Literal["sd", "sem", "population sd"] = "sd"
    notes: tuple[str, ...] = field(default=())
    parents: Callable[[Row, Column, Request], list[RunSpec]] | None = None
    also: tuple[str, ...] = ()
    low_data: bool = False
    models: Callable[[Row, Request], list[RunSpec]] | None = None
    whole: tuple[Row, ...] = ()
    """Of a table some parts of which are shown, all rows: margins are the same in all of them."""
    splits: dict[Scale, str] = field(default_factory=dict)

    @property
    def server(self) -> bool:
        """Its printed scores are those of the GLUE test server."""
        return any(column.published_rows == SERVER for column in self.scores)

    def split(self, column: Score, scale: Scale) -> str:
        """The rows that a column is scored on, as results name them."""
        return self.splits.get(scale, column.split)

    def other_rows(self, column: Score, request: Request) -> str:
        """Why a printed number is not of the rows that are scored; "" where it is of the same."""
        here = SERVER if request.server else self.split(column, request.scale)
        if column.published_rows == here:
            return ""
        return f"published: {column.published_rows}, reproduced: {here}"

    @property
    def sections(self) -> tuple[str, ...]:
        """Its parts, in order; none of an undivided table."""
        return tuple(dict.fromkeys(row.section for row in self.rows if row.section))

    def shown(self, request: Request) -> Table:
        """The table with the parts that are asked for, and a gap in each row whose runs cannot be
        trained. Raises ReproError where that is so of all rows but the references.
        """
        rows, whole = self.rows, self.whole
        if request.sections is not None:
            rows = tuple(row for row in rows if row.section in request.sections)
            whole = whole or self.rows
        rows = self._with_gaps(rows, request)
        return self if rows == self.rows else replace(self, rows=rows, whole=whole)

    def _with_gaps(self, rows: tuple[Row, ...], request: Request) -> tuple[Row, ...]:
        columns = [column for column in self.scores if not self.gap(column, request)]
        of_parents = request.unavailable and self.parents is not None
        if not columns or (request.backbone is None and not of_parents):
            return rows
        one = replace(request, seeds=1)
        found = [
            replace(row, gap=self._row_gap(row, columns[0], one)) if row.trained else row
            for row in rows
        ]
        gaps = [row.gap for row in found if row.gap is not None]
        if gaps and not any(row.trained and not row.reference for row in found):
            raise (MissingData if gaps[0].wanted else ReproError)(gaps[0].reason)
        return tuple(found)

    def _row_gap(self, row: Row, column: Score, request: Request) -> RowGap | None:
        """Why the row has no runs for this encoder and these data. Raises ReproError where they
        cannot be made for the scale's own encoder either: then something else is asked wrongly.
        """
        try:
            self.cell_runs(row, column, request)
            first = self.parents(row, column, request) if self.parents is not None else []
        except ReproError as problem:
            if request.backbone is None:
                raise
            try:
                self.cell_runs(row, column, replace(request, backbone=None))
            except ReproError:
                raise problem from None
            return RowGap(str(problem).removesuffix("."), wanted=False)
        for task in dict.fromkeys(task for spec in first for task in tasks_of(spec)):
            if task in request.unavailable:
                why = request.unavailable[task].removesuffix(".")
                return RowGap(f"it needs a run on {task}: {why}", wanted=True)
        return None

    @property
    def trained(self) -> list[Row]:
        """The rows that have runs."""
        return [row for row in self.rows if row.trained]

    @property
    def scores(self) -> list[Score]:
        """The columns that runs are trained for."""
        return [column for column in self.columns if isinstance(column, Score)]

    @property
    def tasks(self) -> tuple[str, ...]:
        """The tasks of its columns, in order."""
        return tuple(dict.fromkeys(column.task for column in self.scores))

    def needed(self, request: Request) -> tuple[str, ...]:
        """Those of its tasks that are asked for."""
        asked = self.tasks if request.tasks is None else request.tasks
        return tuple(task for task in self.tasks if task in asked)

    def gap(self, column: Score, request: Request) -> str:
        """Why this column cannot be reproduced, whatever is run; "" where it can."""
        if column.task not in self.needed(request):
            return NOT_ASKED
        return request.unavailable.get(column.task, "")

    def published_cell(self, row: Row, column: Column) -> Published | None:
        """The printed number, or None where the paper has none."""
        if row.published is None:
            return None
        if isinstance(column, Mean) and not column.published_column:
            return self.printed_mean(row)
        cells = load_published(self.paper, self.published)
        names = row.published, column.published_column
        first, second = reversed(names) if self.transposed else names
        return cells.get((first, second, row.metric or column.published_metric))

    def behind(self, row: Row, column: Column, request: Request) -> list[RunSpec]:
        """The runs of a cell; of a fact the models that it is of."""
        if self.models is not None and isinstance(column, Fact):
            return self.models(row, request)
        return self.cell_runs(row, column, request)

    def margin_of(self, column: Column) -> float | None:
        """The margin declared for a measured column, None for another; the rounding of the printed
        number is not in it.
        """
        if isinstance(column, Score):
            return self.margin if column.margin is None else column.margin
        if not isinstance(column, Mean):
            return None
        rows = self.whole or self.rows
        known = [row for row in rows if row.name in (column.between or ())]
        cells = [self.published_cell(row, column) for row in known]
        printed = [cell.value for cell in cells if cell is not None and cell.value is not None]
        return half_of(max(printed) - min(printed)) if printed else self.margin

    def printed_mean(self, row: Row) -> Published | None:
        """The mean of a row's printed scores; None while one of them is not printed."""
        cells = [self.published_cell(row, column) for column in self.scores]
        values = [cell.value for cell in cells if cell is not None and cell.value is not None]
        if len(values) < len(cells) or not values:
            return None
        mean = statistics.fmean(values)
        source = "recomputed from the printed scores of the row"
        return Published(row.name, "", "mean", mean, f"{mean:.2f}", None, None, source, decimals=2)

    def wanted(self, request: Request) -> list[RunSpec]:
        """The runs whose results its cells show, each once."""
        return self._runs(request, (self.cell_runs,))

    def runs(self, request: Request) -> list[RunSpec]:
        """These and all that they are made from, each once: one seed of all rows before the second
        seed, and parents before their children.
        """
        return self._runs(request, (self.parents, self.cell_runs))

    def _runs(
        self, request: Request, kinds: Sequence[Callable[..., list[RunSpec]] | None]
    ) -> list[RunSpec]:
        columns = [column for column in self.scores if not self.gap(column, request)]
        specs = {
            run_key(spec): spec
            for row in self.shown(request).trained
            for column in columns
            for runs in kinds
            if runs is not None
            for spec in runs(row, column, request)
        }
        return sorted(specs.values(), key=lambda spec: spec.seed)


def tasks_of(spec: RunSpec) -> tuple[str, ...]:
    """The tasks that a run trains on: one, or those of a mixture."""
    return spec.task.tasks if isinstance(spec.task, TextToText) else (spec.task.name,)


NOT_ASKED = "not asked for (--tasks)"
