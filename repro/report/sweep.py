"""A sweep as it stands in the store: every setting's scores, the chosen one, the cost of choosing.

Built from the store alone, without torch. Scores are in percent.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from repro.comparison.columns import Column, Columns, typed
from repro.papers.matrix import Matrix
from repro.papers.registry import TABLES
from repro.papers.sweeps import (
    EPOCHS,
    Sweep,
    fields_in_short,
    matrices,
    row_name,
    setting_in_words,
    swept_row,
)
from repro.papers.tables import Score, Table
from repro.report.cells import Place, value_of
from repro.report.files import ENDINGS, command_line, figure_paths, sweep_name, write_drawing
from repro.report.layout import Markdown, markdown_table
from repro.report.render import GAP, json_text
from repro.report.runs_found import Found, Lookup
from repro.spec import canonical_json
from repro.stats.summary import Statistic, Summary, expected_best, summarise
from repro.store.store import Store
from repro.words import counted, grouped

if TYPE_CHECKING:
    import pandas

MEAN = "mean"
"""What the column over several tasks is called."""
OF_A_CELL: Columns = {
    "setting": Column("Int64", "number of the setting, from 1"),
    "column": Column("string", 'column of the table; "mean": of all its scores, seed by seed'),
    "split": Column("string", "rows whose score chooses the setting"),
    "mean": Column("float64", "mean score of the seeds on these rows; their median in LoRA-1"),
    "sd": Column("float64", "sample standard deviation over seeds; missing for one seed"),
    "n": Column("Int64", "seeds that have a score"),
    "values": Column("object", "the score of each of these seeds"),
    "chosen": Column(
        "boolean", "whether it is the column's best setting with a score of each seed"
    ),
    "held_out_split": Column("string", "other rows, if the table is of those: they choose nothing"),
    "held_out_mean": Column("float64", "mean score of the same runs on these other rows"),
    "held_out_sd": Column("float64", "sample standard deviation over seeds"),
    "collapsed": Column("Int64", "how many of the runs give one answer to everything"),
    "reason": Column("string", "why seeds have no score"),
    "runs": Column("object", "keys of all its runs, stored or not"),
}


@dataclass(frozen=True)
class Scores:
    """A column's scores with one setting: seed -> score on the rows that choose, and on those of
    the table where these are others. `seeds`: how many were asked for.
    """

    setting: int
    column: str
    split: str
    values: Mapping[int, float]
    held_out_split: str
    held_out: Mapping[int, float]
    seeds: int
    reason: str
    runs: tuple[str, ...]
    collapsed: frozenset[str]
    statistic: Statistic

    @property
    def whole(self) -> bool:
        return len(self.values) == self.seeds

    @property
    def summary(self) -> Summary | None:
        return self._over(self.values)

    @property
    def held_out_summary(self) -> Summary | None:
        """The same on the rows that chose nothing."""
        return self._over(self.held_out)

    def _over(self, values: Mapping[int, float]) -> Summary | None:
        return summarise([*values.values()], self.statistic) if values else None


@dataclass(frozen=True)
class SweepView:
    """All scores of a sweep, a column after the other. `row` is what was swept."""

    sweep: Sweep
    row: str
    cells: tuple[Scores, ...]

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The columns with scores, the mean last."""
        return tuple(dict.fromkeys(cell.column for cell in self.cells))

    @property
    def objective(self) -> str:
        """The column that chooses: the mean over several tasks, else the first one."""
        return MEAN if MEAN in self.columns else self.columns[0]

    def of(self, column: str) -> list[Scores]:
        return [cell for cell in self.cells if cell.column == column]

    def best(self, column: str) -> Scores | None:
        """The setting with the best mean among those of full length of which every seed has a
        score; None where there is none. Of several the one of the smallest values, in whatever
        order they were given.
        """
        return next(iter(self.tied(column)), None)

    def tied(self, column: str) -> list[Scores]:
        """The settings that share the best mean."""
        points = self.sweep.points
        long = [c for c in self.of(column) if self.sweep.is_whole(points[c.setting - 1])]
        whole = [cell for cell in long if cell.whole]
        means = {cell.setting: cell.summary.mean for cell in whole if cell.summary}
        best = [cell for cell in whole if means[cell.setting] == max(means.values())]
        return sorted(best, key=lambda cell: by_size(points[cell.setting - 1]))

    @property
    def done(self) -> int:
        return sum(cell.whole for cell in self.of(self.objective))

    @property
    def scored(self) -> bool:
        return any(cell.values for cell in self.cells)

    def expected(self) -> list[tuple[int, float]]:
        """k and the expected best of k settings: 1, 2, 4, ... and as many as have every score;
        nothing of a search by halving, which does not train all of them to the end.
        """
        if self.sweep.epochs is not None:
            return []
        cells = [cell for cell in self.of(self.objective) if cell.whole]
        means = [cell.summary.mean for cell in cells if cell.summary]
        powers = [2**n for n in range(len(means).bit_length()) if 2**n < len(means)]
        return [(k, expected_best(means, k)) for k in [*powers, len(means)] if k]

    @property
    def frame(self) -> pandas.DataFrame:
        fields = {path: Column("object", "a swept field") for path in self.sweep.fields}
        first, *rest = OF_A_CELL.items()
        return typed(self.records(), {**dict([first]), **fields, **dict(rest)})

    def records(self) -> Iterator[dict[str, Any]]:
        """The rows of `frame` in plain Python."""
        best = {column: self.best(column) for column in self.columns}
        for cell in self.cells:
            found, other = cell.summary, cell.held_out_summary
            yield {
                **self.sweep.points[cell.setting - 1],
                "setting": cell.setting,
                "column": cell.column,
                "split": cell.split,
                "mean": found and found.mean,
                "sd": found and found.sd,
                "n": len(cell.values),
                "values": list(cell.values.values()),
                "chosen": cell is best[cell.column],
                "held_out_split": cell.held_out_split or None,
                "held_out_mean": other and other.mean,
                "held_out_sd": other and other.sd,
                "collapsed": len(cell.collapsed),
                "reason": cell.reason or None,
                "runs": list(cell.runs),
            }


