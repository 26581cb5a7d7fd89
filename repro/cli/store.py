"""Looks after a folder of results: what it holds and takes, what can go, copies, checks.

Begin with: python -m repro store ls
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from repro.cli import completion
from repro.cli import options as o
from repro.cli.store_copies import merge, pack, verify
from repro.cli.why import find_run, runs_of
from repro.engine import housekeeping
from repro.engine.housekeeping import Listed, Needs
from repro.errors import ReproError, UnknownName
from repro.papers.sweeps import Sweep
from repro.report.files import read_asked, table_name
from repro.report.layout import text_table
from repro.report.render import json_text
from repro.store.bundle import REQUESTS, SUFFIX
from repro.store.store import Store
from repro.words import age, counted, share, size

DAYS = 30
STATES = ("done", "outdated", "running", "failed", "unreadable")

WhereOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="<FIELD=VALUE>",
        help="Only runs with this value: of task, method, backbone, seed, scale, state, table, or "
        "of a field that `why` prints, like recipe.epochs. Several: all of them hold.",
    ),
]

# -- what it holds ---------------------------------------------------------------------------


def ls(
    where: WhereOption = None,
    state: Annotated[
        list[str] | None, o.choice("state", STATES, f"{', '.join(STATES)}.", metavar="<state>")
    ] = None,
    json: o.JsonOption = False,
    store: o.StoreOption = None,
) -> None:
    """Lists the runs: key, name, state, size, age, and the saved requests that need each.

    Piped, its lines are separated by tabs and hold whole keys. An outdated run was made by another
    revision of the code, and no table takes it.

    Example: python -m repro store ls --where task=rte --state done
    """
    results = o.existing_store(store)
    every = housekeeping.listed(results, needs_of(results)[0])
    runs = housekeeping.matching(every, where or (), state or ())
    if not runs:
        asked = " and ".join([*(where or ()), *(f"state={one}" for one in state or ())])
        print(f"No run in {results.root}" + f" has {asked}." * bool(asked), file=sys.stderr)
    if json:
        sys.stdout.write(json_text({"runs": [_run_json(run) for run in runs]}))
    elif sys.stdout.isatty():
        _show(runs, results)
    else:
        lines = [("key", *HEAD), *((run.key, *_cells(run)) for run in runs)]
        sys.stdout.write("".join("\t".join(line) + "\n" for line in lines))


HEAD = ("state", "size", "age", "name", "needed by")
LONG = ("name", "needed by")
LEAST = (0, 60, 60, 0, 80)
"""Characters of a terminal from which each column is shown."""


def _cells(run: Listed) -> tuple[str, ...]:
    since = "" if run.changed is None else age(time.time() - run.changed)
    taken = size(run.bytes) if run.bytes else "bundle" if run.bundle is not None else ""
    return run.state, taken, since, run.name, ", ".join(run.tables)


def _show(runs: Sequence[Listed], store: Store) -> None:
    """For a terminal: long names are cut, and a narrow one has fewer columns."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    console = Console(file=sys.stdout)
    shown = [place for place, _ in enumerate(HEAD) if console.width >= LEAST[place]]
    table = Table(
        box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), expand=True
    )
    table.add_column("key", no_wrap=True)
    for place in shown:
        ratio = 1 if HEAD[place] in LONG else None
        table.add_column(HEAD[place], no_wrap=True, overflow="ellipsis", ratio=ratio)
    for run in runs:
        cells = _cells(run)
        table.add_row(run.key[:8], *(cells[place] for place in shown))
    if runs:
        console.print(table, highlight=False, markup=False)
    states = Counter(run.state for run in runs)
    said = ", ".join(f"{count} {word}" for word, count in states.items())
    print(f"{counted(len(runs), 'run')} in {store.called}" + f": {said}." * bool(said))


def _run_json(run: Listed) -> dict[str, Any]:
    changed = None if run.changed is None else datetime.fromtimestamp(run.changed, UTC)
    return {
        "key": run.key,
        "name": run.name,
        "state": run.state,
        "bytes": run.bytes,
        "changed": None if changed is None else changed.isoformat(timespec="seconds"),
        "needed_by": list(run.tables),
        "bundle": None if run.bundle is None else str(run.bundle),
    }


def needs_of(store: Store) -> tuple[Needs, list[str]]:
    """The saved requests and sweeps that need each run, by its key, and the names of those that
    this version cannot read, whose runs are therefore unknown.
    """
    found: dict[str, list[str]] = {}
    unread = []
    for name, document in store.requests().items():
        asked = read_asked(store, name, document)
        if asked is None:
            unread.append(name)
            continue
        requests = asked.requests if isinstance(asked, Sweep) else [asked]
        for key in runs_of(requests):
            found.setdefault(key, []).append(
                name if isinstance(asked, Sweep) else table_name(asked)
            )
    return found, unread


