"""What a published table is."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Literal

from repro.errors import MissingData, ReproError
from repro.papers.matrix import ONE_SEED, Chain, Matrix, Where, tasks_of
from repro.papers.own_method import with_method
from repro.papers.published import WIDEST, Published, load_published
from repro.papers.request import Request
from repro.papers.setting import Template
from repro.spec import RunSpec, Scale
from repro.spec.method import Method, methods
from repro.stats.summary import Statistic


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
    they are None, are the table's. `start`: the task of the runs that its runs start from.

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
    start: str = ""


def not_stated(what: str) -> str:
    """The published rows of a number whose paper leaves open what it is of."""
    return f"rows that cannot be known ({what})"


@dataclass(frozen=True, slots=True)
class Mean(Column):
    """The mean of a row's scores; without a printed column of its own, that of printed scores.

    `between`: two rows of the CSV whose means the paper compares; their gap bounds the margin.
    `without`: names of scores that are left out.
    """

    digits: int = 1
    between: tuple[str, ...] = ()
    without: tuple[str, ...] = ()


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
    its runs, or the statistic that the table declares; the best of them by its own metric on
    validation; or, tuned, the mean over seeds of the setting that is best on validation, whatever
    rows are shown.
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
    measure: Literal["score", "layers", "external"] = "score"
    """What its cells hold: scores, how many layers of the runs have an adapter in use, or numbers
    that somebody added, which no run is behind.
    """
    metric: str = ""
    """The metric of its numbers in the CSV, where that is not the column's."""
    added: bool = False
    """It is not the paper's: a method of the user's, trained as another row is."""
    gap: RowGap | None = None
    """Set for a request by `Table.matrix`; such a row has no runs."""

    @property
    def part(self) -> str:
        """The section of a row whose name begins with it, as tables repeat their rows; else ""."""
        return self.section if self.name.startswith(f"{self.section} / ") else ""

    @property
    def trained(self) -> bool:
        """It has runs of its own."""
        makes = not self.only_printed and self.delta is None and self.measure != "external"
        return makes and self.gap is None

    @property
    def scored(self) -> bool:
        """Its cells are scores of a model of the paper's."""
        return self.trained and not self.reference and self.measure == "score"

    @property
    def swept(self) -> bool:
        """A cell has runs of several settings, of which one is chosen."""
        return self.select != "mean"


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Table:
    """A published table as data.

    `chains(row, column, request)` gives the runs of a cell, one chain for each seed and setting; a
    chain ends with the cell's own run, and the runs that it is made from stand before it. For a
    `Fact` it gives the models that are counted, or nothing where these are the models of the row's
    scores. The result may depend on the row's variant and section only: rows that share both share
    it.
    `splits`: the name of the scored rows at a scale where it is not the column's `split`.
    `transposed`: it is printed with columns as rows, in the CSV and for a reader. `statistic`: a
    cell is the mean or the median of its runs. `spread` is what stands after ±: the standard
    deviation of the runs, or the standard error of their mean; of a paper that divides by the
    number of runs, the population's; or an interval of no stated level, which is shown and not
    used. `also` are tasks that needed runs
    may be on, whatever is asked.
    `low_data`: where a task has no training rows here, validation rows are divided.
    `published` is the CSV of its numbers, "" where none is known.
    `margin`: the largest difference, in the columns' units, that changes no conclusion of the
    paper's, declared before any result exists (see `papers.published`); a column may have its own.
    """

    id: str
    paper: str
    title: str
    published: str
    rows: tuple[Row, ...]
    columns: tuple[Column, ...]
    protocol: str
    chains: Callable[[Row, Column, Request], Sequence[Chain]]
    default_seeds: dict[Scale, int] = field(default_factory=ONE_SEED.copy)
    margin: float = WIDEST
    collapse: str = "predicts one class"
    transposed: bool = False
    statistic: Statistic = "mean"
    spread: Literal["sd", "sem", "population sd", "interval"] = "sd"
    notes: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    low_data: bool = False
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

    def matrix(self, request: Request) -> Matrix[Table]:
        """The runs of every cell that is asked for, and the table as it is shown for them: with the
        parts that are asked for, and a gap in each row whose runs cannot be trained. Where a fact
        needs them, the models of the other cells, too.

        Raises ReproError where no row but the references can be trained.
        """
        own = methods().get(request.method) if request.method is not None else None
        return _matrix(self, request, own)

    @property
    def trained(self) -> list[Row]:
        """The rows that have runs."""
        return [row for row in self.rows if row.trained]

    @property
    def scores(self) -> list[Score]:
        """The columns that runs are trained for."""
        return [column for column in self.columns if isinstance(column, Score)]

    def parts(self, mean: Mean) -> list[Score]:
        """The scores that a mean is of."""
        return [column for column in self.scores if column.name not in mean.without]

    @property
    def tasks(self) -> tuple[str, ...]:
        """The tasks of its columns, in order."""
        return tuple(dict.fromkeys(column.task for column in self.scores))

    def shown(self, request: Request) -> list[Column]:
        """The columns that are asked for by name and task; of means those whose scores all are."""
        named = [c for c in self.columns if request.columns is None or c.name in request.columns]

        def has_scores(column: Column) -> bool:
            own = self.parts(column) if isinstance(column, Mean) else [column]
            return all(self.is_asked(one, request) for one in own if isinstance(one, Score))

        return [column for column in named if has_scores(column)]

    def is_asked(self, column: Score, request: Request) -> bool:
        """Whether the column is asked for by name and task, or a mean that needs it is."""
        of = [m.name for m in self.columns if isinstance(m, Mean) if column in self.parts(m)]
        named = request.columns is None or {column.name, *of} & set(request.columns)
        return bool(named) and (request.tasks is None or column.task in request.tasks)

    def needed(self, request: Request) -> tuple[str, ...]:
        """Those of its tasks that are asked for."""
        return tuple(dict.fromkeys(c.task for c in self.scores if self.is_asked(c, request)))

    def gap(self, column: Score, request: Request) -> str:
        """Why this column cannot be reproduced, whatever is run; "" where it can."""
        if not self.is_asked(column, request):
            return NOT_ASKED
        if column.start in request.unavailable and column.task not in request.unavailable:
            return f"needs a run on {column.start}: {request.unavailable[column.start]}"
        return request.unavailable.get(column.task, "")

    def reproduced(self, request: Request) -> list[Score]:
        """The scores that are asked for and whose data are here."""
        return [column for column in self.scores if not self.gap(column, request)]

    def published_cell(self, row: Row, column: Column) -> Published | None:
        """The printed number, or None where the paper has none."""
        if row.published is not None and not column.published_column:
            return self.printed_mean(row, column) if isinstance(column, Mean) else None
        place = self.place(row, column)
        return load_published(self.paper, self.published).get(place) if place else None

    def place(self, row: Row, column: Column) -> tuple[str, str, str] | None:
        """Row, column and metric of the printed number in the CSV; None where it is not printed."""
        if row.published is None or not column.published_column:
            return None
        names = row.published, column.published_column
        first, second = reversed(names) if self.transposed else names
        return first, second, row.metric or column.published_metric

    def margin_of(self, column: Column) -> float | None:
        """The margin declared for a measured column, None for another; the rounding of the printed
        number is not in it.
        """
        if isinstance(column, Score):
            return self.margin if column.margin is None else column.margin
        if not isinstance(column, Mean):
            return None
        compared = [Row(name, "", name) for name in column.between]
        cells = [self.published_cell(row, column) for row in compared]
        printed = [cell.value for cell in cells if cell is not None and cell.value is not None]
        return min(WIDEST, (max(printed) - min(printed)) / 2) if printed else self.margin

    def printed_mean(self, row: Row, mean: Mean) -> Published | None:
        """What `mean` is of a row's printed scores; None while one of them is not printed."""
        cells = [self.published_cell(row, column) for column in self.parts(mean)]
        values = [cell.value for cell in cells if cell is not None and cell.value is not None]
        if len(values) < len(cells) or not values:
            return None
        value = statistics.fmean(values)
        source = "recomputed from the printed scores of the row"
        text = f"{value:.2f}"
        return Published(row.name, "", "mean", value, text, None, None, source, decimals=2)


