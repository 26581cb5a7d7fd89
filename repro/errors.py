"""The one class of error that a user's mistake or the user's machine raises.

The command line prints its text without a traceback and exits with its code.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

DONE, RUN_FAILED, WRONG_USAGE, INCOMPLETE, DIFFERS = 0, 1, 2, 3, 4


class ReproError(Exception):
    """Says what is wrong, where, what is available instead and what to do."""

    exit_code = WRONG_USAGE


def first_line(problem: BaseException) -> str:
    """An exception's first line, or its class's name."""
    return str(problem).splitlines()[0] if str(problem) else type(problem).__name__


def told(problem: BaseException) -> str:
    """An exception's first line, and in parentheses that of the deepest one that led to it.

    Libraries turn what went wrong, a missing package or a refused connection, into errors of their
    own that no longer say it. The chain is the one that a traceback shows.
    """
    deepest = problem
    while (found := _before(deepest)) is not None:
        deepest = found
    line = first_line(problem)
    if deepest is problem or first_line(deepest) in line:
        return line
    return f"{line} ({type(deepest).__name__}: {first_line(deepest)})"


def _before(problem: BaseException) -> BaseException | None:
    """The exception that led to this one, as far as a traceback shows it."""
    return problem.__cause__ or (None if problem.__suppress_context__ else problem.__context__)


class UnknownName(ReproError):
    """An id that nothing has; names the closest ones.

    `kind` is what the id should have named ("table"), `known` every id there is.
    """

    def __init__(self, kind: str, given: str, known: Iterable[str]) -> None:
        names = sorted(known)
        lowered = {name.lower(): name for name in names}
        close = difflib.get_close_matches(given.lower(), list(lowered), n=3, cutoff=0.42)
        hint = " or ".join(lowered[name] for name in close)
        advice = f"Did you mean {hint}?" if close else f"Known: {', '.join(names)}."
        super().__init__(f"There is no {kind} called '{given}'. {advice}")


class MissingData(ReproError):
    """A data set that is neither in the local folder nor reachable on the hub."""


class MissingModel(ReproError):
    """Weights that are neither in a local folder, an installed package nor the hub's cache."""


class StoreError(ReproError):
    """A store that cannot be written: permissions, a full disk."""

    exit_code = RUN_FAILED


class ChangedProgram(ReproError):
    """The project's own files changed while a command ran: the rest would be another program's."""

    exit_code = RUN_FAILED
