"""One statement of a claim, judged on the printed numbers and on ours."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from repro.papers.claims import Ours, Printed, Quantity, Statement, printed_cell
from repro.report.claim_cells import Known, Source
from repro.stats import claims as rule

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
    one = mean_known(left.ours, source)
    other = mean_known(right.ours, source) if isinstance(right, Quantity) else Known((right,))
    for name, side in (left.name, one), (named(right), other):
        if not side.values:
            return OnOurs("open", side.reason)
        if side.runs and set(side.runs) <= set(side.collapsed):
            return OnOurs("open", f"{name}: every run gives a constant answer")
    if left.depth not in (0, one.depth) and not statement.order:
        return OnOurs("open", f"it is of {left.depth} layers, and this encoder has {one.depth}")
    judge = _on_counted if one.counted else _on_scores
    return judge(statement, one, other, source, statements)


def mean_known(places: Sequence[Ours], source: Source) -> Known:
    """A cell, or the mean of several run by run; without values where one has none."""
    cells = [source.known(place) for place in places]
    missing = [
        f"{place.row}, {place.column}: {cell.reason}"
        for place, cell in zip(places, cells, strict=True)
        if not cell.values
    ]
    if missing:
        more = f" (and {len(missing) - 1} of {len(cells)} others)" if len(missing) > 1 else ""
        return Known(reason=missing[0] + more)
    if len({len(cell.values) for cell in cells}) > 1:
        return Known(reason="its cells have different numbers of runs")
    return Known(
        values=tuple(map(statistics.fmean, zip(*(cell.values for cell in cells), strict=True))),
        runs=tuple(key for cell in cells for key in cell.runs),
        collapsed=tuple(key for cell in cells for key in cell.collapsed),
        counted=all(cell.counted for cell in cells),
        depth=cells[0].depth,
        differs=next((cell.differs for cell in cells if cell.differs), ""),
    )


def _on_counted(
    statement: Statement, one: Known, other: Known, source: Source, _statements: int
) -> OnOurs:
    """Compared exactly, however many statements there are."""
    differs = one.differs or other.differs
    if differs:
        return OnOurs("open", f"counted on other models than the paper's: {differs}")
    difference = one.values[0] - _counterpart(statement, other.values[0])
    outcome = rule.judge_counted(difference, rounding(statement), statement.kind, statement.by)
    detail = f"counted: {one.values[0]:,.10g} against {other.values[0]:,.10g}"
    return OnOurs(outcome, detail, source=source.name)


def _on_scores(
    statement: Statement, one: Known, other: Known, source: Source, statements: int
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
