"""The first page, the claims and the audit: what REPRODUCE.md says, as pages of the site."""

from __future__ import annotations

from collections import Counter
from typing import Any

from repro.papers.claims import KINDS
from repro.report.protocol import machines
from repro.report.summary import Summary, answer, contradictions, decided, missing
from repro.site import words

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
        "entries": summary.index("paper", "reduced"),
        "smoke": summary.index("smoke"),
        "missing": missing(summary),
        "decided": decided(summary),
        "machines": machines(keys, summary.read),
    }


def audit_page(summary: Summary) -> dict[str, Any]:
    counts = Counter(str(one.severity) for one in summary.findings)
    return {
        "title": "Audit of the printed numbers",
        "papers": summary.findings_by_paper(),
        "severities": SEVERITIES,
        "counts": [(name, counts[name]) for name in SEVERITIES],
        "total": len(summary.findings),
    }


def claims_page(summary: Summary) -> dict[str, Any]:
    judged = summary.claims
    return {
        "title": "What the papers claim",
        "papers": summary.claims_by_paper(),
        "look": look,
        "published": Counter(str(one.published) for one in judged).most_common(),
        "ours": Counter(str(one.ours) for one in judged).most_common(),
        "kinds": KINDS,
        "total": len(judged),
    }


def look(verdict: str) -> tuple[str, str]:
    """How a verdict on a claim looks: its name in the style sheet, its sign."""
    return LOOKS[verdict.partition(" (")[0]]
