"""Any two rows of a table side by side: published, reproduced, of a method of yours, or external.

Each column is tested by Welch's t from the values of the runs, or from mean, deviation and number
of runs; the p-values are adjusted for their number by Holm's method. Columns whose two numbers are
of other rows or other runs are shown and marked, and enter neither the tests nor the effect.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import TYPE_CHECKING, Any, Literal

from repro.comparison.columns import Column, Columns, typed
from repro.comparison.external import MARK
from repro.comparison.verdicts import target_of
from repro.errors import ReproError, UnknownName
from repro.papers.tables import SERVER
from repro.report.files import table_name
from repro.report.view import TableView
from repro.server.layout import PROTOCOL
from repro.stats.pairs import Effect, Sample, over_tasks, welch
from repro.stats.verdicts import LEVEL, holm
from repro.words import counted

if TYPE_CHECKING:
    import pandas

Cell = Mapping[str, Any]
"""A record of a comparison frame; what is missing is None."""
Kind = Literal["published", "reproduced", "external"]
YOURS = " (yours)"
FEW = 5
"""Runs up to which Welch's interval misses more often than it says; see docs/verdicts.md."""
OUTCOMES = {
    "higher": "the first is higher: adjusted p below 0.05; counted: higher",
    "lower": "the first is lower: adjusted p below 0.05; counted: lower",
    "equal": "counted: equal",
    "not shown": "tested, and no difference is shown",
    "not tested": "both have a number, and the reason says why it is not tested",
    "not comparable": "numbers of other rows or runs: shown, and in no statistic",
    "absent": "one of them has no number",
}
"""The outcome of a column -> what it means."""
COLUMNS: Columns = {
    "first_row": Column("string", "the first row, and which of its numbers"),
    "second_row": Column("string", "the second row, and which of its numbers"),
    "column": Column("string", "name of the column"),
    "kind": Column("string", "`score`, `mean`, `fact` or `printed`, as in a comparison frame"),
    "task": Column("string", "of a score: the task"),
    "metric": Column("string", "of a score: the metric"),
    "first": Column("float64", "the number of the first row"),
    "first_sd": Column("float64", "standard deviation of its runs, where it is known"),
    "first_n": Column("Int64", "number of its runs, where it is known"),
    "second": Column("float64", "the number of the second row"),
    "second_sd": Column("float64", "the same"),
    "second_n": Column("Int64", "the same"),
    "difference": Column("float64", "first minus second"),
    "low_95": Column("float64", "95 % interval of the difference (Welch), lower end"),
    "high_95": Column("float64", "its upper end"),
    "freedom": Column("float64", "Welch's degrees of freedom"),
    "p": Column("float64", "two-sided p-value of no difference"),
    "p_adjusted": Column("float64", "the same after Holm's adjustment for the tested columns"),
    "outcome": Column("string", "; ".join(f"`{name}`: {said}" for name, said in OUTCOMES.items())),
    "reason": Column("string", "why it is not tested, not comparable or absent"),
}
"""The columns of the frame."""


@dataclass(frozen=True, slots=True)
class Side:
    """One of two rows: which one, in which form, its cells by column, and the data rows on which
    each score was measured.
    """

    row: str
    kind: Kind
    cells: Mapping[str, Cell] = field(repr=False, compare=False)
    rows: Mapping[str, str] = field(repr=False, compare=False)

    @property
    def label(self) -> str:
        """How a sentence calls it."""
        return self.row if self.kind == "external" else f"{self.kind} {self.row}"

    def sample(self, column: str) -> Sample | None:
        """Its number in a column; None where it has none."""
        cell = self.cells[column]
        if self.kind != "published":
            return None if cell["mean"] is None else Sample(cell["mean"], cell["sd"], cell["n"])
        if cell["published"] is None:
            return None
        printed = target_of(cell)
        sd = printed.sd
        if printed.sem is not None and printed.n is not None:
            sd = printed.sem * math.sqrt(printed.n)
        return Sample(printed.value, sd, printed.n)

    def lacks(self, column: str) -> str:
        """Why nothing is known of the scatter of its runs; "" where it is."""
        sample = self.sample(column)
        if sample is None or sample.scatters:
            return ""
        if sample.n == 1:
            return f"{self.label}: one run"
        cell = self.cells[column]
        if self.kind == "published" and cell["spread"] == "interval":
            return f"{self.label}: an interval of no stated level"
        if self.kind == "published" and cell["published_sd"] is not None:
            return f"{self.label}: a deviation of an unknown number of runs"
        return f"{self.label}: one number without a deviation"


