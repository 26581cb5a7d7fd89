"""`why RUN`: why a run is stored or not, against the nearest one that is."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import Annotated, Any

import typer

from repro.cli import options as o
from repro.errors import MissingData, ReproError
from repro.papers.registry import ARTEFACTS
from repro.report.files import saved_requests
from repro.report.render import json_text
from repro.spec import RunSpec, run_key
from repro.spec.identity import flatten, identity_document
from repro.store.blocked import blocker
from repro.store.store import Store
from repro.words import run_name


def command(
    run: Annotated[
        str, typer.Argument(help="A run's key or its first digits, as `plan` shows it.")
    ],
    json: o.JsonOption = False,
    store: o.StoreOption = None,
) -> None:
    """Explains a run's state: stored, failed, or how it differs from the nearest stored run.

    Example: python -m repro why 3fa94c
    """
    results = o.open_store(store)
    stored = results.specs()
    known, barred = known_runs(results, stored)
    key = find_run(run, known, barred)
    document = explain(key, known, results, stored)
    sys.stdout.write(json_text(document) if json else as_text(document))


def known_runs(store: Store, stored: dict[str, RunSpec]) -> tuple[dict[str, RunSpec], list[str]]:
    """Key -> spec of stored, requested and default runs, and why some could not be listed."""
    known = dict(stored)
    requests = saved_requests(store)
    barred: dict[str, None] = {}
    for scale in o.SCALES:
        for artefact in ARTEFACTS.values():
            try:
                requests.append(o.make_request(artefact, scale, o.Asked()))
            except MissingData as lack:  # that scale has no runs to look through
                barred[f" Not looked through for lack of data: {lack}"] = None
    for request in requests:
        known |= {run_key(spec): spec for spec in ARTEFACTS[request.table].runs(request)}
    return known, list(barred)


def find_run(given: str, known: Iterable[str], barred: Iterable[str] = ()) -> str:
    """The one key that begins with `given`. Raises ReproError, which tells what was `barred`."""
    found = [key for key in known if key.startswith(given.lower())]
    if len(found) != 1:
        problem = "No run's key begins" if not found else f"{len(found)} runs' keys begin"
        unseen = "" if found else "".join(barred)
        raise ReproError(
            f"{problem} with '{given}'. `python -m repro plan` lists the runs.{unseen}"
        )
    return found[0]


def explain(
    key: str, known: Mapping[str, RunSpec], store: Store, stored: dict[str, RunSpec]
) -> dict[str, Any]:
    """The object of `why --json`; docs/json.md describes it."""
    spec, state, failure = known[key], store.state(key), store.failure(key)
    blocked = blocker(spec, store, known) if state in ("missing", "failed") else None
    others = {k: identity_of(k, s, store) for k, s in stored.items() if k != key}
    near = nearest(identity_of(key, spec, store), others)
    return {
        "key": key,
        "name": run_name(spec),
        "state": "blocked" if blocked else state,
        "failure": failure.message if failure else None,
        "blocked": blocked,
        "nearest": near and {"key": near[0], "name": run_name(stored[near[0]])},
        "differences": near[1] if near else [],
    }


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
