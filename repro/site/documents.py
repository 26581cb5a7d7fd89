"""The audit of the printed numbers, and the claims of the papers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from repro.audit.finding import Finding
from repro.audit.run import findings
from repro.papers.claims import KINDS
from repro.papers.names import PAPERS
from repro.report.claims import JudgedClaim, judge_all
from repro.report.summary import BORNE_OUT, REVERSED
from repro.store.store import Store

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


def audit_page() -> dict[str, Any]:
    """What the page of the audit shows."""
    return audit_of(findings())


def audit_of(found: Sequence[Finding]) -> dict[str, Any]:
    """The same of these findings: by paper, and how many of each severity."""
    counts = Counter(str(one.severity) for one in found)
    return {
        "title": "Audit of the printed numbers",
        "papers": [
            (name, own)
            for paper, name in PAPERS.items()
            if (own := [one for one in found if one.paper == paper])
        ],
        "severities": SEVERITIES,
        "counts": [(name, counts[name]) for name in SEVERITIES],
        "total": len(found),
    }


def claims_page(store: Store, pages: Mapping[str, str]) -> dict[str, Any]:
    """What the page of the claims shows; `pages`: an artefact's name -> its page."""
    return claims_of(judge_all(store), pages)


def claims_of(judged: Sequence[JudgedClaim], pages: Mapping[str, str]) -> dict[str, Any]:
    """The same of these claims: by paper, and how many have each verdict."""
    return {
        "title": "What the papers claim",
        "papers": [
            (name, own)
            for paper, name in PAPERS.items()
            if (own := [one for one in judged if one.claim.paper == paper])
        ],
        "look": look,
        "pages": pages,
        "published": Counter(str(one.published) for one in judged).most_common(),
        "ours": Counter(str(one.ours) for one in judged).most_common(),
        "borne_out": [one for one in judged if one.ours in BORNE_OUT],
        "against": [one for one in judged if one.ours in REVERSED],
        "kinds": KINDS,
        "false": [one for one in judged if one.published == "does not hold"],
        "total": len(judged),
    }


def look(verdict: str) -> tuple[str, str]:
    """How a verdict on a claim looks: its name in the style sheet, its sign."""
    return LOOKS[verdict.partition(" (")[0]]