@dataclass(frozen=True, slots=True)
class Pair:
    """Two rows compared. `lines` are records of `COLUMNS`; `effect` is over tasks."""

    view: TableView = field(repr=False)
    first: Side
    second: Side
    lines: tuple[dict[str, Any], ...] = field(repr=False)
    effect: Effect | None

    @property
    def comparable(self) -> int:
        """How many columns have two numbers that can be compared."""
        return sum(line["outcome"] not in ("absent", "not comparable") for line in self.lines)

    @property
    def frame(self) -> pandas.DataFrame:
        """One row a column; `attrs["words"]` has the sentences."""
        found = typed(self.lines, COLUMNS)
        found.attrs["words"] = self.words
        return found

    @property
    def words(self) -> list[str]:
        """What the comparison says, in sentences."""
        said = [*_counts(self), *_effect(self), *_facts(self), *_left_out(self), *_caveats(self)]
        kinds = ("published ", "reproduced ")
        return [one[0].upper() + one[1:] if one.startswith(kinds) else one for one in said]


def compare_rows(view: TableView, first: str, second: str) -> Pair:
    """Two rows of a table as it stands.

    Args:
        view: the table.
        first: a row by its name, in any case, with or without its part of the table and its mark;
            "published: NAME" and "reproduced: NAME" say which numbers are meant. Without, these
            are the reproduced ones where there are any.
        second: the same.

    Raises UnknownName for a name that no row has, ReproError for one that several have, for a row
    without numbers, and for two rows that hold different things.
    """
    one, other = find_side(view, first), find_side(view, second)
    if one == other:
        raise ReproError(f"Both are {one.label}: name two different rows.")
    measures = [next(iter(side.cells.values()))["measure"] for side in (one, other)]
    measures = ["score" if found == "external" else found for found in measures]
    if measures[0] != measures[1]:
        raise ReproError(
            f"{one.label} holds {measures[0]}s and {other.label} {measures[1]}s: name two rows "
            "that hold the same."
        )
    lines = [_line(one, other, column) for column in one.cells]
    family = _family(lines)
    tested = [line for line in lines if line["kind"] == family and line["p"] is not None]
    for line, p in zip(tested, holm([line["p"] for line in tested]), strict=True):
        direction = "higher" if line["difference"] > 0 else "lower"
        line["p_adjusted"], line["reason"] = p, None
        line["outcome"] = direction if p < LEVEL else "not shown"
    of_task: dict[str, list[float]] = {}
    for line in lines:
        if line["kind"] == "score" and line["outcome"] not in ("not comparable", "absent"):
            of_task.setdefault(line["task"], []).append(line["difference"])
    return Pair(
        view, one, other, tuple(lines), over_tasks([fmean(own) for own in of_task.values()])
    )


def sides(view: TableView) -> list[str]:
    """Everything that a row of the table can be compared with, as `compare_rows` takes it."""
    names = dict.fromkeys(cell["row"] for cell in view.records)
    external = {cell["row"] for cell in view.records if cell["measure"] == "external"}
    return [
        name
        for row in names
        for name in ([row] if row in external else [f"published: {row}", f"reproduced: {row}"])
    ]


