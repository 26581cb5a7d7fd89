"""`pack`: one file with the results behind everything that was asked for. Trains nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from repro.cli import options as o
from repro.cli.report import asked_views
from repro.cli.why import runs_of
from repro.errors import ReproError
from repro.folders import expanded
from repro.report.counted import count_files
from repro.report.files import request_file, saved_requests, saved_sweeps, sweep_document
from repro.report.view import TableView
from repro.store.bundle import SUFFIX
from repro.store.external import FOLDER
from repro.store.strict_json import json_bytes
from repro.words import counted


def command(
    file: Annotated[Path, typer.Argument(help=f"The bundle to write: NAME{SUFFIX}.")],
    store: o.StoreOption = None,
) -> None:
    """Packs spec, scores and environment of the runs behind every table, figure and sweep, and
    of their parents, into one file. A store shows the bundles in its folder behind its own runs.

    Example: python -m repro pack results.jsonl.xz
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
    files |= {f"{FOLDER}/{row.key}.json": json_bytes(row.model_dump(mode="json")) for row in added}
    keys = {key for view in views for key in view.runs}
    for name, sweep in sweeps.items():
        files |= {f"requests/{name}.json": json_bytes(sweep_document(sweep))}
        keys |= runs_of(sweep.requests).keys() & set(results.keys())
    packed = results.pack(keys, expanded(file), files)
    parts = [counted(packed, "run"), counted(len(views) + len(sweeps), "request")]
    parts += [counted(len(added), "row") + " of external numbers"] * bool(added)
    print(f"Packed {' and '.join(parts)} into {file}.")
