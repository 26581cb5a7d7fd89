"""Which scale a command is about where the user names none, and which stored variant is shown."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from repro.cli.requests import (
    SCALES,
    Asked,
    absent_columns,
    bare_request,
    narrowed,
    rows_and_columns,
    typed_as,
    with_data,
    without_unused,
)
from repro.engine.cost import stored_speed
from repro.engine.devices import trains_on
from repro.engine.plan import Plan, make_plan
from repro.errors import MissingData, ReproError
from repro.papers.matrix import Artefact
from repro.papers.registry import ARTEFACTS
from repro.papers.request import Request
from repro.report.files import asked_for, command_line, saved_requests, table_name
from repro.spec import Scale
from repro.store.store import Store
from repro.words import counted, duration

Pair = tuple[Artefact, Asked]


def choose(
    artefacts: Sequence[Artefact],
    asked: Asked,
    store: Store,
    *,
    device: str = "auto",
    spread: Callable[[Request], Sequence[Request]] = lambda request: [request],
) -> list[Request]:
    """The requests at the scale asked for, or at the chosen one, explained by a line on stderr.

    Auto takes the largest scale that is stored whole, else the largest that fits the budget on the
    device that would train; `spread` gives all that is to be trained for a request. A larger scale
    that was not considered, because its data cannot be had, has a line of its own; so has what
    `--tasks` and `--set` leave out of several artefacts.
    """
    pairs = narrowed(artefacts, asked)
    saved = [request for found in asked_for(store).values() for request in found]
    if "scale" in asked:
        found = requests_at(asked["scale"], pairs, store, saved)
        _tell_unused(found, asked)
        return found
    considered: dict[Scale, list[Request]] = {}
    barred: dict[Scale, str] = {}
    for scale in SCALES:
        try:
            considered[scale] = requests_at(scale, pairs, store, saved)
        except MissingData as problem:
            barred[scale] = str(problem)
    trained = {at: [*chain(*map(spread, found))] for at, found in considered.items()}
    scale, why = _chosen(trained, asked["budget"], store, trains_on(device))
    _tell_unused(considered[scale], asked)
    print(f"Scale: {scale} ({why}).", file=sys.stderr)
    for larger in SCALES[: SCALES.index(scale)]:
        if larger in barred:
            print(f"Not {larger}: {barred[larger]}", file=sys.stderr)
    return considered[scale]


def _tell_unused(requests: Sequence[Request], asked: Asked) -> None:
    """Says which of several artefacts a setting was left out of. Raises ReproError for a setting
    that was left out of all.
    """
    for path in asked.get("settings", {}):
        left = [request.id for request in requests if path not in request.settings]
        if len(left) == len(requests):
            raise ReproError(
                f"No run of {', '.join(left)} has a {path}: leave out {typed_as(path)}."
            )
        if left:
            print(f"Left out: {typed_as(path)} of {', '.join(left)}.", file=sys.stderr)


def choose_shown(
    artefact: Artefact,
    asked: Asked,
    store: Store,
    *,
    device: str = "auto",
) -> tuple[Request, bool]:
    """The request that `table` or `figure` shows, and whether what it lacks may be trained.

    Where neither scale nor setting is given, the best stored variant is shown, or the rows and
    columns of it that are asked for: the largest scale, then the most runs. stderr names the
    others. A variant with settings is shown as it is; what the artefact's own setting lacks is
    trained if it fits the budget.
    """
    variants: list[Variant] = []
    if asked.keys() <= {"budget", "rows", "columns"}:
        variants = stored_variants(artefact, store, **rows_and_columns(artefact, asked))
    if not variants:
        return choose([artefact], asked, store, device=device)[0], True
    best, *others = variants
    speed = stored_speed(store.root, trains_on(device))
    plan = make_plan([best.request], store, speed, retry_failed=False)
    seconds = plan.estimate().seconds
    fits = seconds <= asked["budget"] * 3600
    trained = not plan.jobs or (fits and _is_own(artefact, best.request, store))
    print(f"Scale: {best.request.scale} ({_why(best, plan)}).", file=sys.stderr)
    if not trained:
        print(
            f"Not trained now: what is missing (about {duration(seconds)}). To train it: "
            f"{command_line(best.request)}",
            file=sys.stderr,
        )
    for other in others:
        print(f"Also stored: {command_line(other.request)} ({other.share})", file=sys.stderr)
    return best.request, trained


@dataclass(frozen=True, slots=True)
class Variant:
    """A request of which something is stored, and how many of its runs."""

    request: Request
    done: int
    runs: int

    @property
    def share(self) -> str:
        """How much of it is stored."""
        return f"{self.done} of {counted(self.runs, 'run')}"


def stored_variants(
    artefact: Artefact,
    store: Store,
    rows: tuple[str, ...] | None = None,
    columns: tuple[str, ...] | None = None,
) -> list[Variant]:
    """Of a table or figure, or of these rows and columns, what was asked for in this store and is
    stored at least in part: the best one first.
    """
    asked = [request for request in saved_requests(store) if request.id == artefact.id]
    if rows is not None or columns is not None:
        asked = [replace(request, rows=rows, columns=columns) for request in asked]
    variants = [found for one in asked if (found := _variant(one, store)) is not None]
    return sorted(variants, key=lambda one: (SCALES.index(one.request.scale), -one.done))


def _variant(request: Request, store: Store) -> Variant | None:
    """The variant, None where nothing of it is stored."""
    from repro.report.reproduce import view_of

    if absent_columns(request, ARTEFACTS[request.id]):
        return None
    try:
        matrix = ARTEFACTS[request.id].matrix(request)
    except ReproError:
        return None  # of other parts of the table than the rows that are asked for
    runs = matrix.runs
    if any(map(store.holds, matrix.wanted)) or (not runs and view_of(request, store).done):
        return Variant(request, sum(map(store.holds, runs)), len(runs))
    return None


def _is_own(artefact: Artefact, request: Request, store: Store) -> bool:
    """Whether the request is what the scale alone asks for here and now."""
    try:
        return requests_at(request.scale, [(artefact, {})], store, ()) == [request]
    except MissingData:
        return False


def _why(variant: Variant, plan: Plan) -> str:
    if not plan.runs:
        return "nothing is to be trained"
    if table_name(variant.request) == f"{variant.request.id}.{variant.request.scale}":
        return "all its runs are stored" if not plan.missing else f"stored, {variant.share}"
    return f"the largest that is stored, {variant.share}: {table_name(variant.request)}"


def requests_at(
    scale: Scale,
    pairs: Sequence[Pair],
    store: Store,
    saved: Sequence[Request],
) -> list[Request]:
    """The requests with their data; of several, each without what none of its runs has."""
    found = []
    for artefact, asked in pairs:
        bare = bare_request(artefact, scale, asked, saved)
        bare = without_unused(bare, artefact) if len(pairs) > 1 else bare
        found.append(_with_data(artefact, bare, store, saved))
    return found


def _with_data(
    artefact: Artefact, bare: Request, store: Store, saved: Sequence[Request]
) -> Request:
    """The request with the data found here; where these are not here, as it is stored whole."""
    known = next((old for old in saved if table_name(old) == table_name(bare)), None)
    if known is None and (bare.rows or bare.columns):
        parts = (replace(old, rows=bare.rows, columns=bare.columns) for old in saved)
        known = next((part for part in parts if table_name(part) == table_name(bare)), None)
    try:
        found = with_data(bare, artefact)
    except MissingData:
        if known is None or make_plan([known], store).missing:
            raise
        return known
    if known is None or known == found or not _lacks_data(found, known):
        return found
    return found if make_plan([known], store).missing else known


def _lacks_data(found: Request, known: Request) -> bool:
    """Whether the two differ in data alone, of which this machine has none of its own."""
    here, there = found.data_revisions, known.data_revisions
    same = replace(found, data_revisions=there, unavailable=known.unavailable, pools=known.pools)
    return same == known and all(here.get(task) in (None, there.get(task)) for task in here)


def _chosen(
    found: dict[Scale, list[Request]], budget: float, store: Store, kind: str
) -> tuple[Scale, str]:
    """A scale, and why it is chosen."""
    speed = stored_speed(store.root, kind)
    plans: dict[Scale, Plan] = {}
    for scale, requests in found.items():
        plans[scale] = plan = make_plan(requests, store, speed)
        if not plan.missing:
            return scale, "all its runs are stored" if plan.runs else "nothing is to be trained"
    for scale, plan in plans.items():
        seconds = plan.estimate().seconds
        if seconds <= budget * 3600:
            fits = f"about {duration(seconds)} of the budget of {budget:.3g} h"
            return scale, f"the largest that fits: {fits}"
    return "smoke", "the smallest; none fits the budget"
