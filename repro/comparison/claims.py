"""What the papers claim, judged twice: on the numbers that they print, and on the runs here.

Our numbers are those of the comparison frame of each stored table, and of a frame of the same shape
of each figure; no torch is loaded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from repro.comparison.columns import typed
from repro.comparison.comparison import COLUMNS
from repro.comparison.statements import (
    NOT_PRINTED,
    SCALES,
    OnOurs,
    OnPrinted,
    Source,
    on_ours,
    on_printed,
    sentence,
)
from repro.errors import UnknownName
from repro.papers.claims import Claim, Ours, Quantity, Statement
from repro.papers.curves import Curves
from repro.papers.figures import Figure
from repro.papers.names import PAPERS
from repro.papers.registry import CLAIMS, FIGURES, TABLES
from repro.papers.request import Request
from repro.report.figures.ablation import grids_differ, lost
from repro.report.figures.curves import view_of as view_curves
from repro.report.files import saved_requests
from repro.report.view import view_table
from repro.stats import claims as rule
from repro.store.store import Store
from repro.words import counted

if TYPE_CHECKING:
    import pandas

PrintedVerdict = Literal["holds", "does not hold", "not printed"]
OursVerdict = Literal[
    "confirmed", "reversed",
    "direction holds", "direction reversed",
    "direction holds (one seed)", "direction reversed (one seed)",
    "open",
]  # fmt: skip
OF_A_CELL = {
    name: COLUMNS[name]
    for name in ("row", "column", "kind", "depth", "values", "runs", "collapsed", "reason",
                 "partial", "differs")
}  # fmt: skip
"""What a claim needs to know of a cell."""


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

    `gap` (points, A minus B), its 90 % `interval` and `probability` P(A > B) are those of the
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


def judge_all(
    store: Store, paper: str | None = None, scale: str | None = None
) -> list[JudgedClaim]:
    """Every claim of a paper, or of all; `scale`: ours only on what was run at that one.

    Raises UnknownName for an unknown paper.
    """
    if paper is not None and paper not in PAPERS:
        raise UnknownName("paper", paper, PAPERS)
    return judge_claims([claim for claim in CLAIMS if paper in (None, claim.paper)], store, scale)


def judge_claims(
    claims: Sequence[Claim], store: Store, scale: str | None = None
) -> list[JudgedClaim]:
    """These claims, in order."""
    names = {place.artefact for claim in claims for place in _places(claim)}
    known = {
        name: [one for one in found if scale in (None, one.request.scale)]
        for name, found in sources(store, names).items()
    }
    return [_judge(claim, known) for claim in claims]


def sources(store: Store, artefacts: set[str]) -> dict[str, list[Source]]:
    """Everything that was asked for of these artefacts at a scale where claims are judged."""
    found: dict[str, list[Source]] = {name: [] for name in artefacts}
    for request in saved_requests(store):
        if request.id in artefacts and request.scale in SCALES:
            found[request.id].append(Source(request, _cells(request, store)))
    return found


def _cells(request: Request, store: Store) -> pandas.DataFrame:
    if request.id in TABLES:
        frame = view_table(TABLES[request.id], request, store).whole
    else:
        figure = FIGURES[request.id]
        rows: Iterator[dict[str, Any]] = iter(())
        if isinstance(figure, Curves):
            rows = _of_curves(figure, request, store)
        elif isinstance(figure, Figure):
            rows = _of_heat_map(figure, request, store)
        frame = typed(rows, OF_A_CELL)
    return frame[list(OF_A_CELL)].set_index(["row", "column"])


def _of_curves(figure: Curves, request: Request, store: Store) -> Iterator[dict[str, Any]]:
    """By the point's name and the task."""
    for one in view_curves(figure, request, store).measured:
        yield {
            "row": one.point.name,
            "column": one.task,
            "values": one.values or None,
            "runs": one.runs,
            "collapsed": one.collapsed,
            "reason": one.reason or None,
            "differs": one.differs or None,
        }


