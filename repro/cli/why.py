"""`why RUN`: why a run is stored or not, against the nearest one that is."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any

import typer

from repro.cli import options as o
from repro.cli.requests import SCALES, make_request
from repro.engine.plan import PlannedRun, make_plan, planned
from repro.errors import MissingData, ReproError
from repro.papers.registry import ARTEFACTS
from repro.papers.request import Request
from repro.report.files import asked_for
from repro.report.render import json_text
from repro.spec import RunSpec, run_key
from repro.spec.identity import flatten, identity_document
from repro.store.store import Store
from repro.words import run_name

BEGINNING = re.compile("[0-9a-f]{1,64}")


def command(
    run: Annotated[
        str, typer.Argument(help="A run's key or its first digits, as `plan` shows it.")
    ],
    all_plans: Annotated[
        bool,
        typer.Option(
            "--planned", help="Look in the plans of all tables and figures, too. Takes seconds."
        ),
    ] = False,
    json: o.JsonOption = False,
    store: o.StoreOption = None,
) -> None:
    """Explains a run's state: stored, failed, or how it differs from the nearest stored run.

    It looks among the runs that are stored or were asked for in this store.

    Example: python -m repro why f75e38
    """
    if not BEGINNING.fullmatch(run.lower()):
        raise ReproError(
            f"'{run}' is no run's key or its beginning: at most 64 digits from 0 to f. `python -m "
            "repro plan` lists the runs."
        )
    results = o.open_store(store)
    requests = [one for found in asked_for(results).values() for one in found]
    known = runs_of(requests)
    unseen = [
        " Only runs that are stored or were asked for here were looked at; "
        f"`python -m repro why {run} --planned` looks at those of all plans, too."
    ]
    if all_plans:
        default, unseen = default_runs()
        known |= default
    find_run(run, {*results.keys(), *known}, unseen)  # before the specs of stored runs are read
    stored = results.specs()
    known |= stored
    key = find_run(run, known)
    document = explain(key, known, requests, results, stored)
    sys.stdout.write(json_text(document) if json else as_text(document))


def runs_of(requests: Iterable[Request]) -> dict[str, RunSpec]:
    """Key -> spec of all their runs."""
    return {
        key: spec
        for request in requests
        for key, spec in ARTEFACTS[request.id].matrix(request).runs.items()
    }


def default_runs() -> tuple[dict[str, RunSpec], list[str]]:
    """The runs of every table and figure at every scale, and why some could not be listed."""
    found: dict[str, RunSpec] = {}
    barred: dict[str, None] = {}
    for scale in SCALES:
        for artefact in ARTEFACTS.values():
            try:
                found |= runs_of([make_request(artefact, scale)])
            except MissingData as lack:  # that scale has no runs to look through
                barred[f" Not looked through for lack of data: {lack}"] = None
    return found, list(barred)


def find_run(given: str, known: Iterable[str], unseen: Iterable[str] = ()) -> str:
    """The one key that begins with `given`. Raises ReproError; if there is none, the message ends
    with `unseen`, which says where else there are runs.
    """
    found = [key for key in known if key.startswith(given.lower())]
    if len(found) != 1:
        problem = "No run's key begins" if not found else f"{len(found)} runs' keys begin"
        elsewhere = "" if found else "".join(unseen)
        raise ReproError(
            f"{problem} with '{given}'. `python -m repro plan` lists the runs.{elsewhere}"
        )
    return found[0]


def explain(
    key: str,
    known: Mapping[str, RunSpec],
    requests: Sequence[Request],
    store: Store,
    stored: dict[str, RunSpec],
) -> dict[str, Any]:
    """The object of `why --json`; docs/json.md describes it."""
    spec = known[key]
    run = standing(key, known, requests, store)
    others = {k: identity_of(k, s, store) for k, s in stored.items() if k != key}
    near = nearest(identity_of(key, spec, store), others)
    return {
        "key": key,
        "name": run_name(spec),
        "state": run.state,
        "failure": run.failure.message if run.failure else None,
        "blocked": run.blocked,
        "tables": list(run.tables),
        "nearest": near and {"key": near[0], "name": run_name(stored[near[0]])},
        "differences": near[1] if near else [],
    }


def standing(
    key: str, known: Mapping[str, RunSpec], requests: Sequence[Request], store: Store
) -> PlannedRun:
    """The run as it stands in a plan of all that was asked for; one that is in no such plan, as
    the store alone knows it.
    """
    for run in make_plan(requests, store, o.any_speed()).runs:
        if run.key == key:
            return run
    return planned(key, known[key], store.state(key), (), store, known)


def identity_of(key: str, spec: RunSpec, store: Store) -> Mapping[str, Any]:
    """What `key` is the hash of: today's document of the spec, or an older revision's as stored."""
    outdated = store.read(key) if run_key(spec) != key else None
    return identity_document(spec) if outdated is None else outdated.identity


def nearest(
    identity: Mapping[str, Any], others: Mapping[str, Mapping[str, Any]]
) -> tuple[str, list[dict[str, Any]]] | None:
    """The stored run that differs in the fewest identity fields, and those fields."""
    own = dict(flatten(identity))
    best: tuple[str, list[dict[str, Any]]] | None = None
    for key in sorted(others):
        theirs = dict(flatten(others[key]))
        differences = [
            {"field": path, "this": own.get(path), "stored": theirs.get(path)}
            for path in sorted(own.keys() | theirs.keys())
            if own.get(path) != theirs.get(path)
        ]
        if best is None or len(differences) < len(best[1]):
            best = key, differences
    return best


def as_text(document: dict[str, Any]) -> str:
    """For a person."""
    lines = [f"{document['key']}", f"{document['name']}: {document['state']}"]
    if document["tables"]:
        lines.append(f"Needed by: {', '.join(document['tables'])}")
    elif document["state"] != "done":
        lines.append("Nothing that was asked for in this store needs it.")
    if document["failure"]:
        lines.append(f"It failed: {document['failure']}")
    if document["blocked"]:
        lines.append(f"It cannot be trained: {document['blocked']}")
    if document["nearest"] is None:
        lines.append("No other run is stored.")
    else:
        lines.append(f"Nearest stored run: {document['nearest']['key'][:12]}, which differs in:")
        lines += [
            f"  {line['field']}: {line['this']!r} here, {line['stored']!r} there"
            for line in document["differences"]
        ]
    return "\n".join(lines) + "\n"
