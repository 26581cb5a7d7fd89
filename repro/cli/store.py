"""Looks after a folder of results: what it holds and takes, what can go, copies, checks.

Begin with: python -m repro store ls
"""

from __future__ import annotations

import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from repro.cli import completion
from repro.cli import options as o
from repro.cli.report import asked_views, tracked
from repro.cli.why import BEGINNING, find_run, runs_of
from repro.engine import housekeeping
from repro.engine.housekeeping import Listed, Needs, RunState
from repro.engine.verify import Checked, other_results, runs_to_verify, verify_files, verify_run
from repro.errors import DIFFERS, RUN_FAILED, ReproError, UnknownName
from repro.folders import expanded
from repro.papers.sweeps import Sweep
from repro.report.counted import count_files
from repro.report.files import (
    read_asked,
    request_file,
    saved_requests,
    saved_sweeps,
    sweep_document,
    table_name,
)
from repro.report.layout import text_table
from repro.report.render import json_text
from repro.report.view import TableView
from repro.store.bundle import SUFFIX
from repro.store.external import FOLDER as EXTERNAL
from repro.store.merge import Merged, Outcome, check_sources
from repro.store.merge import merge as merge_store
from repro.store.remote import url_of
from repro.store.store import Store, holds_store
from repro.store.strict_json import json_bytes
from repro.words import age, counted, size

DAYS = 30
AGE = re.compile(r"(\d{1,5})(d|h|min)?")
SECONDS = {"d": 86_400.0, "h": 3_600.0, "min": 60.0}
MOST_SHOWN = 5
"""Differing scores of a run that are printed."""
SAID: dict[Outcome, str] = {
    "new": "new", "completed": "completed with files that were only there",
    "same": "equal to those here", "differs": "different from those here",
    "damaged": "damaged and left out",
}  # fmt: skip
STATES = ("done", "outdated", "running", "failed", "unreadable")

WhereOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="<FIELD=VALUE>",
        help="Only runs with this value: of task, method, backbone, seed, scale, state, table, or "
        "of a field that `why` prints, like recipe.epochs. Several: all of them hold.",
    ),
]
DryRunOption = Annotated[
    bool, typer.Option("--dry-run", help="Say what it would do; change nothing.")
]


# -- what it holds ---------------------------------------------------------------------------


def ls(
    where: WhereOption = None,
    state: Annotated[
        list[str] | None,
        typer.Option(
            metavar="<state>",
            help=f"{', '.join(STATES)}.",
            autocompletion=completion.one_of(STATES),
        ),
    ] = None,
    json: o.JsonOption = False,
    store: o.StoreOption = None,
) -> None:
    """Lists the runs: key, name, state, size, age, and the saved requests that need each.

    Piped, its lines are separated by tabs and hold whole keys. An outdated run was made by another
    revision of the code, and no table takes it.

    Example: python -m repro store ls --where task=rte --state done
    """
    results = existing(store)
    runs = chosen(results, needs_of(results)[0], where or (), check_states(state or ()))
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


def existing(given: Path | None) -> Store:
    """The store asked for. Raises ReproError for a folder that is none: a mistyped one must not
    pass as sound, nor be cleaned.
    """
    store = o.open_store(given)
    if not holds_store(store.root):
        raise ReproError(
            f"{store.root} is no store: nothing was stored there. Name one with --store."
        )
    return store


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
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    rows = [_cells(run) for run in runs]
    widths = [max(map(len, column)) for column in zip(HEAD, *rows, strict=True)]
    short = [place for place in shown if HEAD[place] not in LONG]
    room = console.width - 8 - sum(widths[place] for place in short) - 2 * len(shown)
    table.add_column("key", no_wrap=True, width=8)
    for place in shown:
        width = widths[place] if place in short else room // (len(shown) - len(short))
        table.add_column(HEAD[place], no_wrap=True, overflow="ellipsis", width=width)
    for run, cells in zip(runs, rows, strict=True):
        table.add_row(run.key[:8], *(cells[place] for place in shown))
    if runs:
        console.print(table, highlight=False, markup=False)
    states = Counter(run.state for run in runs)
    said = ", ".join(f"{count} {word}" for word, count in states.items())
    print(f"{counted(len(runs), 'run')} in {store.root}" + f": {said}." * bool(said))


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


def check_states(given: Sequence[str]) -> Sequence[RunState]:
    """The states. Raises UnknownName."""
    for state in given:
        if state not in STATES:
            raise UnknownName("state", state, STATES)
    return [state for state in STATES if state in given]  # type: ignore[misc]


