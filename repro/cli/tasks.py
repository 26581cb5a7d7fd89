"""Which tasks of which tables and figures a command is about, and what is left out."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace

from repro.cli.options import Asked, split_tasks
from repro.errors import ReproError
from repro.papers.embeddings import FEWEST, Embeddings
from repro.papers.figures import Figure
from repro.papers.tables import Artefact, Request
from repro.tasks.catalogue import TITLES


def narrowed(artefacts: Sequence[Artefact], asked: Asked) -> list[tuple[Artefact, Asked]]:
    """Of several artefacts those that have a task of `--tasks`, each asked for the tasks it has.

    What is left out is said on stderr. One artefact alone has to have all of them, which
    `make_request` checks. Raises ReproError for a task that none has, or where nothing is left.
    """
    tasks = split_tasks(asked.tasks)
    if tasks is None or len(artefacts) == 1:
        return [(artefact, asked) for artefact in artefacts]
    absent = [task for task in tasks if all(task not in known.tasks for known in artefacts)]
    if absent:
        names = ", ".join(artefact.id for artefact in artefacts)
        raise ReproError(f"None of {names} has a task {' or '.join(absent)}.")
    kept, said = [], []
    for artefact in artefacts:
        own = [task for task in tasks if task in artefact.tasks]
        reason = _reason(artefact, own, tasks)
        if reason:
            said.append(f"Left out: {artefact.id}{reason}.")
        if own and not _too_many(artefact, own) and not _too_few(artefact, own):
            kept.append((artefact, replace(asked, tasks=",".join(own))))
    if not kept:
        raise ReproError(f"Nothing of that can be done. {' '.join(said)}")
    print("".join(f"{line}\n" for line in said), end="", file=sys.stderr)
    return kept


def _reason(artefact: Artefact, own: Sequence[str], tasks: Sequence[str]) -> str:
    """What to say of an artefact after its name; "" where it takes all that is asked for."""
    if not own:
        return f", which has {', '.join(artefact.tasks) or 'no task'}"
    if _too_many(artefact, own):
        return f", which draws one task: {' or '.join(own)}"
    if _too_few(artefact, own):
        return f", which draws maps of {FEWEST} tasks at least"
    lacking = [task for task in tasks if task not in own]
    return f"'s {' and '.join(lacking)}, which it does not have" if lacking else ""


def _too_many(artefact: Artefact, own: Sequence[str]) -> bool:
    return isinstance(artefact, Figure) and len(own) > 1


def _too_few(artefact: Artefact, own: Sequence[str]) -> bool:
    return isinstance(artefact, Embeddings) and len(own) < FEWEST


def unavailable(requests: Sequence[Request]) -> dict[str, str]:
    """Task -> why its data cannot be had here, so that its runs are in no plan."""
    return {task: why for request in requests for task, why in request.unavailable.items()}


def gap_lines(requests: Sequence[Request]) -> list[str]:
    """One line a task whose runs are left out."""
    return [
        f"{TITLES[name]} is a gap: {why}."
        for name in TITLES
        if (why := unavailable(requests).get(name))
    ]
