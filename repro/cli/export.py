"""`export glue TABLE --row NAME`: a submission for the GLUE test server, from stored runs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from repro.cli import options as o
from repro.cli.requests import find_folders
from repro.cli.scales import choose
from repro.errors import ReproError, UnknownName
from repro.papers.registry import TABLES, find_table
from repro.papers.request import Request
from repro.papers.tables import Row, Table
from repro.report.files import command_line, file_name, table_name, write_artefact
from repro.server.archive import Manifest
from repro.server.choice import check_seed, find_row, pick_runs, refusal, slug
from repro.server.layout import ServerFile
from repro.server.submission import Submission, make_submission, with_rows
from repro.store.entry import digest_of
from repro.store.strict_json import json_bytes
from repro.training.environment import prepare_process, prepare_torch

FOLDER = "submissions"


@o.grouped
def command(
    to: Annotated[str, typer.Argument(metavar="glue", help="The server: glue.")],
    id: Annotated[str, o.ids("Table, for example 3-shared-2.", "TABLES")],
    row: Annotated[str, typer.Option(help="Row of the table whose runs predict.")],
    asked: o.AskedOfWhole,
    seed: Annotated[
        int | None, typer.Option(help="Which of a row's runs (default: 0); none of a sweep's.")
    ] = None,
    fill: Annotated[
        bool, typer.Option("--fill", help="A constant where nothing can be predicted.")
    ] = False,
    device: o.DeviceOption = "auto",
    threads: o.ThreadsOption = None,
    out: Annotated[
        Path | None, typer.Option(help="The archive (default: submissions/TABLE.ROW.zip).")
    ] = None,
    store: o.StoreOption = None,
) -> None:
    """Writes the GLUE test server's archive of a row's predictions, and a manifest beside it.

    Example: python -m repro export glue 3-shared-2 --row "Ours (3-shared)" --scale paper
    """
    table = _table(to, id)
    chosen = find_row(table, row)
    if out is not None and out.suffix.lower() != ".zip":  # its name gives the manifest's
        raise ReproError(f"{out} is no name of a zip. Expected --out NAME.zip.")
    results = o.open_store(store)
    request = replace(choose([table], asked, results)[0], server=False)
    number = check_seed(chosen, request, seed)
    picks, rows = with_rows(pick_runs(table, chosen, request, results, number))
    lacking = [pick for pick in picks if pick.run is None and pick.column]
    if lacking and (not fill or not rows):
        raise refusal(lacking, chosen, request, results, fill=fill)
    for pick in picks:
        if pick.run is None:
            said = f"{pick.file.name}: filled with {pick.file.constant} on every row"
            print(f"{said}: {pick.reason}", file=sys.stderr)
    prepare_process(deterministic=False)
    on = prepare_torch(device, threads=threads, deterministic=False, tf32=False)
    folders = find_folders(asked.get("backbone"), request.backbone)
    with file_progress() as tell:
        made = make_submission(picks, rows, folders, on, tell)
    path = out or default_path(request, chosen, number)
    _write(made, path, request, chosen, number)


def default_path(request: Request, row: Row, seed: int) -> Path:
    """submissions/3-shared-2.reduced.ours-3-shared.zip, with the seed where it is not the first."""
    parts = [table_name(request), slug(row.name), *([f"seed-{seed}"] if seed else [])]
    return Path(FOLDER) / f"{file_name('.'.join(parts))}.zip"


def _table(to: str, id: str) -> Table:
    if to.lower() != "glue":
        raise UnknownName("server", to, ["glue"])
    table = find_table(id)
    if not table.server:
        served = [known.id for known in TABLES.values() if known.server]
        raise ReproError(
            f"{table.id} has no number of the GLUE test server. These have: {', '.join(served)}."
        )
    return table


def _write(made: Submission, path: Path, request: Request, row: Row, seed: int) -> None:
    """Writes the archive, then the manifest that names its digest."""
    manifest = Manifest(
        table=request.id,
        row=row.name,
        seed=None if row.select == "best" else seed,
        scale=request.scale,
        command=command_line(request),
        archive=path.name,
        sha256=digest_of(made.archive),
        files=made.files,
    )
    beside = path.with_suffix(".json")
    write_artefact(path, made.archive)
    write_artefact(beside, json_bytes(manifest.model_dump(mode="json")))
    predicted = sum(entry.source == "predicted" for entry in made.files)
    print(
        f"Wrote {path}: {len(made.files)} files, {predicted} predicted, "
        f"{len(made.files) - predicted} filled; and {beside}, which import-scores reads."
    )
    if request.scale != "paper":
        print(
            f"Scale: {request.scale}, not comparable with the published numbers.", file=sys.stderr
        )


@contextmanager
def file_progress() -> Iterator[Callable[[ServerFile, int, int], None]]:
    """A bar a file on a terminal, a line a file elsewhere; both on stderr. The block gets what is
    told how many of a file's batches are predicted.
    """
    console = Console(stderr=True)
    tasks: dict[str, TaskID] = {}
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TextColumn("{task.completed}/{task.total} batches"),
        TimeRemainingColumn(),
        console=console,
        disable=not console.is_terminal,
    ) as bars:

        def tell(file: ServerFile, done: int, every: int) -> None:
            if file.name not in tasks:
                tasks[file.name] = bars.add_task(file.name, total=every)
            bars.update(tasks[file.name], completed=done)
            if done == every and not console.is_terminal:
                console.print(f"  {file.name}: {file.rows:,} rows predicted", highlight=False)

        yield tell
