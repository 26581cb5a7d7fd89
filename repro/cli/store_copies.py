"""`store pack`, `merge` and `verify`: copies of results, and whether they are sound."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from repro.cli import options as o
from repro.cli.report import asked_views, tracked
from repro.cli.why import runs_of
from repro.engine.verify import Checked, other_results, runs_to_verify, verify_files, verify_run
from repro.errors import DIFFERS, RUN_FAILED, ReproError
from repro.folders import expanded
from repro.report.counted import count_files
from repro.report.files import request_file, saved_requests, saved_sweeps
from repro.report.render import json_text
from repro.report.view import TableView
from repro.store.bundle import SUFFIX
from repro.store.merge import Merged, Outcome, check_sources
from repro.store.merge import merge as merge_store
from repro.store.remote import url_of
from repro.store.store import Store
from repro.store.strict_json import json_bytes
from repro.words import counted

MOST_SHOWN = 5
"""Differing scores of a run that are printed."""
SAID: dict[Outcome, str] = {
    "new": "new", "completed": "completed with files that were only there",
    "same": "equal to those here", "differs": "different from those here",
    "damaged": "damaged and left out",
}  # fmt: skip


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
    files = dict(request_file(view.request) for view in views) | dict(map(request_file, sweeps))
    for view in views:
        if isinstance(view, TableView):
            files |= count_files(view.table, view.request, results)
    asked = {view.request.id for view in views}
    added = [row for row in results.external() if row.table in asked]
    files |= {row.file: json_bytes(row.model_dump(mode="json")) for row in added}
    keys = {key for view in views for key in view.runs}
    for sweep in sweeps:
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
    dry_run: o.DryRunOption = False,
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
    copied = "to be copied" if dry_run else "copied"
    said += [f"{counted(one.records, 'record')} {copied}"] * bool(one.records)
    said += [f"{counted(one.failures, 'failure')} {copied}"] * bool(one.failures)
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
            asdict(conflict) | {"kept": None if conflict.kept is None else str(conflict.kept)}
            for conflict in one.conflicts
        ],
        "problems": one.problems,
    }


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
    results = o.existing_store(store)
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
