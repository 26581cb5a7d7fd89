"""`python -m repro VERB`: finds the verb; turns a user's mistake into one sentence."""

from __future__ import annotations

import sys
from importlib import import_module
from itertools import pairwise
from typing import Any

import typer
from pydantic import ValidationError
from typer.core import TyperCommand

import repro
from repro.cli import completion, streams
from repro.errors import WRONG_USAGE, ReproError
from repro.spec.backbones import KNOWN
from repro.spec.method import place_in_file
from repro.strict import why_refused

VERBS = (
    "list", "show", "plan", "prepare", "run", "table", "figure", "sweep", "report", "claims",
    "audit", "add", "compare", "export", "import-scores", "freeze", "status", "why", "curves",
    "doctor", "new", "rehearse", "bench", "worker",
)  # fmt: skip
"""Each is the `command` of the module of its name, which is imported when it is asked for."""
GROUPS = ("store",)
"""Verbs with verbs of their own: the COMMANDS of the module."""
BACKBONES = f"The backbones that have an id: {', '.join(KNOWN)}."
"""Below the options, whose column is too narrow for an id of the hub."""


class Once(TyperCommand):
    """A verb that refuses an option which takes one value and is given twice, as the last one would
    win silently, and one with an empty value, which would mean the current folder or nothing. A
    wrong value is refused in the same words as a wrong setting.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """See click. Raises ReproError; what is typed only in part is not judged."""
        if ctx.resilient_parsing:
            return super().parse_args(ctx, args)
        words = [word.partition("=")[0] for word in args if word.startswith("--")]
        for option in self.params:
            given = [word for word in words if word in option.opts]
            if len(given) > 1 and not getattr(option, "multiple", False):
                raise ReproError(f"{given[-1]} is given {len(given)} times and takes one value.")
            for name in option.opts if not getattr(option, "is_flag", True) else ():
                if f"{name}=" in args or (name, "") in pairwise(args):
                    raise ReproError(f"{name} is given an empty value: give one, or leave it out.")
        try:
            return super().parse_args(ctx, args)
        except typer.BadParameter as refusal:
            if not isinstance(refusal.__cause__, ValidationError) or refusal.param is None:
                raise
            problem = refusal.__cause__.errors(include_url=False)[0]
            name, given = refusal.param.opts[0], problem["input"]
            raise ReproError(f"{name} {given}: {why_refused(problem)}.") from refusal


def module_of(verb: str) -> Any:
    """The module of a verb."""
    return import_module(f"repro.cli.{verb.replace('-', '_')}")


def group_of(verb: str) -> typer.Typer:
    """A verb with verbs of its own."""
    module = module_of(verb)
    group = typer.Typer(help=module.__doc__, no_args_is_help=True)
    for name, command in module.COMMANDS.items():
        group.command(name, cls=Once)(command)
    return group


def application(asked: str = "") -> typer.Typer:
    """The command line: with the verb that is asked for, or with all where that is none of them."""
    app = typer.Typer(
        name="repro",
        no_args_is_help=True,
        context_settings={"help_option_names": ["-h", "--help"]},
        pretty_exceptions_enable=False,
        help="Reproduces the tables of the adapter papers: published and reproduced, side by "
        "side.\n\nBegin with: python -m repro table ResAdapters-1 --scale smoke",
    )
    app.callback(invoke_without_command=True)(version)
    every = [*VERBS, *GROUPS]
    if completion.is_asked() and asked not in every:
        for name in every:  # their names suffice
            app.command(name)(lambda: None)
        return app
    for name in [asked] if asked in every else every:
        if name in GROUPS:
            app.add_typer(group_of(name), name=name)
            continue
        verb = module_of(name).command
        app.command(
            name, cls=Once, epilog=BACKBONES if "backbone" in verb.__annotations__ else None
        )(verb)
    return app


def version(
    show_version: bool = typer.Option(False, "--version", help="Print the version and stop."),
) -> None:
    """Options before the verb."""
    if show_version:
        print(f"repro {repro.__version__}")
        raise typer.Exit


INSTALL = ("--install-completion", "--show-completion")


def asked_verb() -> tuple[str, str | None]:
    """The verb that is asked for, and the program's name where completion needs the script's."""
    if completion.is_asked():
        return completion.verb_typed(), completion.PROGRAM
    typed = sys.argv[1:2]
    return "".join(typed), completion.PROGRAM if typed and typed[0] in INSTALL else None


def main() -> None:
    """Runs a verb; a ReproError is printed without a traceback and gives the exit code, and an
    error in the file of a user's method is printed with its file and line.

    typer itself ends quietly where the user presses Ctrl-C.
    """
    streams.prepare()
    try:
        try:
            asked, program = asked_verb()
            application(asked)(standalone_mode=True, prog_name=program)
        finally:
            sys.stdout.flush()
    except streams.OutputLost as problem:
        if not problem.quiet:
            print(f"repro: {problem}", file=sys.stderr)
        sys.exit(problem.exit_code)
    except ReproError as problem:
        if not completion.is_asked():  # a message in the middle of a line helps nobody
            print(f"repro: {problem}", file=sys.stderr)
        sys.exit(problem.exit_code)
    except Exception as problem:
        place = place_in_file(problem)
        if not place:
            raise
        print(f"repro: {place}{type(problem).__name__}: {problem}", file=sys.stderr)
        sys.exit(WRONG_USAGE)