# -- what it takes, and what can go ----------------------------------------------------------


def du(json: o.JsonOption = False, store: o.StoreOption = None) -> None:
    """Shows what takes how much of the disk, the largest first, and what `store gc` would free.

    Example: python -m repro store du
    """
    results = o.existing_store(store)
    use = housekeeping.disk_use(results)
    waste = housekeeping.find_waste(results, needs_of(results)[0], DAYS * o.UNITS["d"])
    freed = sum(one.bytes for one in waste)
    total = sum(taken for taken, _ in use.values())
    if json:
        kinds = [{"kind": k, "bytes": taken, "files": n} for k, (taken, n) in use.items()]
        document = {"kinds": kinds, "bytes": total, "gc": {"bytes": freed, "items": len(waste)}}
        sys.stdout.write(json_text(document))
        return
    rows = [[kind, size(taken), f"{files:,}"] for kind, (taken, files) in use.items()]
    print(text_table(["what", "size", "files"], [*rows, ["all", size(total), ""]]))
    if waste:
        print(f"\n`python -m repro store gc` would free {size(freed)}:\n{_by_kind(waste)}")
    else:
        print("\n`python -m repro store gc` would find nothing to remove.")


def age_of(given: object) -> float:
    """Seconds of 30d, 12h or 10min; a number alone is days. Raises ReproError."""
    found = o.seconds(str(given), "d")
    if found is None:
        raise ReproError(f"'{given}' is no age: give days, hours or minutes as 30d, 12h or 10min.")
    return found


def gc(
    older_than: Annotated[
        float, typer.Option(parser=age_of, metavar="<age>", help="As 30d, 12h or 10min.")
    ] = f"{DAYS}d",  # type: ignore[assignment]  # parsed as what is given is
    outdated: Annotated[
        bool,
        typer.Option("--outdated", help="Also runs that another revision of the code made."),
    ] = False,
    quarantine: Annotated[
        bool,
        typer.Option("--quarantine", help="Also damaged and differing runs that were set aside."),
    ] = False,
    dry_run: o.DryRunOption = False,
    json: o.JsonOption = False,
    store: o.StoreOption = None,
) -> None:
    """Removes what nothing needs and asks nothing: give --dry-run first.

    At any age: files that killed processes left, checkpoints whose results are stored, failures of
    runs that have a result. Once it is older than --older-than: token cache that was not used,
    checkpoints of runs that no saved request needs. Nothing that a saved request needs is removed,
    nor what that is made from, nor what a live process holds.

    Example: python -m repro store gc --older-than 14d --dry-run
    """
    results = o.existing_store(store)
    needs, unread = needs_of(results)
    if outdated and unread:
        raise ReproError(
            f"Another version of repro saved {counted(len(unread), 'request')} here "
            f"({', '.join(unread[:3])}{', ...' * bool(unread[3:])}), which may need runs of its "
            "revision. Remove them with `python -m repro store rm --request NAME`, or leave out "
            "--outdated."
        )
    waste = housekeeping.find_waste(
        results, needs, older_than, outdated=outdated, quarantine=quarantine
    )
    removed = [one for one in waste if dry_run or housekeeping.remove_waste(results, one)]
    freed = sum(one.bytes for one in removed)
    if json:
        items = [{"kind": w.kind, "path": str(w.path), "bytes": w.bytes} for w in removed]
        sys.stdout.write(json_text({"dry_run": dry_run, "bytes": freed, "removed": items}))
        return
    verb = "Would remove" if dry_run else "Removed"
    if removed:
        print(_by_kind(removed))
    print(f"{verb} {counted(len(removed), 'item')}, {size(freed)}.")


def _by_kind(waste: Sequence[housekeeping.Waste]) -> str:
    rows = []
    for kind in dict.fromkeys(one.kind for one in waste):
        own = [one for one in waste if one.kind == kind]
        rows.append([kind, size(sum(one.bytes for one in own)), f"{len(own):,}"])
    return text_table(["what", "size", "items"], rows)


