"""The first page, the claims and the audit: what REPRODUCE.md says, as pages of the site."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from repro.papers.claims import KINDS
from repro.papers.names import PAPERS
from repro.report.protocol import machines
from repro.report.summary import (
    Summary,
    View,
    answer,
    contradictions,
    decided,
    encoder,
    judged_on,
    missing,
    runs_a_side,
    status,
    title,
    training_rows,
    verdicts,
    where,
)
from repro.site import words

if TYPE_CHECKING:
    from repro.comparison.claims import JudgedClaim

SEVERITIES = {
    "error": ("✗", "a number that cannot be right"),
    "doubt": ("?", "a number that needs an explanation"),
    "note": ("i", "a rule left open, or a difference that a reading of text and code shows"),
}
LOOKS = {
    "holds": ("match", "✓"),
    "does not hold": ("lower", "✗"),
    "not printed": ("gap", "—"),
    "confirmed": ("match", "✓"),
    "reversed": ("lower", "✗"),
    "direction holds": ("higher", "↗"),
    "direction reversed": ("undecided", "↘"),
    "open": ("single", "?"),
}
"""Verdict on a claim -> its name in the style sheet, its sign; "(one seed)" changes neither."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of the index: a table or figure, and how often each verdict stands in it."""

    view: View
    page: str
    title: str
    encoder: str
    rows: str
    status: str
    counts: tuple[tuple[words.Word, int], ...]


def _entry(view: View, summary: Summary) -> Entry:
    found = verdicts([view], counts=True) + verdicts([view], counts=False)
    return Entry(
        view=view,
        page=words.page_of(view.request),
        title=title(view),
        encoder=encoder(view) or "—",
        rows=training_rows(view, summary.read) or "—",
        status=status(view),
        counts=tuple((word, found[name]) for name, word in words.WORDS.items() if found[name]),
    )


def index_page(summary: Summary) -> dict[str, Any]:
    """What the first page shows: the answer, the index, what is missing, what is decided."""
    keys = sorted({key for view in summary.views for key in view.runs})
    places = [
        (
            words.page_of(view.request),
            words.cell_id(view.table, cell),
            view.request.id,
            f"{cell['row']}, {cell['column']}",
            words.WORDS[cell["verdict"]],
        )
        for view, cell in contradictions(summary)
    ]
    return {
        "title": "Do the published numbers reproduce?",
        "answer": answer(summary),
        "against": places,
        "entries": [_entry(view, summary) for view in summary.at("paper", "reduced")],
        "smoke": [_entry(view, summary) for view in summary.at("smoke")],
        "missing": missing(summary),
        "decided": [
            (title, [(claim, _judged_on(claim, summary)) for claim in claims])
            for title, claims in decided(summary)
        ],
        "false": [claim for claim in summary.claims if claim.published == "does not hold"],
        "machines": machines(keys, summary.read),
    }


def _judged_on(claim: JudgedClaim, summary: Summary) -> list[tuple[str, str, str]]:
    """Id, page and conditions of what a claim was judged on, with the number of runs compared."""
    return [
        (
            view.request.id,
            words.page_of(view.request),
            ", ".join([where(view, summary), *runs_a_side(claim)]),
        )
        for view in judged_on(claim.artefacts, summary)
    ]


def audit_page(summary: Summary) -> dict[str, Any]:
    """What the page of the audit shows: by paper, and how many of each severity."""
    counts = Counter(str(one.severity) for one in summary.findings)
    return {
        "title": "Audit of the printed numbers",
        "papers": [
            (name, own)
            for paper, name in PAPERS.items()
            if (own := [one for one in summary.findings if one.paper == paper])
        ],
        "severities": SEVERITIES,
        "counts": [(name, counts[name]) for name in SEVERITIES],
        "total": len(summary.findings),
    }


def claims_page(summary: Summary) -> dict[str, Any]:
    """What the page of the claims shows: by paper, and how many have each verdict."""
    judged = summary.claims
    return {
        "title": "What the papers claim",
        "papers": [
            (name, [(one, _judged_on(one, summary)) for one in own])
            for paper, name in PAPERS.items()
            if (own := [one for one in judged if one.claim.paper == paper])
        ],
        "look": look,
        "published": Counter(str(one.published) for one in judged).most_common(),
        "ours": Counter(str(one.ours) for one in judged).most_common(),
        "kinds": KINDS,
        "total": len(judged),
    }


def look(verdict: str) -> tuple[str, str]:
    """How a verdict on a claim looks: its name in the style sheet, its sign."""
    return LOOKS[verdict.partition(" (")[0]]
