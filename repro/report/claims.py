"""What the papers claim, judged twice: on the numbers that they print, and on ours.

Built from the CSVs and the store, without torch. The same store gives the same verdicts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from repro.errors import UnknownName
from repro.papers.claims import Claim, Ours, Quantity, Statement
from repro.papers.names import PAPERS
from repro.papers.registry import CLAIMS
from repro.report.claim_cells import Source, sources
from repro.report.claim_statements import (
    NOT_PRINTED,
    OnOurs,
    OnPrinted,
    on_ours,
    on_printed,
    sentence,
)
from repro.stats import claims as rule
from repro.store.store import Store
from repro.words import counted

PrintedVerdict = Literal["holds", "does not hold", "not printed"]
OursVerdict = Literal[
    "confirmed", "reversed",
    "direction holds", "direction reversed",
    "direction holds (one seed)", "direction reversed (one seed)",
    "open",
]  # fmt: skip


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


def _judge(claim: Claim, known: Mapping[str, Sequence[Source]]) -> JudgedClaim:
    chosen = _chosen(claim, known)
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