def one_a_seed(
    runs: Callable[[str, str, Request], Template],
) -> Callable[[Row, Column, Request], list[Chain]]:
    """The `chains` of a table whose cells have one run a seed, of `runs(variant, task, request)`,
    which need no other.
    """

    def chains(row: Row, column: Column, request: Request) -> list[Chain]:
        assert isinstance(column, Score)
        return runs(row.variant, column.task, request).chains(request)

    return chains


@lru_cache(maxsize=32)
def _matrix(table: Table, request: Request, method: type[Method] | None) -> Matrix[Table]:
    """`method` is the class of the further row: an edited file gives another one of its name."""
    source = table
    if request.method is not None:
        table = with_method(table, request, request.method)
    shown = _sections(table, request)
    asked = table.reproduced(request)
    facts = [column for column in table.columns if isinstance(column, Fact)]
    others = [c for c in table.scores if c not in asked] if facts or not asked else []
    cells: dict[Where, Sequence[Chain]] = {}
    models: dict[Where, Sequence[Chain]] = {}
    rows: list[Row] = []
    alike: dict[tuple[str, str], tuple[RowGap | None, list[Sequence[Chain]]]] = {}
    for row in shown.rows:
        if not row.trained:
            rows.append(row)
            continue
        same = row.variant, row.section
        if same not in alike:
            alike[same] = _of_row(table, row, asked, request)
        gap, chains = alike[same]
        rows.append(replace(row, gap=gap) if gap is not None else row)
        if gap is None:
            cells |= {(row.name, c.name): found for c, found in zip(asked, chains, strict=True)}
        for column in (*facts, *(others if gap is None else ())):
            models[row.name, column.name] = table.chains(row, column, request)
    gaps = [row.gap for row in rows if row.gap is not None]
    if gaps and not any(row.trained and not row.reference for row in rows):
        raise (MissingData if gaps[0].wanted else ReproError)(gaps[0].reason)
    if gaps:
        shown = replace(shown, rows=tuple(rows))
    return Matrix(source, request, cells, models, shown)