def chosen(
    store: Store, needs: Needs, where: Sequence[str], states: Sequence[str] = ()
) -> list[Listed]:
    """The runs that are asked for, by name."""
    return housekeeping.matching(housekeeping.listed(store, needs), where, states)


# -- what it takes, and what can go ----------------------------------------------------------


def du(json: o.JsonOption = False, store: o.StoreOption = None) -> None:
    """Shows what takes how much of the disk, the largest first, and what `store gc` would free.

    Example: python -m repro store du
    """
    results = existing(store)
    use = housekeeping.disk_use(results)
    waste = housekeeping.find_waste(results, needs_of(results)[0], DAYS * SECONDS["d"])
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


def gc(
    older_than: Annotated[
        str,
        typer.Option(metavar="<age>", help="As 30d, 12h or 10min."),
    ] = f"{DAYS}d",
    outdated: Annotated[
        bool,
        typer.Option("--outdated", help="Also runs that another revision of the code made."),
    ] = False,
    quarantine: Annotated[
        bool,
        typer.Option("--quarantine", help="Also damaged and differing runs that were set aside."),
    ] = False,
    dry_run: DryRunOption = False,
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
    seconds = seconds_of(older_than)
    results = existing(store)
    needs, unread = needs_of(results)
    if outdated and unread:
        raise ReproError(
            f"Another version of repro saved {counted(len(unread), 'request')} here "
            f"({', '.join(unread[:3])}{', ...' * bool(unread[3:])}), which may need runs of its "
            "revision. Remove them with `python -m repro store rm --request NAME`, or leave out "
            "--outdated."
        )
    waste = housekeeping.find_waste(
        results, needs, seconds, outdated=outdated, quarantine=quarantine
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


def seconds_of(given: str) -> float:
    """The age `30d`, `12h`, `10min`; a number alone is days. Raises ReproError."""
    found = AGE.fullmatch(given.strip().lower())
    if found is None:
        raise ReproError(f"'{given}' is no age: give days, hours or minutes as 30d, 12h or 10min.")
    return int(found[1]) * SECONDS[found[2] or "d"]


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
    dry_run: DryRunOption = False,
    json: o.JsonOption = False,
    store: o.StoreOption = None,
) -> None:
    """Removes runs with their failures, or saved requests; their commands train them anew.

    Runs that a saved request needs stay unless --force is given; runs that a live process trains,
    or trains others from, and runs in bundles always stay.

    Example: python -m repro store rm --where state=failed --dry-run
    """
    if not (keys or where or request):
        raise ReproError(
            "Name what to remove: keys of runs, --where FIELD=VALUE or --request NAME."
        )
    if keys and where:
        raise ReproError("Name runs by their keys or by --where, not by both.")
    results = existing(store)
    names = [_own_request(name, results) for name in request or ()]
    needs, unread = needs_of(results)
    runs = _named(keys, needs, results) if keys else []
    runs = chosen(results, needs, where) if where else runs
    if where and not runs:
        raise ReproError(f"No run in {results.root} has {' and '.join(where)}.")
    packed = [run for run in runs if where and run.bundle is not None]
    runs = [run for run in runs if run not in packed]
    if packed:
        print(
            f"Left as they are: {counted(len(packed), 'run')} of bundles, which never change.",
            file=sys.stderr,
        )
    _check_free(runs, results)
    left = {key: [n for n in of if n not in names] for key, of in needs.items()}
    if not force:
        _check_unneeded(runs, left, [name for name in unread if name not in names])
    if not dry_run:
        for name in names:
            results.remove_request(name)
        runs = [run for run in runs if _removed(run, results)]
    freed = sum(run.bytes for run in runs)
    if json:
        document = {
            "dry_run": dry_run,
            "requests": names,
            "runs": [r.key for r in runs],
            "bytes": freed,
        }
        sys.stdout.write(json_text(document))
        return
    what = [counted(len(names), "request")] * bool(names)
    what += [f"{counted(len(runs), 'run')}, {size(freed)}"] * bool(runs)
    for run in runs:
        print(f"{run.key[:12]} {run.name}: {run.state}")
    print(f"{'Would remove' if dry_run else 'Removed'} {' and '.join(what) or 'nothing'}.")
    shown = Counter(str(place) for run in runs if (place := results.bundle_of(run.key)))
    for bundle, count in shown.items():
        print(f"Tables still show {counted(count, 'run')} of the bundle {bundle}.")


def _own_request(given: str, store: Store) -> str:
    """The name of a request that the store itself saved. Raises ReproError."""
    known = store.requests()
    if given not in known:
        raise UnknownName("saved request", given, known)
    path = store.request_path(given)
    if path.parent.name.endswith(SUFFIX) or path.parent.parent != store.root:
        raise ReproError(f"The request {given} lies in a bundle, which never changes: {path}.")
    return given


def _named(keys: Iterable[str], needs: Needs, store: Store) -> list[Listed]:
    """The runs of these keys, or of keys that begin so, each once."""
    runs = {run.key: run for run in housekeeping.listed(store, needs)}
    found = {}
    for key in keys:
        if not BEGINNING.fullmatch(key.lower()):
            raise ReproError(f"'{key}' is no run's key or its beginning.")
        one = find_run(key, runs)
        found[one] = runs[one]
    return list(found.values())


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
            f"{len(needed)} of {counted(len(runs), 'run')} are needed by {', '.join(names[:3])}"
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


# -- copies --------------------------------------------------------------------------------


def pack(
    file: Annotated[Path, typer.Argument(help=f"The bundle to write: NAME{SUFFIX}.")],
    store: o.StoreOption = None,
) -> None:
    """Packs spec, scores and environment of the runs behind every table, figure and sweep, and
    of their parents, into one file. A store shows the bundles in its folder behind its own runs.

    Example: python -m repro store pack results.jsonl.xz
    """
    if not file.name.endswith(SUFFIX) or file.name.startswith("."):
        raise ReproError(f"A store reads bundles named NAME{SUFFIX}: {file.name} is no such name.")
    if expanded(file).exists():
        raise ReproError(f"{file} is there already: name another file, or delete that one first.")
    results = o.open_store(store)
    sweeps = saved_sweeps(results)
    views = asked_views(results) if saved_requests(results) or not sweeps else []
    files = dict(request_file(view.request) for view in views)
    for view in views:
        if isinstance(view, TableView):
            files |= count_files(view.table, view.request, results)
    asked = {view.request.id for view in views}
    added = [row for row in results.external() if row.table in asked]
    files |= {f"{EXTERNAL}/{r.key}.json": json_bytes(r.model_dump(mode="json")) for r in added}
    keys = {key for view in views for key in view.runs}
    for name, sweep in sweeps.items():
        files |= {f"requests/{name}.json": json_bytes(sweep_document(sweep))}
        keys |= runs_of(sweep.requests).keys() & set(results.keys())
    packed = results.pack(keys, expanded(file), files)
    parts = [counted(packed, "run"), counted(len(views) + len(sweeps), "request")]
    parts += [counted(len(added), "row") + " of external numbers"] * bool(added)
    print(f"Packed {' and '.join(parts)} into {file}.")


def merge(
    sources: Annotated[
        list[Path],
        typer.Argument(help="Folders or URLs of other stores, and bundles (NAME.jsonl.xz)."),
    ],
    dry_run: DryRunOption = False,
    json: o.JsonOption = False,
    store: o.StoreOption = None,
) -> None:
    """Copies the results, failures, saved requests, counts, server scores and external numbers of
    other stores and bundles into this one. Sources are only read.

    Nothing stored here is replaced. Equal results are counted; of different ones both are kept, the
    other's in quarantine, and shown. Interrupted, it goes on when it is given again. Exit code 1
    where a run or record is damaged, 4 where results differ.

    Example: python -m repro store merge /mnt/other/runs results.jsonl.xz --dry-run
    """
    results, places = o.open_store(store), [o.local(source) for source in sources]
    check_sources(results, places)
    for source, place in zip(sources, places, strict=True):
        if url_of(source) is not None:
            _fetch_all(Store(place))
    found = [
        merge_store(
            results, place, dry_run=dry_run, track=partial(tracked, title=f"Merging {place}")
        )
        for place in places
    ]
    names = {p: url_of(s) or str(p) for s, p in zip(sources, places, strict=True)}
    if json:
        merged = [_merged_json(one, names[one.source]) for one in found]
        document = {"dry_run": dry_run, "sources": merged}
        sys.stdout.write(json_text(document))
    else:
        for one in found:
            print("\n".join(_merged_lines(one, names[one.source], dry_run)))
    if any(one.problems for one in found):
        raise typer.Exit(RUN_FAILED)
    raise typer.Exit(DIFFERS if any(one.conflicts for one in found) else 0)


def _fetch_all(copy: Store) -> None:
    """Fetches all runs and records of the store that this one is the copy of. Raises ReproError."""
    assert copy.remote is not None
    copy.fetch(copy.remote.keys)
    copy.requests()
    if copy.remote.down:
        raise ReproError(f"Nothing was merged from {copy.remote.url}: it cannot be reached.")


def _merged_lines(one: Merged, name: str, dry_run: bool) -> Iterator[str]:
    said = [
        f"{one.count(outcome):,} {word}" for outcome, word in SAID.items() if one.count(outcome)
    ]
    said += [f"{counted(one.records, 'record')} copied"] * bool(one.records)
    said += [f"{counted(one.failures, 'failure')} copied"] * bool(one.failures)
    runs = sum(map(len, one.runs.values()))
    yield f"{name}: {counted(runs, 'run')}{', nothing changed' * dry_run}: {', '.join(said)}."
    for conflict in one.conflicts:
        yield f"  {conflict.what}: {conflict.why}"
        for line in conflict.differences[:MOST_SHOWN]:
            yield f"    {line.score}: {_plain(line.here)} here, {_plain(line.there)} there"
        more = len(conflict.differences) - MOST_SHOWN
        if more > 0:
            yield f"    and {more} more"
        if conflict.kept is not None:
            yield f"    the other one is kept in {conflict.kept}"
    for problem in one.problems:
        yield f"  {problem}"


def _plain(value: float | None) -> str:
    return "none" if value is None else f"{value:.10g}"


def _merged_json(one: Merged, name: str) -> dict[str, Any]:
    return {
        "source": name,
        "runs": {outcome: one.runs.get(outcome, []) for outcome in SAID},
        "records": one.records,
        "failures": one.failures,
        "conflicts": [
            {
                "what": conflict.what,
                "why": conflict.why,
                "differences": [asdict(line) for line in conflict.differences],
                "kept": None if conflict.kept is None else str(conflict.kept),
            }
            for conflict in one.conflicts
        ],
        "problems": one.problems,
    }


# -- whether it is sound ---------------------------------------------------------------------


def verify(
    rescore: Annotated[
        bool,
        typer.Option(
            "--rescore/--no-rescore",
            help="Make scores anew from the predictions where these and the data are here.",
        ),
    ] = True,
    json: o.JsonOption = False,
    store: o.StoreOption = None,
) -> None:
    """Checks everything that is stored; changes nothing and needs no GPU.

    Every file of every run has the content that was stored, and every score of the kept epoch is
    the one that the stored predictions give. What is damaged is named with its mend. Exit code 1
    where something is damaged.

    Example: python -m repro store verify
    """
    results = existing(store)
    checks = list(verify_files(results))
    for place, key in tracked(runs_to_verify(results), "Verifying"):
        checks.append(verify_run(place, key, rescore=rescore))
    others = other_results(results)
    if json:
        sys.stdout.write(json_text(_checks_json(checks, others)))
    else:
        print("\n".join(_check_lines(checks, others)))
    raise typer.Exit(RUN_FAILED if any(one.problem for one in checks) else 0)


def _check_lines(checks: Sequence[Checked], others: Sequence[Path]) -> Iterator[str]:
    damaged = [one for one in checks if one.problem is not None]
    for one in damaged:
        yield f"{one.place}: {one.problem}.\n  Mend: {one.mend}."
    for reason, count in Counter(one.unread for one in checks if one.unread).items():
        yield f"Not checked: {counted(count, 'run')}: {reason}."
    for reason, count in Counter(one.unscored for one in checks if one.unscored).items():
        yield f"Scores not made anew: {counted(count, 'run')}: {reason}."
    for path in others:
        yield f"Another result of a stored run is kept in {path}."
    runs = [one for one in checks if "/" not in one.what]
    scores = counted(sum(one.scores for one in checks), "score")
    yield (
        f"{counted(len(runs), 'run')} and {counted(len(checks) - len(runs), 'record')}: "
        f"{len(damaged)} damaged; {scores} equal those made anew from predictions."
    )


def _checks_json(checks: Sequence[Checked], others: Sequence[Path]) -> dict[str, Any]:
    named = [{"what": one.what, "place": str(one.place)} for one in checks]
    pairs = list(zip(named, checks, strict=True))
    return {
        "checked": len(checks),
        "scores": sum(one.scores for one in checks),
        "damaged": [
            {**name, "problem": one.problem, "mend": one.mend} for name, one in pairs if one.problem
        ],
        "unread": [{**name, "reason": one.unread} for name, one in pairs if one.unread],
        "unscored": [{**name, "reason": one.unscored} for name, one in pairs if one.unscored],
        "other_results": [str(path) for path in others],
    }


COMMANDS: dict[str, Callable[..., None]] = {
    "ls": ls, "du": du, "gc": gc, "rm": rm, "pack": pack, "merge": merge, "verify": verify,
}  # fmt: skip