def view_sweep(sweep: Sweep, store: Store) -> SweepView:
    """Lays the store's results into the sweep. Raises ReproError, see `matrices`."""
    lookup = Lookup(store)
    cells: list[Scores] = []
    row = ""
    for number, matrix in enumerate(matrices(TABLES[sweep.request.id], sweep), 1):
        columns = matrix.artefact.reproduced(matrix.request)
        found = [_scores(number, matrix, column, lookup) for column in columns]
        cells += found
        if len({column.task for column in columns}) > 1:
            cells.append(_mean(found))
        row = row or row_name(matrix)
    order = list(dict.fromkeys(cell.column for cell in cells))
    return SweepView(sweep, row, tuple(sorted(cells, key=lambda cell: order.index(cell.column))))


def _scores(number: int, matrix: Matrix[Table], column: Score, lookup: Lookup) -> Scores:
    at = Place(matrix, swept_row(matrix), lookup)
    found, own = lookup.find(at.specs(column)), at.split(column)
    chooses = "validation" if own == "test" else own  # the rows whose score may choose a setting
    if getattr(found[0].spec.task, "development", None) is not None:
        chooses = "development"
    by_split: dict[str, dict[int, float]] = {
        split: {
            one.spec.seed: score
            for one in found
            if one.run is not None and (score := value_of(at, column, one.run, split)) is not None
        }
        for split in (chooses, own)
    }
    rest = [one for one in found if one.spec.seed not in by_split[chooses]]

    def why(some: Sequence[Found]) -> str:
        return lookup.why(some, at.row.epoch, at.table.collapse)

    other = own if own != chooses else ""
    return Scores(
        setting=number,
        column=column.name,
        split=chooses,
        values=by_split[chooses],
        held_out_split=other,
        held_out=by_split[other] if other else {},
        seeds=len(found),
        reason=lookup.missing(rest, len(found), why) if len(rest) < len(found) else why(rest),
        runs=tuple(one.key for one in found),
        collapsed=frozenset(one.key for one in found if one.run and one.run.result.collapsed),
        statistic=at.table.statistic,
    )


