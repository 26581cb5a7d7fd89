"""`curves RUN...`: how stored runs were trained: loss by step and scores by epoch."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from repro.cli import options as o
from repro.cli.why import find_run
from repro.comparison.results import HISTORY
from repro.errors import INCOMPLETE, ReproError
from repro.folders import expanded
from repro.report.files import FIGURES_FOLDER, check_writable
from repro.report.render import json_text
from repro.report.run_curves import Course, as_json, as_text, courses, write_curves, write_events
from repro.store.entry import StoredRun
from repro.store.store import Store
from repro.words import counted

MOST = 40
"""Runs in one picture."""


def command(
    runs: Annotated[list[str], typer.Argument(help="Keys of stored runs, or their first digits.")],
    tensorboard: Annotated[
        Path | None,
        typer.Option(help="Also write event files for TensorBoard to this folder."),
    ] = None,
    json: o.JsonOption = False,
    out: Annotated[Path, typer.Option(help="Folder in which figures/ is written.")] = Path(),
    store: o.StoreOption = None,
) -> None:
    """Shows how runs were trained: loss by step and validation scores by epoch, as lines of text
    and as a picture.

    Example: python -m repro curves f75e38 0cb25e --tensorboard events
    """
    results = o.open_store(store)
    stored, unseen = results.keys(), [f" `curves` shows runs that are stored in {results.root}."]
    keys = list(dict.fromkeys(find_run(one, stored, unseen) for one in runs))
    if len(keys) > MOST:
        raise ReproError(f"{len(keys)} runs are too many for one picture: name at most {MOST}.")
    found, without = read(keys, results)
    check_writable(out / FIGURES_FOLDER)
    shown = courses(found)
    paths = write_curves(shown, out)
    if tensorboard is not None:
        paths += events(shown, expanded(tensorboard))
    if json:
        sys.stdout.write(json_text(as_json(shown)))
    else:
        sys.stdout.write(as_text(shown) + "\n" + "".join(f"Wrote {path}\n" for path in paths))
    raise typer.Exit(INCOMPLETE if without else 0)


def read(keys: Sequence[str], store: Store) -> tuple[list[StoredRun], list[str]]:
    """The runs that have a history, and the keys of the others, each with a line on stderr.

    Raises ReproError where none has one.
    """
    runs = {key: store.read(key) for key in keys}
    found = [run for run in runs.values() if run is not None and HISTORY in run.files]
    without = [key for key, run in runs.items() if run not in found]
    if not found:
        raise ReproError(
            f"The history of {counted(len(keys), 'run')} is not stored in {store.called}: a "
            "bundle, as the committed results are, holds scores only. Name runs that were trained "
            "into this store."
        )
    for key in without:
        print(f"Left out: {key[:12]}, whose history is not stored.", file=sys.stderr)
    return found, without


def events(found: Sequence[Course], folder: Path) -> list[Path]:
    """Writes the event files. Raises ReproError without the package, or where it cannot write."""
    try:
        written = write_events(found, folder)
    except ModuleNotFoundError as error:
        raise ReproError(
            "--tensorboard needs the package tensorboard: pip install 'repro[tensorboard]'. The "
            "picture is written."
        ) from error
    except OSError as error:
        raise ReproError(f"Cannot write {folder}: {error.strerror}.") from error
    if len(written) < len(found):
        print(
            f"{counted(len(found) - len(written), 'run')} left as they are: their event files are "
            f"in {folder} already.",
            file=sys.stderr,
        )
    return written
