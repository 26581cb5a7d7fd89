"""One statement of a claim, judged on the numbers that the paper prints and on the runs here.

The rule for gaps and intervals is in `repro.stats.claims`.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from repro.papers.claims import Ours, Printed, Quantity, Statement, printed_cell
from repro.papers.request import Request
from repro.report.files import table_name
from repro.stats import claims as rule

if TYPE_CHECKING:
    import pandas

SCALES = ("reduced", "paper")
"""Where claims are judged; the later the better. Smoke scale says nothing about a paper."""
NO_TABLE = "no table here reproduces it"
NOT_PRINTED = "the paper prints no such number"
LEAST = 0.1
"""The least deviation of runs that all score the same, where no printed digit gives one."""


@dataclass(frozen=True, slots=True)
class OnPrinted:
    """A statement on the printed numbers: "51 against 42"."""

    outcome: Literal["holds", "ties", "fails", "not printed"]
    detail: str


@dataclass(frozen=True, slots=True)
class OnOurs:
    """A statement on our numbers; `gap` is None where there is nothing to compare or to estimate.

    `one`: only the sign of single runs is behind the outcome. `source`: the table or figure whose
    numbers were compared, as its files are called; "" where there are none. `differs`: why they are
    not of the paper's runs.
    """

    outcome: rule.Outcome
    detail: str
    gap: rule.Gap | None = None
    one: bool = False
    source: str = ""
    differs: str = ""


@dataclass(frozen=True, slots=True)
class Source:
    """A table or figure that somebody asked for. `cells` has `OF_A_CELL`, by row and column."""

    request: Request
    cells: pandas.DataFrame

    @property
    def name(self) -> str:
        """As its files are called."""
        return table_name(self.request)

    def at(self, places: Sequence[Ours]) -> pandas.DataFrame:
        """The cells in this order. One that is missing, or lacks a seed, has no values but a
        `reason`: what is left of runs that failed is no sample of them.
        """
        own = self.cells.reindex([(place.row, place.column) for place in places])
        reason = own["partial"].fillna(own["reason"]).fillna("not in it")
        values = own["values"].where(own["partial"].isna(), None)
        return own.assign(values=values, reason=reason)

    def merit(self, places: Sequence[Ours]) -> tuple[int, bool, bool, int, int, bool]:
        """How fit it is to judge a claim about these cells: the higher the better.

        First how many of them it has, some of whose seeds may be missing, then the headline reading
        before the released one, the paper's runs before others, the paper's scale before a smaller
        one, more seeds asked for, and the scale's own encoder. So a seed that failed is not got rid
        of by a request for fewer seeds.
        """
        own = self.at(places)
        found = own[own["values"].notna() | own["partial"].notna()]
        return (
            len(found),
            not self.request.as_released,
            bool(found["differs"].isna().all()),
            SCALES.index(self.request.scale),
            self.request.seeds,
            self.request.backbone is None,
        )


def sentence(statement: Statement) -> str:
    """Attention ResNet, ALL F1 > Attention, ALL F1."""
    other = named(statement.right)
    if statement.times != 1:
        other = f"{statement.times:.3g} x {other}"
    if statement.plus:
        other += f" {'+' if statement.plus > 0 else '-'} {abs(statement.plus):g}"
    if statement.kind == "more":
        return f"{statement.left.name} > {other}"
    if statement.by:
        return f"{statement.left.name} within {statement.by:g} of {other}"
    return f"{statement.left.name} = {other}"


def named(side: Quantity | float) -> str:
    """A side of a statement in words."""
    return side.name if isinstance(side, Quantity) else f"{side:g}"


def on_printed(statement: Statement) -> OnPrinted:
    """Whether the printed numbers bear a statement out; what is less than rounding is a tie."""
    left, right = statement.left, statement.right
    if not left.printed or (isinstance(right, Quantity) and not right.printed):
        return OnPrinted("not printed", NOT_PRINTED)
    other = mean_printed(right.printed) if isinstance(right, Quantity) else right
    value = mean_printed(left.printed)
    difference = value - _counterpart(statement, other)
    outcome = rule.judge_printed(difference, rounding(statement), statement.kind, statement.by)
    shown = _shown(right.printed) if isinstance(right, Quantity) else f"{right:g}"
    return OnPrinted(outcome, f"{_shown(left.printed)} against {shown}")


def mean_printed(places: Sequence[Printed]) -> float:
    """The printed number, or the mean of several."""
    return statistics.fmean(printed_cell(place).value or 0.0 for place in places)


def rounding(statement: Statement) -> float:
    """How far the printed difference may be off: half a unit of the last digit, either side."""
    right = statement.right
    other = _unit(right) * statement.times if isinstance(right, Quantity) else 0.0
    return (_unit(statement.left) + other) / 2


def _unit(quantity: Quantity) -> float:
    """One unit of the last digit; of a mean, that of its coarsest number."""
    decimals = [printed_cell(place).decimals for place in quantity.printed]
    return float(10 ** -min(decimals)) if decimals else 0.0


def _shown(places: Sequence[Printed]) -> str:
    if len(places) == 1:
        return printed_cell(places[0]).text
    digits = max(printed_cell(place).decimals for place in places)
    return f"{mean_printed(places):.{digits + 1}f}"


def _counterpart(statement: Statement, value: float) -> float:
    """What the left side is compared with."""
    return statement.times * value + statement.plus


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a statement on our numbers: a cell, or the mean of several run by run.

    Attributes:
        values: One a run; empty where a cell has none, for this `reason`.
        runs: Keys of the runs behind them.
        constant: Whether every run gives a constant answer.
        counted: Whether it is an exact number of the models, not a score.
        depth: Layers of the encoder; 0 where the figure does not say.
        differs: Why the runs are not the paper's; "" where they are.
    """

    values: tuple[float, ...]
    reason: str = ""
    runs: tuple[str, ...] = ()
    constant: bool = False
    counted: bool = False
    depth: int = 0
    differs: str = ""


