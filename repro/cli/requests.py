"""From what a user typed to requests: names are looked up, data and model folders are found."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Literal

from repro.errors import MissingData, ReproError, UnknownName
from repro.papers.figures import FEWEST, Embeddings, Figure
from repro.papers.matrix import Artefact
from repro.papers.own_method import YOURS, named
from repro.papers.request import (
    BOTTLENECK,
    OPTIONS,
    SHORT_NAMES,
    WIDTHS,
    Request,
    option_of,
    settings_of,
    short_name,
)
from repro.papers.tables import Table
from repro.spec import Backbone, RunSpec, Scale
from repro.spec.method import load_method, method_and_settings, why_unknown
from repro.tasks.catalogue import TITLES, data_revision, pool, unavailable
from repro.words import grouped

SCALES: tuple[Scale, ...] = ("paper", "reduced", "smoke")
Asked = dict[str, Any]
"""Fields of a request that a user gave, before table and scale are chosen: `scale` where it is not
auto, a backbone by its name, sections as they were typed; and `budget`, the hours that
`--scale auto` may spend.
"""


def parsed(**typed: Any) -> Asked:
    """What was typed, by option; None, False and [] where it was not.

    Raises ReproError for a name, field or value that does not exist, and for a field set twice.
    """
    given = {
        name: ",".join(value) if isinstance(value, list) and OPTIONS[name].joined else value
        for name, value in typed.items()
        if value not in (None, []) and value is not False
    }
    short = {name: given.pop(name) for name in SHORT_NAMES if name in given}
    of_method: dict[str, Any] = {}
    if "method" in given:  # a file is loaded here, so that --set knows its fields
        given["method"], of_method = method_and_settings(given["method"])
        why_unknown(given["method"])  # loads the file that the store remembers, if it does
    settings = settings_of(given.pop("settings", ()), **short)
    for path in settings.keys() & of_method.keys():
        raise ReproError(
            f"--set {path} and the file of --method set the same field: leave one out."
        )
    settings |= of_method
    scale = check_scale(given.pop("scale", "auto"))
    found: Asked = {"settings": settings} if settings else {}
    found |= {"scale": scale} if scale else {}
    if "tasks" in given:
        names = names_in(given.pop("tasks"), "--tasks", "task", TITLES)
        found["tasks"] = tuple(name for name in TITLES if name in names)
    return found | given


def check_scale(given: str) -> Scale | None:
    """The scale, None for auto; an unknown one names the choices."""
    known: dict[str, Scale | None] = {**{scale: scale for scale in SCALES}, "auto": None}
    if given.lower() not in known:
        raise UnknownName("scale", given, known)
    return known[given.lower()]


def parts_of(given: str, option: str) -> list[str]:
    """What stands between the commas. Raises ReproError where that is nothing."""
    parts = [part.strip() for part in given.split(",")]
    if "" in parts:
        mended = ",".join(filter(None, parts))
        raise ReproError(
            f"{option} {given}: nothing stands before or after a comma. Give "
            + (f"{option} {mended}." if mended else "a name, or leave the option out.")
        )
    return parts


def names_in(given: str, option: str, kind: str, known: Iterable[str]) -> list[str]:
    """The names in `--tasks cola,SST2` as they are spelt here. Raises ReproError; an unknown one
    names the closest.
    """
    spelt = {name.lower(): name for name in known}
    parts = parts_of(given, option)
    for name in parts:
        if name.lower() not in spelt:
            raise UnknownName(kind, name, spelt.values())
    return [spelt[name.lower()] for name in parts]


def split_sections(given: str | None, artefact: Artefact) -> tuple[str, ...] | None:
    """The parts of `--section Low-data-100,Low-data-300`, in the table's order.

    Raises ReproError as `names_in` does, and for what has no parts.
    """
    if given is None:
        return None
    known: tuple[str, ...] = getattr(artefact, "sections", ())
    if not known:
        raise ReproError(f"{artefact.id} has no sections: leave out --section.")
    names = names_in(given, "--section", f"section of {artefact.id}", known)
    return tuple(section for section in known if section in names)


def rows_and_columns(artefact: Artefact, asked: Asked) -> dict[str, tuple[str, ...] | None]:
    """The rows and columns of `--row` and `--column`, in the table's order, in any case; several
    may stand in one, separated by commas, and a row may be named without its part of the table.
    The row of the method asked for is `YOURS`, or its whole name.

    An unknown one names the closest; raises ReproError for what is no table.
    """
    found: dict[str, tuple[str, ...] | None] = {"rows": None, "columns": None}
    for name in found.keys() & asked.keys():
        kind = name.removesuffix("s")
        if not isinstance(artefact, Table):
            raise ReproError(f"{artefact.id} is a figure: leave out --{kind}.")
        known = [one.name for one in getattr(artefact, name)]
        spelt = [(own, one) for one in known for own in (one, one.partition(" / ")[2]) if own]
        if name == "rows" and "method" in asked:
            known.append(YOURS)
            spelt += [(YOURS, YOURS), (named(asked["method"], asked.get("settings", {})), YOURS)]
        meant = grouped((own.lower(), one) for own, one in spelt)
        chosen: set[str] = set()
        for text in [asked[name]] if isinstance(asked[name], str) else asked[name]:
            whole = text.strip().lower() in meant
            for part in [text.strip()] if whole else parts_of(text, f"--{kind}"):
                if part.lower() not in meant:
                    raise UnknownName(f"{kind} of {artefact.id}", part, known)
                chosen.update(meant[part.lower()])
        found[name] = tuple(one for one in known if one in chosen)
    return found


def make_request(artefact: Artefact, scale: Scale, **typed: Any) -> Request:
    """The request at this scale, of what is typed by option (epochs=3, tasks="cola,rte"); looks for
    the data, loads nothing. Raises MissingData where the artefact's data cannot be had; see
    `with_data`.
    """
    return with_data(bare_request(artefact, scale, parsed(**typed)), artefact)


def bare_request(
    artefact: Artefact, scale: Scale, asked: Asked, stored: Iterable[Request] = ()
) -> Request:
    """The request before its data are looked for; `stored`: see `find_backbone`."""
    if "server" in asked and not getattr(artefact, "server", ""):
        raise ReproError(
            f"No number of {artefact.id} is a test server's: leave out --server, which is for the "
            "GLUE tables."
        )
    if "method" in asked and isinstance(artefact, Table):
        asked = asked | {"method": load_method(asked["method"])}
    own: Asked = {"id": artefact.id, "scale": scale, "seeds": artefact.default_seeds[scale]}
    given = {name: value for name, value in asked.items() if name not in ("scale", "budget")}
    found = {
        "backbone": find_backbone(asked.get("backbone"), stored),
        "sections": split_sections(asked.get("sections"), artefact),
        **rows_and_columns(artefact, asked),
    }
    request = Request(**(own | given | found))
    lacking = absent_columns(request, artefact)
    if lacking:
        raise ReproError(
            f"{artefact.id} has no {' and no '.join(lacking)} of {', '.join(request.tasks or ())} "
            "alone: leave out --column or --tasks."
        )
    return request


def absent_columns(request: Request, artefact: Artefact) -> list[str]:
    """The columns asked for by name that the tasks asked for do not have."""
    if request.columns is None or not isinstance(artefact, Table):
        return []
    shown = {column.name for column in artefact.shown(request)}
    return [name for name in request.columns if name not in shown]


def unused_settings(request: Request, artefact: Artefact) -> list[str]:
    """The fields set by hand that no run of the artefact has: they would change nothing."""
    if not request.settings:
        return []
    matrix = artefact.matrix(request)
    specs = list(matrix.runs.values()) or [entry.spec for entry in matrix.entries]
    return [path for path in request.settings if not any(_has(spec, path) for spec in specs)]


def without_unused(request: Request, artefact: Artefact) -> Request:
    """The request without the fields that no run of the artefact has."""
    unused = unused_settings(request, artefact)
    used = {path: value for path, value in request.settings.items() if path not in unused}
    return replace(request, settings=used)


def _has(spec: RunSpec, path: str) -> bool:
    paths = WIDTHS if path == BOTTLENECK else (path,)
    parts = (path.split(".") for path in paths)
    return any(name in type(getattr(spec, part)).model_fields for part, name in parts)


def typed_as(path: str) -> str:
    """--epochs, or --set recipe.warmup: how a field is set."""
    short = short_name(path)
    return option_of(short) if short else f"--set {path}"


def with_data(request: Request, artefact: Artefact) -> Request:
    """The request with the data found for what it trains on.

    A task whose data cannot be had is a gap; raises MissingData where that is so of all, for a
    damaged file, and at the paper's scale for other rows than the published ones. A table of
    low data divides validation rows where a folder here has no training rows. Raises ReproError for
    a task that the artefact does not have, and for a field set by hand that none of its runs has.
    """
    needed = artefact.needed(request)
    lacking = [task for task in request.tasks or () if task not in artefact.tasks]
    if lacking:
        raise ReproError(
            f"{artefact.id} has no task {' or '.join(lacking)}. It has: "
            f"{', '.join(artefact.tasks) or 'no task at all'}."
        )
    revisions: dict[str, str | None] = {}
    gaps: dict[str, str] = {}
    pools: dict[str, Literal["validation"]] = {}
    low_data, also = getattr(artefact, "low_data", False), getattr(artefact, "also", ())
    for name in dict.fromkeys((*needed, *also)):
        drawn = pool(request.scale, name) if low_data else "train"
        reason = unavailable(request.scale, name, drawn)
        if reason is not None:
            gaps[name] = reason
            continue
        try:
            revisions[name] = data_revision(request.scale, name, drawn)
        except MissingData as problem:
            if name in needed:
                raise
            gaps[name] = str(problem).removesuffix(".")  # of a task that only parents are on
            continue
        if drawn == "validation":
            pools[name] = drawn
    if needed and not any(name in revisions for name in needed):
        raise MissingData(f"No task of {artefact.id} has data here: {next(iter(gaps.values()))}.")
    found = replace(request, data_revisions=revisions, unavailable=gaps, pools=pools)
    for path in unused_settings(found, artefact):
        raise ReproError(
            f"No run of {artefact.id} has a {path}: leave out {typed_as(path)}, or see "
            f"`python -m repro show {artefact.id}` for what its runs have."
        )
    return found


def as_if_here(artefact: Artefact, scale: Scale, asked: Asked) -> Request:
    """The request as if the published rows of all its tasks were here."""
    request = bare_request(artefact, scale, asked)
    if scale == "smoke":
        return with_data(request, artefact)
    tasks = (*artefact.needed(request), *getattr(artefact, "also", ()))
    return replace(request, data_revisions=dict.fromkeys(tasks))


def find_backbone(given: str | None, stored: Iterable[Request] = ()) -> Backbone | None:
    """The backbone asked for, None for the scale's own.

    A model folder can also be named as the report does, by its name and the beginning of a digest.
    One that is not here is known if one of the `stored` requests is of it: what is stored of it can
    be shown.
    """
    from repro.backbones.describe import describe

    if given is None:
        return None
    try:
        return describe(given)
    except UnknownName:
        from repro.report.files import backbone_label

        models = [request.backbone for request in stored if request.backbone is not None]
        models += _same_folder(given)
        labels = {backbone_label(one): one for one in models}
        named = {label: one for label, one in labels.items() if given in (one.name, label)}
        if not named:
            raise
    if len(named) > 1:
        raise ReproError(
            f"{len(named)} model folders called {given} were used in this store. Name one of them "
            f"with --backbone: {', '.join(sorted(named))}."
        )
    return next(iter(named.values()))


def _same_folder(label: str) -> list[Backbone]:
    """The model folder of this label, if it is here: the name without the digest finds it."""
    from repro.backbones.describe import describe_folder, find_folder

    named = re.fullmatch(r"(.+)-[0-9a-f]{8}", label)
    folder = None if named is None else find_folder(named[1])
    return [] if folder is None else [describe_folder(folder)]


def find_folders(given: str | None, backbone: Backbone | None = None) -> dict[str, str]:
    """Where a model folder is that was asked for: revision -> folder; none where it is not here.
    `backbone`: what `given` names, where that is known.
    """
    from repro.backbones.describe import LOCAL, describe, describe_folder, find_folder

    if given is None:
        return {}
    found = backbone or describe(given)
    if found.id != LOCAL or found.revision is None:
        return {}
    folder = find_folder(given)
    if folder is None:  # it was given as the report names it
        folder = find_folder(found.name)
        folder = folder if folder is not None and describe_folder(folder) == found else None
    return {} if folder is None else {found.revision: str(folder.resolve())}


def narrowed(artefacts: Sequence[Artefact], asked: Asked) -> list[tuple[Artefact, Asked]]:
    """Of several artefacts those that have a task of `--tasks`, each asked for the tasks it has.

    What is left out is said on stderr. One artefact alone has to have all of them, which
    `make_request` checks. Raises ReproError for a task that none has, or where nothing is left.
    """
    tasks = asked.get("tasks")
    if tasks is None or len(artefacts) == 1:
        return [(artefact, asked) for artefact in artefacts]
    absent = [task for task in tasks if all(task not in known.tasks for known in artefacts)]
    if absent:
        names = ", ".join(artefact.id for artefact in artefacts)
        raise ReproError(f"None of {names} has a task {' or '.join(absent)}.")
    kept, said = [], []
    for artefact in artefacts:
        own = [task for task in tasks if task in artefact.tasks]
        whole, reason = _left_out(artefact, own, tasks)
        said += [f"Left out: {artefact.id}{reason}."] if reason else []
        kept += [] if whole else [(artefact, asked | {"tasks": tuple(own)})]
    if not kept:
        raise ReproError(f"Nothing of that can be done. {' '.join(said)}")
    print("".join(f"{line}\n" for line in said), end="", file=sys.stderr)
    return kept


def _left_out(artefact: Artefact, own: Sequence[str], tasks: Sequence[str]) -> tuple[bool, str]:
    """Whether all of an artefact is left out, and what to say after its name; "" where it takes all
    that is asked for.
    """
    if not own:
        return True, f", which has {', '.join(artefact.tasks) or 'no task'}"
    if isinstance(artefact, Figure) and len(own) > 1:
        return True, f", which draws one task: {' or '.join(own)}"
    if isinstance(artefact, Embeddings) and len(own) < FEWEST:
        return True, f", which draws maps of {FEWEST} tasks at least"
    lacking = [task for task in tasks if task not in own]
    return False, f"'s {' and '.join(lacking)}, which it does not have" if lacking else ""


def all_unavailable(requests: Sequence[Request]) -> dict[str, str]:
    """Task -> why its data cannot be had here, so that its runs are in no plan."""
    return {task: why for request in requests for task, why in request.unavailable.items()}


def gap_lines(requests: Sequence[Request]) -> list[str]:
    """One line a task whose runs are left out."""
    return [
        f"{TITLES[name]} is a gap: {why}."
        for name in TITLES
        if (why := all_unavailable(requests).get(name))
    ]