def _family(lines: Sequence[Mapping[str, Any]]) -> str:
    """The kind of the columns that are tested together: scores, or means where no score can be
    compared (some papers print means only).
    """
    scores = (line for line in lines if line["kind"] == "score")
    known = any(line["outcome"] not in ("absent", "not comparable") for line in scores)
    return "score" if known else "mean"


def find_side(view: TableView, given: str) -> Side:
    """The row that a name means; see `compare_rows`."""
    lead, colon, rest = given.partition(":")
    asked = lead.strip().lower() if colon else ""
    asked, name = (asked, rest) if asked in ("published", "reproduced") else ("", given)
    rows: dict[str, dict[str, Cell]] = {}
    for cell in view.records:
        rows.setdefault(cell["row"], {})[cell["column"]] = cell
    found = [row for row in rows if row.lower() == name.strip().lower()]
    found = found or [row for row in rows if name.strip().lower() in _names(row)]
    if not found:
        raise UnknownName(
            f"row of {view.table.id} at {view.request.scale} scale", name.strip(), rows
        )
    if len(found) > 1:
        raise ReproError(
            f"{view.table.id} has {len(found)} rows called '{name.strip()}': "
            f"{', '.join(found[:4])}{', ...' * (len(found) > 4)}. Give the whole name, or name the "
            "part with --section."
        )
    (row,) = found
    cells = rows[row]
    if next(iter(cells.values()))["measure"] == "external":
        if asked:
            raise ReproError(f"{row} is neither published nor reproduced: leave out '{asked}:'.")
        return Side(row, "external", cells, _rows(view, "external", cells))
    scores = [cell for cell in cells.values() if cell["kind"] == "score"]
    forms: tuple[tuple[Kind, str], ...] = (("reproduced", "mean"), ("published", "published"))
    kinds = [
        kind
        for known in (scores, cells.values())  # what is counted says little of a row with scores
        for kind, number in forms
        if asked in ("", kind) and any(cell[number] is not None for cell in known)
    ]
    if not kinds and asked == "published":
        raise ReproError(f"{row} has no published number in {view.table.id}.")
    if not kinds:
        what, scale = asked or "published or reproduced", view.request.scale
        raise ReproError(
            f"{row} has no {what} number at {scale} scale. To train it: python -m repro table "
            f'{view.table.id} --scale {scale} --row "{row}"'
        )
    return Side(row, kinds[0], cells, _rows(view, kinds[0], cells))


def _names(row: str) -> set[str]:
    """What else a row may be called: without its mark, and without its part of the table."""
    plain = row.removesuffix(MARK).removesuffix(YOURS)
    return {name.lower() for one in (row, plain) for name in (one, one.partition(" / ")[2])} - {""}


def _line(one: Side, other: Side, column: str) -> dict[str, Any]:
    """A column of the comparison, before the p-values are adjusted."""
    cell = one.cells[column]
    samples = [side.sample(column) for side in (one, other)]
    line: dict[str, Any] = dict.fromkeys(COLUMNS) | {
        name: cell[name] for name in ("column", "kind", "task", "metric")
    }
    line |= {"first_row": one.label, "second_row": other.label}
    line["digits"] = cell["digits"]
    for name, sample in zip(("first", "second"), samples, strict=True):
        if sample is not None:
            line |= {name: sample.mean, f"{name}_sd": sample.sd, f"{name}_n": sample.n}
    first, second = samples
    if first is None or second is None:
        lacking = [s.label for s, found in zip((one, other), samples, strict=True) if found is None]
        return line | {"outcome": "absent", "reason": f"no number of {' and of '.join(lacking)}"}
    line["difference"] = first.mean - second.mean
    obstacle = _obstacle(one, other, column)
    if obstacle:
        return line | {"outcome": "not comparable", "reason": obstacle}
    if cell["kind"] == "fact":
        places = cell["digits"]
        sign = round(first.mean, places) - round(second.mean, places)
        outcome = "equal" if sign == 0 else "higher" if sign > 0 else "lower"
        return line | {"outcome": outcome, "reason": "counted, not measured"}
    median = cell["statistic"] == "median"
    found = None if median else welch(first, second)
    why = [reason for side in (one, other) if (reason := side.lacks(column))]
    why += ["a difference of medians is not tested"] * median
    if not why and found is None:
        why = ["no run of either row differs from the others"]
    if cell["kind"] != "score":
        why = why or ["follows from other columns"]
    if found is not None:
        line |= {"low_95": found.low, "high_95": found.high}
        line |= {"freedom": found.freedom, "p": found.p}
    return line | {"outcome": "not tested", "reason": "; ".join(why) or None}