def side_of(cells: pandas.DataFrame) -> Side:
    """The mean of these cells (see `Source.at`)."""
    missing = cells[cells["values"].isna()]
    if len(missing):
        (row, column), why = missing.index[0], missing["reason"].iloc[0]
        more = f" (and {len(missing) - 1} of {len(cells)} others)" if len(missing) > 1 else ""
        return Side((), f"{row}, {column}: {why}{more}")
    if cells["values"].str.len().nunique() > 1:
        return Side((), "its cells have different numbers of runs")
    runs, differs = cells["runs"].str.len(), cells["differs"].dropna()
    return Side(
        values=tuple(map(statistics.fmean, zip(*cells["values"], strict=True))),
        runs=tuple(cells["runs"].explode().dropna()),
        constant=bool(runs.any() and (cells["collapsed"].fillna(0) >= runs).all()),
        counted=bool((cells["kind"] == "fact").all()),
        depth=int(cells["depth"].fillna(0).iloc[0]),
        differs=next(iter(differs), ""),
    )


def on_ours(statement: Statement, chosen: Mapping[str, Source], statements: int = 1) -> OnOurs:
    """What our runs say of a statement, one of so many of its claim; all its cells are of one table
    or figure.
    """
    left, right = statement.left, statement.right
    places = [*left.ours, *(right.ours if isinstance(right, Quantity) else ())]
    if not left.ours or (isinstance(right, Quantity) and not right.ours):
        return OnOurs("open", NO_TABLE)
    (artefact,) = {place.artefact for place in places}
    if artefact not in chosen:
        return OnOurs("open", f"{artefact} was not run at paper or reduced scale")
    source = chosen[artefact]
    one = side_of(source.at(left.ours))
    other = side_of(source.at(right.ours)) if isinstance(right, Quantity) else Side((right,))
    for name, side in (left.name, one), (named(right), other):
        if not side.values or side.constant:
            return OnOurs("open", side.reason or f"{name}: every run gives a constant answer")
    if left.depth not in (0, one.depth) and not statement.order:
        return OnOurs("open", f"it is of {left.depth} layers, and this encoder has {one.depth}")
    if one.counted:
        return _on_counted(statement, one, other, source)
    return _on_scores(statement, one, other, source, statements)


def _on_counted(statement: Statement, one: Side, other: Side, source: Source) -> OnOurs:
    """Compared exactly, however many statements there are."""
    differs = one.differs or other.differs
    if differs:
        return OnOurs("open", f"counted on other models than the paper's: {differs}")
    difference = one.values[0] - _counterpart(statement, other.values[0])
    outcome = rule.judge_counted(difference, rounding(statement), statement.kind, statement.by)
    detail = f"counted: {one.values[0]:,.10g} against {other.values[0]:,.10g}"
    return OnOurs(outcome, detail, source=source.name)


def _on_scores(
    statement: Statement, one: Side, other: Side, source: Source, statements: int
) -> OnOurs:
    floor = _unit(statement.left) or LEAST
    values = [_counterpart(statement, value) for value in other.values]
    if isinstance(statement.right, Quantity):
        same = bool(one.runs) and one.runs == other.runs
        gap = rule.gap_between(one.values, values, paired=same, floor=floor, statements=statements)
    else:
        gap = rule.gap_to(one.values, values[0], floor=floor, statements=statements)
    differs = one.differs or other.differs
    outcome, why, single = _outcome(statement, gap, papers=not differs, statements=statements)
    detail = f"{why}; {_of_gap(gap)}" if why else _of_gap(gap)
    if differs and source.request.scale == "paper":
        detail += f"; not of the paper's runs: {differs}"
    return OnOurs(outcome, detail, gap, single, source.name, differs)


def _outcome(
    statement: Statement, gap: rule.Gap, *, papers: bool, statements: int
) -> tuple[rule.Outcome, str, bool]:
    """The outcome, why it is open, and whether only the sign of single runs is behind it.

    A single run that is the paper's settles nothing, and equality is settled by none.
    """
    if gap.interval is not None:
        by = statement.by + rounding(statement)
        outcome = rule.judge(gap, statement.kind, by)
        if outcome != "open":
            return outcome, "", False
        alone = rule.judge(replace(gap, adjusted=gap.interval), statement.kind, by)
        if alone == "reversed":
            why = f"against the claim only before the correction for {statements} statements"
            return outcome, why, False
        return outcome, "the interval decides neither", False
    if statement.kind == "within":
        return "open", "one run has no interval", False
    outcome = rule.direction(gap)
    if not papers:
        return outcome, "a gap of 0" if outcome == "open" else "", outcome != "open"
    sign = {"confirmed": "as claimed", "reversed": "against the claim", "open": "none"}[outcome]
    return "open", f"one run, whose sign is {sign}", False


def _of_gap(gap: rule.Gap) -> str:
    """gap +3.20 [+1.04, +5.36], P(A > B) = 1.00, 3 and 3 runs; of single runs the gap alone."""
    known = ""
    if gap.interval is not None:
        low, high = gap.interval
        known = f" [{low:+.2f}, {high:+.2f}], P(A > B) = {gap.probability:.2f}"
    runs = " and ".join(str(number) for number in dict.fromkeys(gap.runs) if number)
    noun = "run" if runs == "1" else "runs"
    return f"gap {gap.value:+.2f}{known}, {runs} {noun} a side"