def _of_heat_map(figure: Figure, request: Request, store: Store) -> Iterator[dict[str, Any]]:
    """By first and last ablated layer: the drop, if every seed is there."""
    keys = list(figure.matrix(request).wanted)
    runs = [run for key in keys if (run := store.read(key)) is not None]
    if not runs:
        return
    grids = [lost(run, figure.task(request)) for run in runs]
    shared = {
        "runs": [run.key for run in runs],
        "partial": f"{len(runs)} of {len(keys)} seeds" if len(runs) < len(keys) else None,
        "differs": grids_differ(figure, request, store) or None,
    }
    for first, last in (span for span in grids[0] if all(span in grid for grid in grids)):
        values = [grid[first, last] for grid in grids]
        yield {"row": str(first), "column": str(last), "values": values, **shared}


def _places(claim: Claim) -> list[Ours]:
    """Every cell of ours that a claim names."""
    sides = [side for one in claim.statements for side in (one.left, one.right)]
    return [place for side in sides if isinstance(side, Quantity) for place in side.ours]


def _judge(claim: Claim, known: Mapping[str, Sequence[Source]]) -> JudgedClaim:
    places, chosen = _places(claim), {}
    for name in dict.fromkeys(place.artefact for place in places):
        own = [place for place in places if place.artefact == name]
        if known.get(name):  # the fittest to judge it; ties to the first
            chosen[name] = max(known[name], key=lambda source: source.merit(own))
    judged = tuple(
        JudgedStatement(
            one, sentence(one), on_printed(one), on_ours(one, chosen, len(claim.statements))
        )
        for one in claim.statements
    )
    published, published_detail = _published(judged)
    decides = _decides(judged)
    gap = decides.ours.gap
    return JudgedClaim(
        claim=claim,
        published=published,
        published_detail=published_detail,
        ours=_verdict(judged),
        ours_detail=_detail(judged, decides),
        gap=gap.value if gap else None,
        interval=gap.interval if gap else None,
        probability=gap.probability if gap else None,
        artefacts=tuple(dict.fromkeys(one.ours.source for one in judged if one.ours.source)),
        statements=judged,
    )


def _published(judged: Sequence[JudgedStatement]) -> tuple[PrintedVerdict, str]:
    """All statements must hold; those that do not are named, with their numbers."""
    failing = [one for one in judged if one.published.outcome in ("fails", "ties")]
    absent = [one for one in judged if one.published.outcome == "not printed"]
    if not failing and len(judged) == 1:
        return ("not printed" if absent else "holds"), judged[0].published.detail
    known = len(judged) - len(absent)
    count = f"{known - len(failing)} of {known} statements hold"
    if failing and len(judged) == 1:
        return "does not hold", _numbers(failing[0])
    if failing:
        named = "; ".join(f"{one.says} ({_numbers(one)})" for one in failing)
        return "does not hold", f"{count}; not: {named}"
    if absent:
        return "not printed", count if known else NOT_PRINTED
    return "holds", count


def _numbers(one: JudgedStatement) -> str:
    """The printed numbers of a statement that does not hold."""
    detail = one.published.detail
    return f"a tie, {detail}" if one.published.outcome == "ties" else detail


def _verdict(judged: Sequence[JudgedStatement]) -> OursVerdict:
    """Confirmed if all statements are, reversed if any is, else open.

    Where only the sign of single runs is behind a statement, nothing is confirmed or reversed: the
    claim has a direction of one seed if all its statements agree.
    """
    differs = any(one.ours.differs for one in judged)
    settled = rule.conclude(["open" if one.ours.one else one.ours.outcome for one in judged])
    if settled == "confirmed":
        return "direction holds" if differs else "confirmed"
    if settled == "reversed":
        return "direction reversed" if differs else "reversed"
    signs = {one.ours.outcome for one in judged}
    if signs == {"confirmed"}:
        return "direction holds (one seed)"
    return "direction reversed (one seed)" if signs == {"reversed"} else "open"


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