def _obstacle(one: Side, other: Side, column: str) -> str:
    """Why two numbers cannot be compared; "" where they can."""
    follows = one.cells[column]["kind"] in ("mean", "printed")
    for score in one.rows if follows else one.rows.keys() & {column}:
        if one.rows[score] != other.rows[score]:
            told = "; ".join(f"{side.label}: {side.rows[score]}" for side in (one, other))
            return f"{score}: {told}" if follows else told
    ours = next((side for side in (one, other) if side.kind == "reproduced"), None)
    if ours is not None and "published" in (one.kind, other.kind):
        differs = ours.cells[column]["differs"]
        return f"runs that are not the paper's: {differs}" if differs else ""
    return ""


def _rows(view: TableView, kind: Kind, cells: Mapping[str, Cell]) -> dict[str, str]:
    """Score -> the rows that were scored."""
    scores = {score.name: score for score in view.table.scores if score.name in cells}
    if kind == "published":
        return {name: score.published_rows for name, score in scores.items()}
    served = {name for name, cell in cells.items() if cell["protocol"] == PROTOCOL}
    return {name: SERVER if name in served else str(cells[name]["split"]) for name in scores}


# In words


def _of(lines: Sequence[Mapping[str, Any]], *outcomes: str) -> list[Mapping[str, Any]]:
    return [line for line in lines if line["outcome"] in outcomes]


def _counts(pair: Pair) -> list[str]:
    """On how many columns the first row is higher, and on how many lower."""
    own = [line for line in pair.lines if line["kind"] == _family(pair.lines)]
    known = [line for line in own if line["outcome"] not in ("absent", "not comparable")]
    tested, open_ = _of(known, "higher", "lower", "not shown"), _of(known, "not tested")
    one, other = pair.first.label, pair.second.label
    scores = sum(line["kind"] == "score" for line in pair.lines)
    if not known and not scores:
        return []
    if not known:
        return [f"{one} and {other} can be compared on none of {counted(scores, 'column')}."]
    above, below = (sum(sign * line["difference"] > 0 for line in open_) for sign in (1, -1))
    if not tested:
        return [
            f"By the numbers alone, {_direction(pair, above, below, known)}; none can be tested "
            "(the reasons stand below)."
        ]
    higher, lower, rest = (len(_of(known, name)) for name in ("higher", "lower", "not shown"))
    test = f"Welch, p below {LEVEL:g} after Holm's adjustment for {counted(len(tested), 'test')}"
    if rest == len(tested):
        where = f"{'any of ' * (len(tested) > 1)}the {_columns(tested)} that can be tested"
        said = f"No difference between {one} and {other} is shown on {where} ({test})"
    else:
        said = f"{_direction(pair, higher, lower, known)} ({test})"
        said += f"; no difference is shown on {rest}" * bool(rest)
    alone = f"by the numbers alone, {above} of them higher and {below} lower"
    said += f"; {len(open_)} cannot be tested ({alone})" * bool(open_)
    return [f"{said}."]