def rm(
    keys: Annotated[
        list[str] | None, typer.Argument(help="Keys of runs, or their first digits.")
    ] = None,
    where: WhereOption = None,
    request: Annotated[
        list[str] | None,
        typer.Option(
            metavar="<name>",
            help="A saved request, named as `status` names it.",
            autocompletion=completion.requests,
        ),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Also runs that a saved request needs.")
    ] = False,
    dry_run: o.DryRunOption = False,
    json: o.JsonOption = False,
    store: o.StoreOption = None,
) -> None:
    """Removes runs with their failures, or saved requests; their commands train them anew.

    Runs that a saved request needs stay unless --force is given; runs that a live process trains,
    or trains others from, and runs in bundles always stay.

    Example: python -m repro store rm --where state=failed --dry-run
    """
    results = o.existing_store(store)
    names, runs = _to_remove(results, keys or (), where or (), request or (), force=force)
    if not dry_run:
        for name in names:
            results.remove_record(f"{REQUESTS}/{name}.json")
        runs = [run for run in runs if _removed(run, results)]
    freed = sum(run.bytes for run in runs)
    if json:
        found = {"requests": names, "runs": [run.key for run in runs], "bytes": freed}
        sys.stdout.write(json_text({"dry_run": dry_run} | found))
        return
    what = [counted(len(names), "request")] * bool(names)
    what += [f"{counted(len(runs), 'run')}, {size(freed)}"] * bool(runs)
    for run in runs:
        print(f"{run.key[:12]} {run.name}: {run.state}")
    print(f"{'Would remove' if dry_run else 'Removed'} {' and '.join(what) or 'nothing'}.")
    shown = Counter(str(place) for run in runs if (place := results.bundle_of(run.key)))
    for bundle, count in shown.items():
        print(f"Tables still show {counted(count, 'run')} of the bundle {bundle}.")


def _to_remove(
    store: Store,
    keys: Sequence[str],
    where: Sequence[str],
    requests: Sequence[str],
    *,
    force: bool,
) -> tuple[list[str], list[Listed]]:
    """The saved requests and the runs that `rm` is to remove. Raises ReproError where one of them
    must stay or does not exist.
    """
    if not (keys or where or requests):
        raise ReproError(
            "Name what to remove: keys of runs, --where FIELD=VALUE or --request NAME."
        )
    if keys and where:
        raise ReproError("Name runs by their keys or by --where, not by both.")
    names = [_own_request(name, store) for name in requests]
    needs, unread = needs_of(store)
    every = housekeeping.listed(store, needs) if where or keys else []
    runs = housekeeping.matching(every, where, ())
    if keys:
        by_key = {run.key: run for run in every}
        runs = [by_key[key] for key in dict.fromkeys(find_run(one, by_key) for one in keys)]
    if where and not runs:
        raise ReproError(f"No run in {store.called} has {' and '.join(where)}.")
    packed = [run for run in runs if where and run.bundle is not None]
    if packed:
        runs = [run for run in runs if run.bundle is None]
        print(
            f"Left as they are: {counted(len(packed), 'run')} of bundles, which never change.",
            file=sys.stderr,
        )
    _check_free(runs, store)
    if not force:
        left = {key: [name for name in of if name not in names] for key, of in needs.items()}
        _check_unneeded(runs, left, [name for name in unread if name not in names])
    return names, runs


def _own_request(given: str, store: Store) -> str:
    """The name of a request that the store itself saved. Raises ReproError."""
    known = store.requests()
    if given not in known:
        raise UnknownName("saved request", given, known)
    path = store.request_path(given)
    if path.parent.name.endswith(SUFFIX) or path.parent.parent != store.root:
        raise ReproError(f"The request {given} lies in a bundle, which never changes: {path}.")
    return given


def _check_free(runs: Sequence[Listed], store: Store) -> None:
    """Raises ReproError for runs that a live process uses, and for those of bundles."""
    held = housekeeping.jobs_held(store)
    used = housekeeping.with_parents(held, {**store.specs(), **held}) if held else set()
    for run in runs:
        if run.key in used:
            raise ReproError(
                f"A process trains in {store.root} now and uses the run {run.key[:12]} "
                f"({run.name}). Wait for its end, or stop it."
            )
        if run.bundle is not None:
            raise ReproError(
                f"The run {run.key[:12]} ({run.name}) lies in the bundle {run.bundle}, which never "
                "changes. Delete the bundle, or leave the run out."
            )


def _check_unneeded(runs: Sequence[Listed], needs: Needs, unread: Sequence[str]) -> None:
    """Raises ReproError for runs that a saved request needs."""
    needed = [run for run in runs if needs.get(run.key) and run.state not in ("failed", "outdated")]
    if needed:
        names = sorted({name for run in needed for name in needs[run.key]})
        raise ReproError(
            f"{share(len(needed), len(runs), 'run')} needed by {', '.join(names[:3])}"
            f"{', ...' * bool(names[3:])}. Give --force to remove them all the same, or remove the "
            "request, too, with --request NAME."
        )
    if unread and any(run.state != "failed" for run in runs):
        raise ReproError(
            f"The saved request {unread[0]} cannot be read here, and may need some of these runs. "
            f"Remove it with `python -m repro store rm --request {unread[0]}`, or give --force."
        )


def _removed(run: Listed, store: Store) -> bool:
    """Removes the run; False where a process has begun to train it."""
    with store.claim([run.key]) as held:
        return bool(held) and store.remove(run.key)


COMMANDS: dict[str, Callable[..., None]] = {
    "ls": ls, "du": du, "gc": gc, "rm": rm, "pack": pack, "merge": merge, "verify": verify,
}  # fmt: skip
