"""`why RUN`: what a run is, what it scored, and how it differs from the nearest stored run."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Annotated, Any

import typer

from repro.cli import options as o
from repro.cli.requests import SCALES, make_request
from repro.engine.jobs import name_of_job, unfinished_jobs
from repro.engine.plan import PlannedRun, make_plan, planned
from repro.errors import MissingData, ReproError
from repro.papers.matrix import tasks_of
from repro.papers.registry import ARTEFACTS
from repro.papers.request import Request
from repro.papers.tables import Table
from repro.report.files import asked_for
from repro.report.layout import text_table
from repro.report.render import json_text
from repro.report.runs_found import kept_epoch
from repro.spec import RunSpec
from repro.spec.identity import flatten, identity_document
from repro.store.entry import StoredRun
from repro.store.result import Score
from repro.store.store import Store
from repro.words import counted, run_name

BEGINNING = re.compile("[0-9a-f]{1,64}")
TELLING = (
    "task.train_rows", "recipe.learning_rate", "recipe.epochs", "recipe.steps",
    "recipe.batch_size", "recipe.precision",
)  # fmt: skip
"""Settings that say most of a run, beside those of its method."""


def command(
    run: Annotated[
        str, typer.Argument(help="A run's key or its first digits, as `plan` shows it.")
    ],
    other: Annotated[
        str | None, typer.Argument(help="Another run to compare with (default: the nearest).")
    ] = None,
    all_plans: Annotated[
        bool,
        typer.Option(
            "--planned", help="Look in the plans of all tables and figures, too. Takes seconds."
        ),
    ] = False,
    json: o.JsonOption = False,
    store: o.StoreOption = None,
) -> None:
    """Shows a run's state, settings and scores, and how it differs from another run: the nearest
    stored one, or the one that is named.

    It looks among the runs that are stored or were asked for in this store.

    Example: python -m repro why f75e38
    """
    results = o.open_store(store)
    given = [run] if other is None else [run, other]
    found = [locate(one, results, all_plans=all_plans) for one in given]
    if len({key for key, _ in found}) < len(found):
        raise ReproError(f"{run} and {other} are the same run: name two.")
    document = explain(found[0], found[1] if other is not None else None, results)
    sys.stdout.write(json_text(document) if json else as_text(document))


def locate(given: str, store: Store, *, all_plans: bool) -> tuple[str, RunSpec]:
    """Key and spec of the one run that begins so: of the stored ones, else of those asked for.

    Raises ReproError for none or several, and for a job, whose runs it names.
    """
    check_beginning(given)
    stored = [key for key in store.keys() if key.startswith(given.lower())]  # noqa: SIM118
    run = store.read(find_run(given, stored)) if stored else None
    if run is not None:
        return run.key, run.spec
    plans = [*asked_for(store).values()]
    known = runs_of(chain(*plans))
    unseen = [
        " Only runs that are stored or were asked for here were looked at; "
        f"`python -m repro why {given} --planned` looks at those of all plans, too."
    ]
    if all_plans:
        default, requests, unseen = default_runs()
        known |= default
        plans += [[request] for request in requests]
    if len(given) == len(name_of_job([])) and not any(key.startswith(given) for key in known):
        check_no_job(given, plans, store)
    key = find_run(given, known, unseen)
    return key, known[key]


def runs_of(requests: Iterable[Request]) -> dict[str, RunSpec]:
    """Key -> spec of all their runs."""
    return {
        key: spec
        for request in requests
        for key, spec in ARTEFACTS[request.id].matrix(request).runs.items()
    }


def default_runs() -> tuple[dict[str, RunSpec], list[Request], list[str]]:
    """The runs of every table and figure at every scale, what asks for them, and why some could not
    be listed.
    """
    runs: dict[str, RunSpec] = {}
    requests: list[Request] = []
    barred: dict[str, None] = {}
    for scale in SCALES:
        for artefact in ARTEFACTS.values():
            try:
                request = make_request(artefact, scale)
                runs |= runs_of([request])
                requests.append(request)
            except MissingData as lack:  # that scale has no runs to look through
                barred[f" Not looked through for lack of data: {lack}"] = None
    return runs, requests, list(barred)


def check_no_job(given: str, plans: Iterable[Sequence[Request]], store: Store) -> None:
    """Raises ReproError, which names its runs, for the id of a job: of one that is at work here, or
    of one of these plans.
    """
    planned = (make_plan(some, store, retry_failed=False).jobs for some in plans)
    for job in chain(unfinished_jobs(store), chain.from_iterable(planned)):
        if job.id == given:
            runs = zip(job.keys, job.specs, strict=True)
            listed = "".join(f"\n  {key[:12]} {run_name(spec)}" for key, spec in runs)
            raise ReproError(
                f"{given} is a job, which trains {counted(len(job.keys), 'run')} together. Ask why "
                f"of one of them:{listed}"
            )


def check_beginning(given: str) -> None:
    """Raises ReproError for what can be no key and no beginning of one."""
    if not BEGINNING.fullmatch(given.lower()):
        raise ReproError(
            f"'{given}' is no run's key or its beginning: at most 64 digits from 0 to f. `python "
            "-m repro plan` lists the runs."
        )


def find_run(given: str, known: Iterable[str], unseen: Iterable[str] = ()) -> str:
    """The one key that begins with `given`. Raises ReproError; if there is none, the message ends
    with `unseen`, which says where else there are runs.
    """
    check_beginning(given)
    found = [key for key in known if key.startswith(given.lower())]
    if len(found) != 1:
        problem = "No run's key begins" if not found else f"{len(found)} runs' keys begin"
        elsewhere = "" if found else "".join(unseen)
        raise ReproError(
            f"{problem} with '{given}'. `python -m repro plan` lists the runs.{elsewhere}"
        )
    return found[0]


def explain(
    found: tuple[str, RunSpec], other: tuple[str, RunSpec] | None, store: Store
) -> dict[str, Any]:
    """The object of `why --json`; docs/json.md describes it."""
    key, spec = found
    requests = [one for asked in asked_for(store).values() for one in asked]
    run = standing(key, spec, requests, store)
    identity = identity_of(key, spec, store)
    near = nearest(key, identity, store) if other is None else None
    compared = other or near
    return {
        "key": key,
        "name": run_name(spec),
        "state": run.state,
        "failure": run.failure.message if run.failure else None,
        "blocked": run.blocked,
        "tables": list(run.tables),
        "settings": settings(spec),
        "scores": scores(store.read(key), compared and store.read(compared[0])),
        "other": other and _named(*other, store),
        "nearest": near and _named(*near, store),
        "differences": differences(identity, identity_of(*compared, store)) if compared else [],
    }


def _named(key: str, spec: RunSpec, store: Store) -> dict[str, Any]:
    """The run that is compared with: what it is, and on what it was scored."""
    run = store.read(key)
    scored = dict.fromkeys(
        f"{one.task} {one.split} ({one.protocol})"
        for one in (_kept(run) if run is not None else ())
    )
    named = {"key": key, "name": run_name(spec), "settings": settings(spec)}
    return named | {"scored": list(scored)}


def standing(key: str, spec: RunSpec, requests: Sequence[Request], store: Store) -> PlannedRun:
    """The run as it stands in a plan of all that was asked for; a stored one without a plan, which
    takes seconds, and one that is in no such plan as the store alone knows it.
    """
    if store.read(key) is not None:
        tables: list[str] = []
        for one in requests:
            if one.id not in tables and needs(one, key, spec):
                tables.append(one.id)
        return PlannedRun(key, spec, "done", tuple(tables))
    for run in make_plan(requests, store).runs:
        if run.key == key:
            return run
    return planned(key, spec, store.state(key), (), store, {key: spec})


def needs(request: Request, key: str, spec: RunSpec) -> bool:
    """Whether the run is among those of the request. Of a table only the columns are made that the
    run's tasks are in: other columns have no run of these tasks unless the table says so (`also`).
    """
    artefact, tasks = ARTEFACTS[request.id], tasks_of(spec)
    if request.scale != spec.scale or (request.backbone or spec.backbone) != spec.backbone:
        return False
    if isinstance(artefact, Table) and len(tasks) == 1 and not artefact.also:
        if not set(tasks) <= set(artefact.needed(request)):
            return False
        narrow = replace(request, tasks=tasks, columns=None)
        try:
            return key in artefact.matrix(narrow).runs
        except ReproError:
            pass  # another part of the table lacks the task
    return key in artefact.matrix(request).runs


def identity_of(key: str, spec: RunSpec, store: Store) -> Mapping[str, Any]:
    """What `key` is the hash of: as stored, else today's document of the spec."""
    run = store.read(key)
    return identity_document(spec) if run is None else run.identity