def _mean(cells: Sequence[Scores]) -> Scores:
    """The mean over a setting's columns, of the seeds that have all of them."""

    def over(all_values: Sequence[Mapping[int, float]]) -> dict[int, float]:
        seeds = [seed for seed in all_values[0] if all(seed in own for own in all_values)]
        return {seed: statistics.fmean(own[seed] for own in all_values) for seed in seeds}

    lacking = [cell.column for cell in cells if not cell.whole]
    return Scores(
        setting=cells[0].setting,
        column=MEAN,
        split=", ".join(dict.fromkeys(cell.split for cell in cells)),
        values=over([cell.values for cell in cells]),
        held_out_split=", ".join(dict.fromkeys(filter(None, (c.held_out_split for c in cells)))),
        held_out=over([cell.held_out or cell.values for cell in cells])
        if any(cell.held_out_split for cell in cells)
        else {},
        seeds=cells[0].seeds,
        reason=f"needs {', '.join(lacking)}" if lacking else "",
        runs=tuple(dict.fromkeys(key for cell in cells for key in cell.runs)),
        collapsed=frozenset[str]().union(*(cell.collapsed for cell in cells)),
        statistic=cells[0].statistic,
    )


# What is said of it.


def as_text(view: SweepView) -> str:
    """The table in Markdown, the chosen setting, and what choosing it cost."""
    parts = [caption(view), "\n".join(_table(view)), *said(view)]
    return "\n\n".join(part for part in parts if part) + "\n"


def caption(view: SweepView) -> str:
    """What was swept, and how much of it is stored."""
    request, sweep = view.sweep.request, view.sweep
    cell = view.of(view.objective)[0]
    return (
        f"Sweep of {request.id}, {view.row}: {' x '.join(sweep.fields)}. Scale: {request.scale}. "
        f"Scores in percent on {rows_in_words(cell.split)} rows"
        f"{f', {cell.statistic} ± standard deviation over seeds' if cell.seeds > 1 else ''}. "
        f"Settings: {len(sweep.points)}. Seeds: {cell.seeds}. "
        f"Settings with every score: {view.done}/{len(sweep.points)}."
    )


def _table(view: SweepView) -> list[str]:
    best = {column: [c.setting for c in view.tied(column)] for column in view.columns}
    rows = []
    for number, point in enumerate(view.sweep.points, 1):
        row: list[str] = [*map(value_in_words, point.values())]
        for cell in (cell for cell in view.cells if cell.setting == number):
            text = f"{cell.summary}{' †' * bool(cell.collapsed)}"
            if not cell.values:
                text = f"{GAP} {cell.reason}" if cell.column != MEAN else GAP
            elif not cell.whole:
                known = f"{len(cell.values)} of {cell.seeds} seeds"
                text = f"{cell.summary} ({known})"
            elif number in best[cell.column]:
                text = Markdown(f"**{text}**")
            row.append(text)
        rows.append(row)
    return markdown_table([*fields_in_short(view.sweep.fields), *view.columns], rows, 0)


def value_in_words(value: Any) -> str:
    """0.0003; none for None; a list without brackets."""
    if isinstance(value, tuple):
        return " ".join(map(str, value))
    if isinstance(value, float):
        return f"{value:g}"
    return "none" if value is None else str(value).lower() if value in (True, False) else str(value)


def rows_in_words(split: str) -> str:
    """validation, also for MNLI's matched and mismatched ones; development, validation for two."""
    names = (name.partition("_")[0] for name in split.split(", "))
    return " and ".join(dict.fromkeys(names))


