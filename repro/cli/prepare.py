"""`prepare`: which data sets there are, where their owners publish them, and what is here."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer

from repro.backbones.contents import NAMED_OTHERWISE
from repro.cli import options as o
from repro.errors import INCOMPLETE, MissingData, UnknownName
from repro.report.layout import text_table
from repro.report.render import json_text
from repro.spec.backbones import KNOWN
from repro.spec.contents import LOCK, Contents, lock_text, locked
from repro.spec.facts import KNOWN as SETS
from repro.store.atomic import write_text
from repro.tasks.catalogue import TITLES
from repro.tasks.state import Found, folders, hub_content, look, whole


def command(
    names: Annotated[
        list[str] | None, typer.Argument(help="Data sets to check whole (default: list all).")
    ] = None,
    lock: Annotated[
        bool,
        typer.Option("--lock", help="Write what the hub holds for sets and models into the lock."),
    ] = False,
    json: o.JsonOption = False,
) -> None:
    """Says where each data set is published, what its files hold, and what of it is here.

    Named sets are read whole and checked row by row: exit code 2 for a damaged file, 3 for a set
    that is not here. Nothing is downloaded: GLUE and SQuAD come from the hub when a run needs
    them, every other set is put below $REPRO_DATA by hand.

    --lock asks the hub for the named sets and models (default: all that it has), downloads the
    sets, and writes revisions and digests into repro/spec/lock.json: runs on local copies are
    compared with published numbers only if they read the same.

    Example: python -m repro prepare airline sick-e
    """
    if lock:
        write_lock(names)
        return
    chosen = [_known(name) for name in names or TITLES]
    found = [(whole if names else look)(name) for name in chosen]
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


HUB_MODELS = [id for id in KNOWN if id not in NAMED_OTHERWISE]


def write_lock(names: Sequence[str] | None) -> None:
    """Looks up models and data sets on the hub and writes the lock file, one after the other."""
    from repro.backbones import contents

    for name in names or [*HUB_MODELS, *(task for task in TITLES if look(task).hub)]:
        found = locked()
        models, data = dict(found.models), dict(found.data)
        if name in HUB_MODELS:
            models[name] = read = contents.hub_content(name)
        else:
            task = folders().get(name) or _known(name)
            content = hub_content(task)
            if content is None:
                raise MissingData(
                    f"{name} is not on the hub, so nothing can be looked up. A run stores the "
                    "digest of its rows in environment.json; once you have compared them with the "
                    f"owner's ({SETS[task].owner.url}), add it to {LOCK} by hand, with its source."
                )
            data[look(task).folder] = read = content
        write_text(LOCK, lock_text(Contents(models=models, data=data)))
        locked.cache_clear()
        print(f"{name}: {len(read.digests)} digests at {read.revision}")


def _known(given: str) -> str:
    if given.lower() not in TITLES:
        raise UnknownName("data set", given, TITLES)
    return given.lower()


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
        [one.name, TITLES[one.name], f"{sum(one.published.values()):,}", _labels(one), _state(one)]
        for one in found
    ]
    table = text_table(["name", "data set", "rows", "labels", "here"], rows)
    problems = [f"{one.name}: {one.problem}" for one in found if one.problem]
    return "\n".join([table, "", *problems, "More of one: python -m repro prepare airline"])


def _labels(found: Found) -> str:
    return str(len(found.labels)) if found.labels else "-"


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
        f"  files      {_files(found)}",
        f"  fields     {', '.join(found.fields)}",
    ]
    if owner.made_of:
        lines.append(f"  made of    {owner.made_of}")
    if found.hub:
        lines.append(f"  hub        {found.hub} (fetched when a run needs it)")
    if found.labels:
        lines.append(f"  labels     {numbered(found.labels)}")
    lines.append(f"  rows       {sizes(found.published)}")
    here = f" ({sizes(found.here)})" if found.here else ""
    lines.append(f"  here       {_state(found)}{here}")
    return "\n".join(lines + ([f"  problem    {found.problem}"] if found.problem else []))


def _files(found: Found) -> str:
    """Which files are looked for."""
    splits = ",".join(found.published)
    named = f"$REPRO_DATA/{found.folder}/{{{splits}}}.jsonl.gz or another format"
    return f"{named}; those that are there are joined" if found.joined else named


def numbered(labels: Sequence[str]) -> str:
    """0 negative, 1 neutral, 2 positive; of many the first and the last."""
    named = [f"{number} {label}" for number, label in enumerate(labels)]
    return ", ".join(named if len(named) <= 20 else [*named[:3], "...", named[-1]])


def sizes(rows: Mapping[str, int]) -> str:
    """train 11,712, validation 1,464, test 1,464."""
    return ", ".join(f"{split} {count:,}" for split, count in rows.items())
