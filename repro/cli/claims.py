"""`claims [PAPER]`: what the papers claim, on the numbers that they print and on ours."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, Any

import typer

from repro.cli import completion
from repro.cli import options as o
from repro.cli.requests import check_scale
from repro.comparison.claims import JudgedClaim, judge_all
from repro.errors import ReproError
from repro.papers.claims import KINDS
from repro.papers.names import PAPERS, by_paper, find_paper
from repro.papers.registry import CLAIMS
from repro.report.render import json_text
from repro.words import counted, wrapped

WIDTH = 100


def command(
    paper: Annotated[
        str | None,
        typer.Argument(
            help=f"{', '.join(PAPERS)}; default: all.", autocompletion=completion.papers
        ),
    ] = None,
    scale: Annotated[
        str | None,
        typer.Option(
            help="paper or reduced: judge ours on that scale only (default: the fittest)."
        ),
    ] = None,
    store: o.StoreOption = None,
    json: o.JsonOption = False,
) -> None:
    """Judges what the papers claim: on their own numbers, and on stored runs.

    Example: python -m repro claims resadapters --scale reduced
    """
    chosen = None if scale is None else check_scale(scale)
    if chosen == "smoke":
        raise ReproError(
            "Claims are not judged at smoke scale, whose rows are generated: take --scale paper or "
            "reduced."
        )
    for claim in CLAIMS:
        if claim.id == paper:
            raise ReproError(f"{paper} is one claim: python -m repro claims {claim.paper}")
    judged = judge_all(o.open_store(store), find_paper(paper), chosen)
    sys.stdout.write(json_text(as_json(judged)) if json else as_text(judged))


def as_text(judged: Sequence[JudgedClaim]) -> str:
    """By paper: each claim, both verdicts and its source; how many of each at the end."""
    blocks = []
    for title, own in by_paper(judged, lambda one: one.claim.paper):
        blocks += [title, "=" * len(title), "", *map(_block, own)]
    return "\n".join([*blocks, _counts(judged)]) + "\n"


def _block(one: JudgedClaim) -> str:
    claim = one.claim
    behind = f" ({', '.join(one.artefacts)})" if one.artefacts else ""
    below = [
        f"on the printed numbers: {one.published}: {one.published_detail}",
        f"on ours: {one.ours}: {one.ours_detail}{behind}",
        f"source ({KINDS[claim.kind]}): {claim.source}. [{claim.id}]",
        *([f"note: {claim.note}"] if claim.note else []),
    ]
    lines = [line for text in below for line in wrapped(text, WIDTH, "  ", "  ")]
    return "\n".join([*wrapped(claim.says, WIDTH), *lines, ""])


def _counts(judged: Sequence[JudgedClaim]) -> str:
    """58 claims, of which 48 are sentences and ... On the printed numbers: holds 44, ..."""
    sentences = sum(one.claim.kind == "sentence" for one in judged)
    printed = Counter(one.published for one in judged)
    ours = Counter(one.ours for one in judged)
    if not judged:
        return "No claims of this paper are recorded."
    lines = [
        f"{counted(len(judged), 'claim')}: {counted(sentences, 'sentence')} of the papers, "
        f"{counted(len(judged) - sentences, 'reading')} of their tables and figures.",
        f"On the printed numbers: {_listed(printed)}.",
        f"On ours: {_listed(ours)}.",
    ]
    return "\n".join(lines)


def _listed(found: Counter[Any]) -> str:
    return ", ".join(f"{verdict} {number}" for verdict, number in found.most_common())


def as_json(judged: Sequence[JudgedClaim]) -> dict[str, Any]:
    """The object of `claims --json`; docs/json.md describes it."""
    return {"claims": [_claim_json(one) for one in judged]}


def _claim_json(one: JudgedClaim) -> dict[str, Any]:
    known = ("id", "paper", "kind", "says", "source")
    return {name: getattr(one.claim, name) for name in known} | {
        "note": one.claim.note or None,
        "published": {"verdict": one.published, "detail": one.published_detail},
        "ours": {
            "verdict": one.ours,
            "detail": one.ours_detail,
            "gap": one.gap,
            "interval": one.interval,
            "probability": one.probability,
            "artefacts": list(one.artefacts),
        },
        "statements": [
            {
                "says": statement.says,
                "published": asdict(statement.published),
                "ours": {
                    "outcome": statement.ours.outcome,
                    "one_seed": statement.ours.one,
                    "detail": statement.ours.detail,
                    "gap": statement.ours.gap and asdict(statement.ours.gap),
                },
            }
            for statement in one.statements
        ],
    }