def said(view: SweepView) -> Iterator[str]:
    """Paragraphs: the chosen setting, by task and by all, and the cost of choosing."""
    best, point = view.best(view.objective), view.sweep.points
    if best is None:
        yield "No setting has a score of every seed yet, so none is chosen."
        return
    many = view.objective == MEAN
    by = f"the mean over {len(view.columns) - 1} columns" if many else view.objective
    so_far = "" if view.done == len(point) else f", of the {view.done} settings with every score"
    others = len(view.tied(view.objective)) - 1
    tie = f", as {'do' if others > 1 else 'does'} {counted(others, 'other setting')}"
    yield (
        f"Chosen by {by} on {rows_in_words(best.split)} rows (bold: the best of its column)"
        f"{so_far}: {setting_in_words(point[best.setting - 1])}, which scores "
        f"{best.summary}{tie * bool(others)}."
    )
    if many:
        chosen = ((column, view.best(column)) for column in view.columns if column != MEAN)
        yield (
            "Chosen by one column alone: "
            + "; ".join(
                f"{column}: {setting_in_words(point[cell.setting - 1])} ({cell.summary})"
                for column, cell in chosen
                if cell is not None
            )
            + "."
        )
    collapsed = frozenset[str]().union(*(cell.collapsed for cell in view.cells))
    if collapsed:
        runs = {key for cell in view.cells for key in cell.runs}
        yield (
            f"†: {len(collapsed)} of {counted(len(runs), 'run')} collapsed: such a run "
            f"{TABLES[view.sweep.request.id].collapse}."
        )
    yield from _cost(view, best)
    yield f"The chosen setting in the table: {command_line(view.sweep.requests[best.setting - 1])}"


def by_size(point: Mapping[str, Any]) -> list[tuple[float, str]]:
    """Orders settings by their values, fields in alphabetic order: smaller numbers first."""
    values = (value for _, value in sorted(point.items()))
    return [
        (v, "") if isinstance(v, int | float) else (math.inf, canonical_json(v)) for v in values
    ]


def _cost(view: SweepView, best: Scores) -> Iterator[str]:
    expected = view.expected()
    if best.held_out_split:
        yield (
            f"Its score on {rows_in_words(best.held_out_split)} rows, which chose nothing: "
            f"{best.held_out_summary or GAP}."
        )
    else:
        yield (
            "The chosen score is optimistic: the setting was chosen by the score on the same rows."
        )
    if view.sweep.epochs is not None:
        points = view.sweep.points
        whole = sum(map(view.sweep.is_whole, points))
        tried = sum(point[EPOCHS] == points[0][EPOCHS] for point in points)
        yield (
            f"Successive halving tried {tried} settings, {whole} of them with all "
            f"{view.sweep.epochs} epochs; a setting that is slow at first may have been left out."
        )
    if len(expected) < 2:
        return
    yield (
        f"Expected best of k settings drawn at random from these {view.done} (Dodge et al. 2019), "
        "by the score that chooses:"
    )
    yield "\n".join(
        markdown_table(
            ["k", *(str(k) for k, _ in expected)],
            [["expected best", *(f"{value:.1f}" for _, value in expected)]],
            1,
        )
    )


# Its files.


def as_json(view: SweepView) -> dict[str, Any]:
    """The object of `sweep --json`; docs/json.md describes it."""
    request, best = view.sweep.request, view.best(view.objective)
    left_out = ("setting", *view.sweep.fields)
    cells = grouped(
        (record["setting"], {name: v for name, v in record.items() if name not in left_out})
        for record in view.records()
    )
    asked = enumerate(zip(view.sweep.points, view.sweep.requests, strict=True), 1)
    paths = figure_paths(sweep_name(view.sweep), (*ENDINGS, "md"))
    return {
        "table": request.id,
        "row": view.row,
        "scale": request.scale,
        "seeds": request.seeds,
        "fields": list(view.sweep.fields),
        "objective": view.objective,
        "chosen": best and best.setting,
        "expected_best": [{"k": k, "value": value} for k, value in view.expected()],
        "complete": f"{view.done}/{len(view.sweep.points)}",
        "settings": [
            {
                "values": list(point.values()),
                "command": command_line(one),
                "cells": cells[number],
            }
            for number, (point, one) in asked
        ],
        "files": list(map(str, paths)) * view.scored,
    }


def write_sweep(view: SweepView, folder: Path) -> list[Path]:
    """Writes picture, CSV, JSON and Markdown where their content changed; returns the paths.
    Nothing is written before there is a score.
    """
    from repro.report.figures.sweep_drawing import draw_sweep

    if not view.scored:
        return []
    frame = view.frame
    for name in ("values", "runs"):
        frame[name] = frame[name].map(lambda some: " ".join(map(str, some)))
    texts = {
        "csv": str(frame.to_csv(index=False, lineterminator="\n")),
        "json": json_text(as_json(view)),
        "md": as_text(view),
    }
    return write_drawing(folder, sweep_name(view.sweep), lambda: draw_sweep(view), texts)
