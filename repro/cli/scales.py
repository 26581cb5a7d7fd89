"""`--scale auto`: the largest scale that is stored whole, else the largest that is affordable."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from repro.cli.options import SCALES, Asked, check_scale, has_gpu, make_request
from repro.engine.cost import stored_speed
from repro.engine.plan import Plan, make_plan
from repro.errors import MissingData
from repro.papers.tables import Artefact, Request
from repro.report.words import duration
from repro.spec import Scale
from repro.store.store import Store


def choose(
    artefacts: Sequence[Artefact], asked: Asked, store: Store, method: str | None = None
) -> list[Request]:
    """The requests at the scale asked for, or at the chosen one, explained by a line on stderr."""
    scale = check_scale(asked.scale)
    if scale is not None:
        return [make_request(artefact, scale, asked, method) for artefact in artefacts]
    scale, why, requests = _automatic(artefacts, asked, store, method)
    print(f"Scale: {scale} ({why}).", file=sys.stderr)
    return requests


def _automatic(
    artefacts: Sequence[Artefact], asked: Asked, store: Store, method: str | None
) -> tuple[Scale, str, list[Request]]:
    speed = stored_speed(store.root, "cuda" if has_gpu() else "cpu")
    plans: dict[Scale, tuple[list[Request], Plan]] = {}
    for scale in SCALES:
        try:
            requests = [make_request(artefact, scale, asked, method) for artefact in artefacts]
        except MissingData:
            continue  # the local data is not the whole published set: no paper scale from it
        plans[scale] = requests, make_plan(requests, store, speed)
    for scale, (requests, plan) in plans.items():
        if not plan.missing:
            return scale, "all its runs are stored", requests
    if has_gpu() and "paper" in plans:
        requests, plan = plans["paper"]
        return "paper", f"a GPU is here; about {duration(plan.estimate().seconds)}", requests
    for scale, (requests, plan) in plans.items():
        seconds = plan.estimate().seconds
        if seconds <= asked.budget * 3600:
            fits = f"about {duration(seconds)} of the budget of {asked.budget:g} h"
            return scale, f"the largest that fits: {fits}", requests
    requests, plan = plans["smoke"]
    return "smoke", "the smallest; none fits the budget", requests
