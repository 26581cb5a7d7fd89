"""`worker JOB ...`: trains jobs whose work folders are written, for any scheduler."""

from __future__ import annotations

from typing import Annotated

import typer

from repro.cli import options as o


def command(
    jobs: Annotated[
        list[str],
        typer.Argument(help="Names of work folders of the store; - reads them from stdin."),
    ],
    store: o.StoreOption = None,
) -> None:
    """Trains jobs that another command has planned: what every executor starts.

    The exit code says how the last job ended: 0 trained, 10 stored already, 11 another process
    trains it, 12 a run that it needs is not stored yet, 20 memory ran out, 22 data or model
    missing, 23 the store cannot be used, 30 stopped after a checkpoint, 1 error.

    Example: python -m repro worker 5b1e0f6a2c3d4e5f --store runs
    """
    from repro.engine.worker import serve

    raise typer.Exit(serve(o.open_store(store), jobs))