def nearest(key: str, identity: Mapping[str, Any], store: Store) -> tuple[str, RunSpec] | None:
    """The stored run that differs in the fewest identity fields."""
    own = dict(flatten(identity))
    far = {}
    for other, document in store.identities().items():
        theirs = dict(flatten(document))
        paths = own.keys() | theirs.keys()
        far[other] = sum(own.get(path) != theirs.get(path) for path in paths)
    for other in sorted(far.keys() - {key}, key=lambda one: (far[one], one)):
        run = store.read(other)
        if run is not None:
            return other, run.spec
    return None


def differences(here: Mapping[str, Any], there: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The identity fields that differ, and their values."""
    own, theirs = dict(flatten(here)), dict(flatten(there))
    return [
        {"field": path, "this": own.get(path), "stored": theirs.get(path)}
        for path in sorted(own.keys() | theirs.keys())
        if own.get(path) != theirs.get(path)
    ]


def settings(spec: RunSpec) -> list[dict[str, Any]]:
    """The most telling settings: those of the method, and `TELLING`."""
    document = spec.model_dump(mode="json")
    method = [f"method.{name}" for name in document["method"] if name != "kind"]
    found = []
    for path in (*method, *TELLING):
        part, name = path.split(".")
        if document[part].get(name) is not None:
            found.append({"field": path, "value": document[part][name]})
    return found


def scores(run: StoredRun | None, other: StoredRun | None) -> list[dict[str, Any]]:
    """The scores of the weights that the run kept, and those of the other run at the same place."""
    there = {} if other is None else {_place(one): one.value for one in _kept(other)}
    return [
        {name: getattr(one, name) for name in ("task", "split", "protocol", "metric", "group")}
        | {"epoch": one.epoch, "value": one.value, "n": one.n, "other": there.get(_place(one))}
        for one in ([] if run is None else _kept(run))
    ]


def _kept(run: StoredRun) -> list[Score]:
    return [score for score in run.result.scores if score.epoch == kept_epoch(run)]


def _place(score: Score) -> tuple[str, ...]:
    return score.task, score.split, score.protocol, score.metric, score.group


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
    lines.append(f"Settings: {_settings_in_words(document)}")
    other = document["other"] or document["nearest"]
    if document["other"]:
        lines.append(f"Settings of {other['key'][:12]}: {_settings_in_words(other)}")
    if document["scores"]:
        shared = any(one["other"] is not None for one in document["scores"])
        lines += ["", _scores_in_words(document["scores"], other if shared else None), ""]
        if other and not shared:
            where = ", ".join(other["scored"]) or "nothing yet"
            lines.append(f"{other['key'][:12]} has none of these scores. It was scored on: {where}")
    if other is None:
        lines.append("No other run is stored.")
    else:
        what = "Compared with" if document["other"] else "Nearest stored run:"
        lines.append(f"{what} {other['key'][:12]} ({other['name']}), which differs in:")
        lines += [
            f"  {line['field']}: {line['this']!r} here, {line['stored']!r} there"
            for line in document["differences"]
        ]
    return "\n".join(lines) + "\n"


def _settings_in_words(document: Mapping[str, Any]) -> str:
    return ", ".join(f"{one['field']}={one['value']}" for one in document["settings"])


def _scores_in_words(found: Sequence[Mapping[str, Any]], other: Mapping[str, Any] | None) -> str:
    head = ["task", "split", "metric", "rows", "this run"]
    rows = []
    for one in found:
        metric = one["metric"] if one["group"] == "ALL" else f"{one['metric']} {one['group']}"
        place = [one["task"], one["split"], f"{metric} ({one['protocol']})", str(one["n"])]
        there = "" if one["other"] is None else f"{one['other']:.1f}"
        rows.append([*place, f"{one['value']:.1f}", *[there] * (other is not None)])
    return text_table([*head, *[other["key"][:8]] * (other is not None)] if other else head, rows)
