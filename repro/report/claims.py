"""What the papers claim, judged twice: on the numbers that they print, and on ours.

Built from the CSVs and the store, without torch. The same store gives the same verdicts.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from repro.errors import UnknownName
from repro.papers.all_claims import CLAIMS
from repro.papers.claims import Claim, Ours, Printed, Quantity, Statement, printed_cell
from repro.papers.names import PAPERS
from repro.report.claim_cells import Known, Source, sources
from repro.report.words import counted
from repro.stats import claims as rule
from repro.store.store import Store

PrintedVerdict = Literal["holds", "does not hold", "not printed"]
OursVerdict = Literal[
    "confirmed", "reversed",
    "direction holds", "direction reversed",
    "direction holds (one seed)", "direction reversed (one seed)",
    "open",
]  # fmt: skip
NO_TABLE = "no table here reproduces it"
NOT_PRINTED = "the paper prints no such number"
LEAST = 0.1
"""The least deviation of runs that all score the same, where no printed digit gives one."""


@dataclass(frozen=True, slots=True)
class OnPrinted:
    """A statement on the printed numbers: "46.1 against 31.6"."""

    outcome: Literal["holds", "ties", "fails", "not printed"]
    detail: str


@dataclass(frozen=True, slots=True)
class OnOurs:
    """A statement on our numbers; `gap` is None where there is nothing to compare or to estimate.

    `one`: only the sign of single runs is behind the outcome. `scale`: "" where none is behind it.
    """

    outcome: rule.Outcome
    detail: str
    gap: rule.Gap | None = None
    one: bool = False
    scale: str = ""


@dataclass(frozen=True, slots=True)
class JudgedStatement:
    """One statement of a claim, in words, and both verdicts."""

    statement: Statement
    says: str
    published: OnPrinted
    ours: OnOurs


@dataclass(frozen=True, slots=True)
class JudgedClaim:
    """A claim and what both judgements say.

    `gap` (points, A minus B), its 95 % `interval` and `probability` P(A > B) are those of the
    statement that decides ours; `artefacts` are the tables and figures that it was judged on, as
    their files are called.
    """

    claim: Claim
    published: PrintedVerdict
    published_detail: str
    ours: OursVerdict
    ours_detail: str
    gap: float | None
    interval: rule.Interval | None
    probability: float | None
    artefacts: tuple[str, ...]
    statements: tuple[JudgedStatement, ...]


def judge_all(store: Store, paper: str | None = None) -> list[JudgedClaim]:
    """Every claim of a paper, or of all. Raises UnknownName for an unknown paper."""
    if paper is not None and paper not in PAPERS:
        raise UnknownName("paper", paper, PAPERS)
    return judge_claims([claim for claim in CLAIMS if paper in (None, claim.paper)], store)


def judge_claims(
    claims: Sequence[Claim], store: Store, scale: str | None = None
) -> list[JudgedClaim]:
    """These claims, in order; `scale`: only on what was run at that one."""
    names = {place.artefact for claim in claims for place in _places(claim)}
    known = sources(store, names)
    if scale is not None:
        known = {
            name: [one for one in found if one.request.scale == scale]
            for name, found in known.items()
        }
    return [_judge(claim, known) for claim in claims]


def sentence(statement: Statement) -> str:
    """Attention ResNet, ALL F1 > Attention, ALL F1."""
    right = statement.right
    other = right.name if isinstance(right, Quantity) else f"{right:g}"
    if statement.times != 1:
        other = f"{statement.times:.3g} x {other}"
    if statement.plus:
        other += f" {'+' if statement.plus > 0 else '-'} {abs(statement.plus):g}"
    if statement.kind == "more":
        return f"{statement.left.name} > {other}"
    if statement.by:
        return f"{statement.left.name} within {statement.by:g} of {other}"
    return f"{statement.left.name} = {other}"


def _judge(claim: Claim, known: Mapping[str, Sequence[Source]]) -> JudgedClaim:
    chosen = _chosen(claim, known)
    judged = tuple(
        JudgedStatement(one, sentence(one), on_printed(one), on_ours(one, chosen))
        for one in claim.statements
    )
    published, published_detail = _published(judged)
    decides = _decides(judged)
    gap = decides.ours.gap
    behind = [name for name, source in chosen.items() if _behind(claim, source)]
    return JudgedClaim(
        claim=claim,
        published=published,
        published_detail=published_detail,
        ours=_verdict(judged),
        ours_detail=_detail(judged, decides),
        gap=gap.value if gap else None,
        interval=gap.interval if gap else None,
        probability=gap.probability if gap else None,
        artefacts=tuple(chosen[name].name for name in behind),
        statements=judged,
    )


# The printed numbers


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


def _published(judged: Sequence[JudgedStatement]) -> tuple[PrintedVerdict, str]:
    """All statements must hold; those that do not are named, with their numbers."""
    failing = [one for one in judged if one.published.outcome in ("fails", "ties")]
    absent = [one for one in judged if one.published.outcome == "not printed"]
    if not failing and len(judged) == 1:
        return ("not printed" if absent else "holds"), judged[0].published.detail
    known = len(judged) - len(absent)
    count = f"{known - len(failing)} of {known} statements hold"
    if failing:
        named = "; ".join(
            f"{one.says} ({'a tie, ' * (one.published.outcome == 'ties')}{one.published.detail})"
            for one in failing
        )
        return "does not hold", f"{count}; not: {named}"
    if absent:
        return "not printed", count if known else NOT_PRINTED
    return "holds", count


# Ours


def on_ours(statement: Statement, chosen: Mapping[str, Source]) -> OnOurs:
    """What our runs say of a statement; all its cells are of one table or figure."""
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
    for side in (one, other):
        if not side.values:
            return OnOurs("open", side.reason)
    if one.counted:
        return _on_counted(statement, one, other, source)
    return _on_scores(statement, one, other, source)


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
        counted=all(cell.counted for cell in cells),
        everywhere=all(cell.everywhere for cell in cells),
    )


def _on_counted(statement: Statement, one: Known, other: Known, source: Source) -> OnOurs:
    if not one.everywhere and source.request.scale != "paper":
        return OnOurs("open", f"counted at {source.request.scale} scale, on another encoder")
    difference = one.values[0] - _counterpart(statement, other.values[0])
    outcome = rule.judge_counted(difference, rounding(statement), statement.kind, statement.by)
    return OnOurs(outcome, f"counted: {one.values[0]:.10g} against {other.values[0]:.10g}")


def _on_scores(statement: Statement, one: Known, other: Known, source: Source) -> OnOurs:
    scale, floor = source.request.scale, _unit(statement.left) or LEAST
    values = [_counterpart(statement, value) for value in other.values]
    if isinstance(statement.right, Quantity):
        same = bool(one.runs) and one.runs == other.runs
        gap = rule.gap_between(one.values, values, paired=same, floor=floor)
    else:
        gap = rule.gap_to(one.values, values[0], floor=floor)
    detail = _of_gap(gap)
    if gap.interval is not None:
        outcome = rule.judge(gap, statement.kind, statement.by)
        why = "the interval decides neither; " if outcome == "open" else ""
        return OnOurs(outcome, why + detail, gap, scale=scale)
    if statement.kind == "within":
        return OnOurs("open", f"one run has no interval; {detail}", gap, scale=scale)
    outcome = rule.direction(gap)
    if scale == "paper":
        sign = {"confirmed": "as claimed", "reversed": "against the claim", "open": "0"}[outcome]
        return OnOurs("open", f"one run, the sign is {sign}; {detail}", gap, scale=scale)
    return OnOurs(outcome, detail, gap, one=True, scale=scale)


def _of_gap(gap: rule.Gap) -> str:
    """gap +3.20 [+1.04, +5.36], P(A > B) = 1.00, 3 and 3 runs."""
    between = "" if gap.interval is None else " [{:+.2f}, {:+.2f}]".format(*gap.interval)
    runs = " and ".join(str(number) for number in dict.fromkeys(gap.runs) if number)
    noun = "run" if runs == "1" else "runs"
    return f"gap {gap.value:+.2f}{between}, P(A > B) = {gap.probability:.2f}, {runs} {noun} a side"


def _verdict(judged: Sequence[JudgedStatement]) -> OursVerdict:
    """Confirmed if all statements are, reversed if any is, else open.

    The sign of single runs reverses a claim only where no statement has the claimed one.
    """
    outcomes = [one.ours.outcome for one in judged]
    reversed_ = [one for one in judged if one.ours.outcome == "reversed"]
    one_seed = [one for one in judged if one.ours.one]
    reduced = any(one.ours.scale == "reduced" for one in judged)
    if all(outcome == "confirmed" for outcome in outcomes):
        if one_seed:
            return "direction holds (one seed)"
        return "direction holds" if reduced else "confirmed"
    if any(not one.ours.one for one in reversed_):
        return "direction reversed" if reduced else "reversed"
    if reversed_ and all(outcome == "reversed" for outcome in outcomes):
        return "direction reversed (one seed)"
    return "open"


def _decides(judged: Sequence[JudgedStatement]) -> JudgedStatement:
    """The statement that the verdict hangs on: the farthest from what is claimed among those that
    are reversed, else open, else all.
    """
    for outcome in ("reversed", "open"):
        found = [one for one in judged if one.ours.outcome == outcome]
        if found:
            return min(found, key=_reserve)
    return min(judged, key=_reserve)


def _reserve(one: JudgedStatement) -> float:
    """By how much the means bear a statement out; what has none comes last."""
    gap = one.ours.gap
    if gap is None:
        return float("inf")
    return gap.value if one.statement.kind == "more" else one.statement.by - abs(gap.value)


def _detail(judged: Sequence[JudgedStatement], decides: JudgedStatement) -> str:
    """One statement's numbers; of several, how many are confirmed, and the one that decides."""
    if len(judged) == 1:
        return decides.ours.detail
    details = {one.ours.detail for one in judged}
    if len(details) == 1 and decides.ours.gap is None:
        return decides.ours.detail
    confirmed = sum(one.ours.outcome == "confirmed" for one in judged)
    against = sum(one.ours.outcome == "reversed" for one in judged)
    said = f"{confirmed} of {counted(len(judged), 'statement')} as claimed, {against} against it"
    return f"{said}; {decides.says}: {decides.ours.detail}"


# Which table or figure


def _places(claim: Claim) -> list[Ours]:
    """Every cell of ours that a claim names."""
    sides = [side for one in claim.statements for side in (one.left, one.right)]
    return [place for side in sides if isinstance(side, Quantity) for place in side.ours]


def _chosen(claim: Claim, known: Mapping[str, Sequence[Source]]) -> dict[str, Source]:
    """For each artefact of a claim the source that is fittest to judge it; ties to the first."""
    places = _places(claim)
    found = {}
    for name in dict.fromkeys(place.artefact for place in places):
        own = [place for place in places if place.artefact == name]
        if known.get(name):
            found[name] = max(known[name], key=lambda source: source.merit(own))
    return found


def _behind(claim: Claim, source: Source) -> bool:
    """Whether any number of a source is one that the claim names."""
    own = [place for place in _places(claim) if place.artefact == source.request.table]
    return any(source.known(place).values for place in own)