def _direction(pair: Pair, higher: int, lower: int, known: Sequence[Mapping[str, Any]]) -> str:
    """A is higher than B on 3 of 9 columns and lower on 2."""
    one, other, of = pair.first.label, pair.second.label, _columns(known)
    if not higher and not lower:
        return f"{one} and {other} are equal on {of}"
    if not higher:
        return f"{one} is lower than {other} on {lower} of {of}"
    below = f" and lower on {lower}" * bool(lower)
    return f"{one} is higher than {other} on {higher} of {of}{below}"


def _columns(lines: Sequence[Mapping[str, Any]]) -> str:
    """8 columns; of means alone: 1 mean, which is said."""
    return counted(len(lines), "column" if lines[0]["kind"] == "score" else "mean")


def _effect(pair: Pair) -> list[str]:
    """The mean difference over tasks."""
    found = pair.effect
    if found is None:
        return []
    if found.t is None:
        over = "on one task" if found.tasks == 1 else f"the same on all {found.tasks} tasks"
        return [
            f"The mean difference is {found.value:+.2f} points, {over}: no interval over tasks can "
            "be given."
        ]
    least = found.least_wilcoxon
    cannot = f", which cannot fall below {least:.3g} with so few tasks" * (least >= LEVEL)
    return [
        f"Over {found.tasks} tasks the mean difference is {found.value:+.2f} points (95 % interval "
        f"{found.t.low:+.2f} to {found.t.high:+.2f}, p = {found.t.p:.2g}, paired t over tasks; "
        f"Wilcoxon's signed ranks: p = {found.wilcoxon:.2g}{cannot})."
    ]


def _facts(pair: Pair) -> list[str]:
    """What is counted is compared exactly."""
    found: dict[str, list[str]] = {}
    for line in pair.lines:
        if line["kind"] == "fact" and line["outcome"] in ("higher", "lower", "equal"):
            found.setdefault(line["outcome"], []).append(line["column"])
    told = "; ".join(f"{outcome} in {', '.join(names)}" for outcome, names in found.items())
    return [f"By counts, {pair.first.label} beside {pair.second.label} is {told}."] if told else []


def _left_out(pair: Pair) -> list[str]:
    """The columns that are in no statistic, by reason."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for line in pair.lines:
        if line["outcome"] in ("absent", "not comparable"):
            reason = (line["reason"].removesuffix("."), line["outcome"])
            reasons.setdefault(reason, []).append(line["column"])
    return [
        f"{'Not comparable' if outcome == 'not comparable' else 'Absent'}: {', '.join(names)} "
        f"({reason})."
        for (reason, outcome), names in reasons.items()
    ]


def _caveats(pair: Pair) -> list[str]:
    """What a reader must know of the numbers."""
    said = []
    tested = _of(pair.lines, "higher", "lower", "not shown")
    runs = [line[name] for line in tested for name in ("first_n", "second_n") if line[name]]
    if runs:
        span = f"{min(runs)}" if min(runs) == max(runs) else f"{min(runs)} to {max(runs)}"
        said.append(f"Runs on each side of a tested column: {span}.")
        if min(runs) <= FEW:
            said[-1] += (
                " With so few, a Welch interval misses the true difference up to 1.6 times as often"
                " as 5 % (docs/verdicts.md)."
            )
    for side in (pair.first, pair.second):
        lacking = [name for name, cell in side.cells.items() if cell["partial"]]
        if side.kind == "reproduced" and lacking:
            said.append(
                f"{side.label}: seeds are missing ({', '.join(lacking)}), and those that are there "
                "may be no random part of all."
            )
    scale, ours = pair.view.request.scale, (pair.first, pair.second)
    if scale != "paper" and any(side.kind == "reproduced" for side in ours):
        model, made_up = pair.view.lead.backbone.name, " on generated rows" * (scale == "smoke")
        said.append(
            f"Reproduced at {scale} scale with {model}{made_up} ({table_name(pair.view.request)}), "
            "not in the paper's setting."
        )
    if any(side.kind == "external" for side in ours):
        said.append(
            "External numbers were not checked here: whether model, data and selection are those "
            "of the other row is for who added them to say."
        )
    return said
