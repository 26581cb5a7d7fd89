"""`status`: how every table asked for stands, what trains now, and what failed."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from repro.cli import options as o
from repro.engine.jobs import unfinished_jobs
from repro.engine.plan import PlannedRun
from repro.engine.progress import Progress
from repro.engine.standing import STATES, Standing, progress_of_runs
from repro.errors import ReproError
from repro.papers.registry import find_artefact
from repro.report.files import asked_for
from repro.report.layout import text_table
from repro.report.render import json_text
from repro.store.store import Store
from repro.words import counted, duration, run_name

if TYPE_CHECKING:
    from rich.tree import Tree

LOOK_SECONDS = 2.0
COLOURS = {"running": "cyan", "failed": "red", "blocked": "yellow"}


def command(
    ids: Annotated[
        list[str] | None,
        o.ids("Tables and figures; all by default."),
    ] = None,
    watch: Annotated[
        bool, typer.Option("--watch", help="Draw the tree again every two seconds, until Ctrl-C.")
    ] = False,
    json: o.JsonOption = False,
    store: o.StoreOption = None,
) -> None:
    """Shows what was asked for so far: runs by state, what trains now, failures.

    With ids or --watch: a tree of tables, rows and cells, with every run that trains or failed.

    Example: python -m repro status AA-2 --watch
    """
    if watch and json:
        raise ReproError("--watch draws and --json prints once: give one of them.")
    results = o.open_store(store)
    found = asked(results, ids or [])
    if json:
        sys.stdout.write(json_text(as_json(found, results)))
    elif watch:
        watched(found, results)
    else:
        sys.stdout.write(as_text(found, results))
        if ids:
            print_trees(found, results)


def asked(store: Store, ids: Sequence[str]) -> list[Standing]:
    """How everything asked for stands, or that of these tables and figures alone.

    Raises ReproError for an id that there is not, or that was not asked for.
    """
    wanted = {find_artefact(one).id for one in ids}
    known = asked_for(store)
    for one in sorted(wanted - {request.id for asked in known.values() for request in asked}):
        raise ReproError(
            f"{one} was not asked for in {store.called} yet. See what it needs: "
            f"python -m repro plan {one}"
        )
    return [
        Standing(name, requests, store)
        for name, requests in known.items()
        if not wanted or requests[0].id in wanted
    ]


def as_json(found: Sequence[Standing], store: Store) -> dict[str, Any]:
    """The object of `status --json`; docs/json.md describes it."""
    tables: list[dict[str, Any]] = []
    runs: dict[str, PlannedRun] = {}
    for one in found:
        tables.append(
            {"name": one.name, "runs": len(one.runs), **one.count(), "open_cells": _open(one)}
        )
        runs |= one.runs
    now = progress_of_runs(store)
    return {
        "tables": tables,
        "running": [
            {"key": key, "name": run_name(run.spec), **_progress(now.get(key))}
            for key, run in runs.items()
            if run.state == "running"
        ],
        "failures": [
            {
                "key": key,
                "name": run_name(run.spec),
                "kind": run.failure.kind,
                "message": run.failure.message,
                "log": str(store.root / run.failure.log),
            }
            for key, run in runs.items()
            if run.failure is not None
        ],
        "blocked": [
            {"key": key, "name": run_name(run.spec), "reason": run.blocked}
            for key, run in runs.items()
            if run.blocked is not None
        ],
        "unfinished_jobs": [
            {"id": job.id, "runs": list(job.keys)} for job in unfinished_jobs(store)
        ],
    }


def _open(one: Standing) -> list[dict[str, Any]]:
    """The cells that lack runs, with all their runs."""
    return [
        {
            "row": cell.row,
            "column": cell.column,
            "runs": [
                {"key": run.key, "seed": run.spec.seed, "state": run.state} for run in cell.runs
            ],
        }
        for cell in one.cells()
        if any(run.state != "done" for run in cell.runs)
    ]


def _progress(now: Progress | None) -> dict[str, Any]:
    """What its worker wrote last; all null where it wrote nothing yet."""
    return dict.fromkeys(Progress.model_fields) if now is None else now.model_dump()


def as_text(found: Sequence[Standing], store: Store) -> str:
    """For a person."""
    if not found:
        return f"Nothing was asked for yet in {store.called}. Try: python -m repro list\n"
    document, now = as_json(found, store), progress_of_runs(store)
    rows = [
        [table["name"], *(str(table[state]) for state in STATES)] for table in document["tables"]
    ]
    lines = [text_table(["table", *STATES], rows)]
    for run in document["running"]:
        lines.append(f"\n{run['key'][:12]} {run['name']}: {in_words(now.get(run['key']))}")
    for failure in document["failures"]:
        lines.append(f"\n{failure['key'][:12]} {failure['name']}: {failure['kind']}")
        lines.append(f"  {failure['message']}\n  log: {failure['log']}")
    for reason, count in Counter(run["reason"] for run in document["blocked"]).items():
        lines.append(f"\n{counted(count, 'run')} blocked: {reason}")
    running = {run["key"] for run in document["running"]}
    for job in document["unfinished_jobs"]:
        if running.isdisjoint(job["runs"]):
            lines.append(
                f"\njob {job['id']} ({counted(len(job['runs']), 'run')}) waits or was cut short; "
                "the command that planned it continues it."
            )
    return "\n".join(lines) + "\n"


def in_words(now: Progress | None) -> str:
    """training, step 20/100, loss 0.612, 20 s left, process 7 on a machine."""
    if now is None:
        return "running"
    said: list[str] = [now.state]
    if now.steps:
        said.append(f"step {now.step:,}/{now.steps:,}")
    if now.loss is not None:
        said.append(f"loss {now.loss:.3f}")
    if now.seconds_left is not None:
        said.append(f"{duration(now.seconds_left)} left")
    return ", ".join([*said, f"process {now.process} on {now.host}"])


def print_trees(found: Sequence[Standing], store: Store) -> None:
    """The trees of what is not done."""
    from rich.console import Console

    console = Console(highlight=False, width=None if sys.stdout.isatty() else 200)
    for one in found:
        if not one.done:
            console.print()
            console.print(tree(one, progress_of_runs(store)))


def watched(found: Sequence[Standing], store: Store) -> None:
    """Draws the trees until all is done or Ctrl-C. Raises ReproError without a terminal."""
    from rich.console import Console, Group
    from rich.live import Live

    console = Console(highlight=False)
    if not console.is_terminal:
        raise ReproError(
            "--watch draws on a terminal. For a program: python -m repro status --json"
        )
    open_ = [one for one in found if not one.done]
    try:
        with Live(console=console, auto_refresh=False, vertical_overflow="ellipsis") as live:
            while open_:
                now = progress_of_runs(store)
                live.update(Group(*(tree(one, now) for one in open_)), refresh=True)
                if all(one.done for one in open_):
                    break
                time.sleep(LOOK_SECONDS)
                for one in open_:
                    one.look()
    except KeyboardInterrupt:
        return
    console.print("All runs are done.")


def tree(one: Standing, now: dict[str, Progress]) -> Tree:
    """Table, rows, cells and runs. Only what trains, failed or is blocked is opened: the rest is
    counted.
    """
    from rich.text import Text
    from rich.tree import Tree

    drawn = Tree(Text(f"{one.name}: {_counts(one.count())}", style="bold"))
    rows: dict[str, list[Any]] = {}
    for cell in one.cells():
        rows.setdefault(cell.row, []).append(cell)
    for name, cells in rows.items():
        runs = {run.key: run for cell in cells for run in cell.runs}
        if all(run.state == "done" for run in runs.values()):
            drawn.add(Text(f"{name}: done ({len(runs)})", style="green"))
            continue
        row = drawn.add(Text(f"{name}: {_counts(one.count(list(runs.values())))}"))
        columns: dict[tuple[str, ...], list[str]] = {}  # several show the same runs
        for cell in cells:
            columns.setdefault(tuple(run.key for run in cell.runs), []).append(cell.column)
        for keys, names in columns.items():
            shown = [runs[key] for key in keys if runs[key].state in COLOURS]
            branch = row
            if shown and len(columns) > 1:
                counts = _counts(one.count([runs[key] for key in keys]))
                branch = row.add(Text(f"{', '.join(names)}: {counts}"))
            for run in shown:
                branch.add(Text(_line(run, now), style=COLOURS[run.state]))
    return drawn


def _line(run: PlannedRun, now: dict[str, Progress]) -> str:
    """seed 3: training, step 20/100, ...; one that failed: why."""
    said = in_words(now.get(run.key)) if run.state == "running" else f"{run.state}: {run.reason}"
    return f"{run.key[:12]} seed {run.spec.seed}: {said}"


def _counts(counts: dict[str, int]) -> str:
    """12 done of 30, 2 running, 1 failed."""
    total = sum(counts.values())
    others = [
        f"{counts[state]} {state}" for state in STATES[1:] if counts[state] and state != "missing"
    ]
    return ", ".join([f"{counts['done']} done of {total}", *others])
