"""`import-scores FILE`: what the GLUE test server said of a submission, kept beside its runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from repro.cli import options as o
from repro.server.archive import read_manifest
from repro.server.page import read_scores
from repro.server.scores import import_scores
from repro.words import counted


def command(
    file: Annotated[
        Path, typer.Argument(help="CSV (task,split,metric,value) or .json list, in percent.")
    ],
    manifest: Annotated[
        Path, typer.Option(help="The .json file that `export glue` wrote beside the archive.")
    ],
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace values that were imported before.")
    ] = False,
    store: o.StoreOption = None,
) -> None:
    """Keeps test scores of a submission; `table ID --server` shows them.

    Example: python -m repro import-scores scores.csv --manifest submissions/NAME.json
    """
    submission, lines = read_manifest(manifest), read_scores(file)
    changed = import_scores(lines, submission, o.open_store(store), replace=replace)
    said = f"{counted(len(changed), 'run')} changed" if changed else "nothing is new"
    print(f"Read {counted(len(lines), 'score')} of {submission.row} ({submission.table}): {said}.")
    print(f"They are shown by: {submission.command} --server --no-run")