def _sections(table: Table, request: Request) -> Table:
    """The table with the parts and rows that are asked for; with a difference its two rows.

    Raises ReproError where none of them has runs.
    """
    if request.sections is None and request.rows is None:
        return table
    names = set(request.rows or ())
    names |= {name for row in table.rows if row.name in names for name in row.delta or ()}
    rows = tuple(
        row
        for row in table.rows
        if request.sections is None or row.section in request.sections
        if request.rows is None or row.name in names or row.added
    )
    if not any(row.trained for row in rows):
        raise ReproError(
            f"{table.id} has no runs for the rows asked for: leave out --section or --row."
        )
    return replace(table, rows=rows)


def _of_row(
    table: Table, row: Row, asked: Sequence[Score], request: Request
) -> tuple[RowGap | None, list[Sequence[Chain]]]:
    """The runs of a row by column, or why this encoder or these data cannot give them.

    Raises ReproError where they cannot be made for the scale's own encoder either: then something
    else is asked wrongly.
    """
    found: list[Sequence[Chain]] = []
    for column in asked:
        try:
            found.append(table.chains(row, column, request))
        except ReproError as problem:
            if request.backbone is None:
                raise
            try:
                table.chains(row, column, replace(request, backbone=None, seeds=1))
            except ReproError:
                raise problem from None
            return RowGap(str(problem).removesuffix("."), wanted=False), []
    needed = [spec for *first, _ in (found[0] if found else ()) for spec in first]
    for task in dict.fromkeys(task for spec in needed for task in tasks_of(spec)):
        if task in request.unavailable:
            why = request.unavailable[task].removesuffix(".")
            return RowGap(f"it needs a run on {task}: {why}", wanted=True), []
    return None, found


NOT_ASKED = "not asked for (--tasks)"
