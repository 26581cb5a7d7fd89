"""`python -m repro VERB`: collects the verbs; turns a user's mistake into one sentence."""

from __future__ import annotations

import sys
from collections.abc import Callable

import typer

import repro
from repro.cli import (
    audit,
    claims,
    doctor,
    export,
    figure,
    freeze,
    import_scores,
    list_,
    pack,
    plan,
    prepare,
    report,
    run,
    show,
    status,
    streams,
    table,
    why,
)
from repro.errors import ReproError
from repro.spec.backbones import KNOWN

app = typer.Typer(
    name="repro",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Reproduces the tables of the adapter papers: published and reproduced, side by side.\n\n"
    "Begin with: python -m repro table ResAdapters-1 --scale smoke",
)
VERBS: dict[str, Callable[..., None]] = {
    "list": list_.command,
    "show": show.command,
    "plan": plan.command,
    "prepare": prepare.command,
    "run": run.command,
    "table": table.command,
    "figure": figure.command,
    "report": report.command,
    "pack": pack.command,
    "claims": claims.command,
    "audit": audit.command,
    "export": export.command,
    "import-scores": import_scores.command,
    "freeze": freeze.command,
    "status": status.command,
    "why": why.command,
    "doctor": doctor.command,
}
BACKBONES = f"The backbones that have an id: {', '.join(KNOWN)}."
"""Below the options, whose column is too narrow for an id of the hub."""
for name, verb in VERBS.items():
    app.command(name, epilog=BACKBONES if "backbone" in verb.__annotations__ else None)(verb)


@app.callback(invoke_without_command=True)
def version(
    show_version: bool = typer.Option(False, "--version", help="Print the version and stop."),
) -> None:
    """Options before the verb."""
    if show_version:
        print(f"repro {repro.__version__}")
        raise typer.Exit


def main() -> None:
    """Runs a verb; a ReproError is printed without a traceback and gives the exit code.

    typer itself ends quietly where the user presses Ctrl-C.
    """
    streams.prepare()
    try:
        try:
            app(standalone_mode=True)
        finally:
            sys.stdout.flush()
    except streams.OutputLost as problem:
        if not problem.quiet:
            print(f"repro: {problem}", file=sys.stderr)
        sys.exit(problem.exit_code)
    except ReproError as problem:
        print(f"repro: {problem}", file=sys.stderr)
        sys.exit(problem.exit_code)
