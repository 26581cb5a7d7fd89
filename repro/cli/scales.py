"""`--scale auto`: the largest scale that is stored whole, else the largest that is affordable."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from repro.cli.options import SCALES, Asked, check_scale, has_gpu, make_request
from repro.cli.tasks import narrowed
from repro.engine.cost import stored_speed
from repro.engine.plan import Plan, make_plan
from repro.errors import MissingData
from repro.papers.tables import Artefact, Request
from repro.spec import Scale
from repro.store.store import Store
from repro.words import duration


def choose(
    artefacts: Sequence[Artefact], asked: Asked, store: Store, method: str | None = None
) -> list[Request]:
    """The requests at the scale asked for, or at the chosen one, explained by a line on stderr.

    A larger scale that was not considered, because its data cannot be had, has a line of its own;
    so has what `--tasks` leaves out of several artefacts.
    """
    pairs, scale = narrowed(artefacts, asked), check_scale(asked.scale)
    if scale is not None:
        return _at(scale, pairs, method)
    found, barred = _considered(pairs, method)
    scale, why = _chosen(found, asked.budget, store)
    print(f"Scale: {scale} ({why}).", file=sys.stderr)
    for other, problem in barred.items():
        if SCALES.index(other) < SCALES.index(scale):
            print(f"Not {other}: {problem}", file=sys.stderr)
    return found[scale]


def _at(scale: Scale, pairs: Sequence[tuple[Artefact, Asked]], method: str | None) -> list[Request]:
    return [make_request(artefact, scale, own, method) for artefact, own in pairs]


def _considered(
    pairs: Sequence[tuple[Artefact, Asked]], method: str | None
) -> tuple[dict[Scale, list[Request]], dict[Scale, str]]:
    """The requests at each scale, largest first, and why a scale has none."""
    found: dict[Scale, list[Request]] = {}
    barred: dict[Scale, str] = {}
    for scale in SCALES:
        try:
            found[scale] = _at(scale, pairs, method)
        except MissingData as problem:
            barred[scale] = str(problem)
    return found, barred


def _chosen(found: dict[Scale, list[Request]], budget: float, store: Store) -> tuple[Scale, str]:
    """A scale, and why it is chosen."""
    speed = stored_speed(store.root, "cuda" if has_gpu() else "cpu")
    plans: dict[Scale, Plan] = {
        scale: make_plan(requests, store, speed) for scale, requests in found.items()
    }
    for scale, plan in plans.items():
        if not plan.missing:
            return scale, "all its runs are stored" if plan.runs else "nothing is to be trained"
    if has_gpu() and "paper" in plans:
        return "paper", f"a GPU is here; about {duration(plans['paper'].estimate().seconds)}"
    for scale, plan in plans.items():
        seconds = plan.estimate().seconds
        if seconds <= budget * 3600:
            fits = f"about {duration(seconds)} of the budget of {budget:g} h"
            return scale, f"the largest that fits: {fits}"
    return "smoke", "the smallest; none fits the budget"
