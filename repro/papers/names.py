"""The papers, as a reader calls them."""

from __future__ import annotations

import os
import pkgutil
import sys
import traceback
from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path
from typing import TypeVar

from repro import papers
from repro.errors import ReproError, UnknownName, told

PAPERS = {
    "resadapters": "ResAdapters (Hsu & Wu)",
    "houlsby": "Houlsby et al. 2019",
    "three_shared": "3-shared (Mohebbi & Rajaee)",
    "peters": "Peters, Ruder & Smith 2019",
    "hyperformer": "HyperFormer (Karimi Mahabadi et al. 2021)",
    "adaptable_adapters": "Adaptable Adapters (Moosavi et al. 2022)",
}
"""Folder of `papers/` -> name; a further paper's name is the TITLE of its `__init__.py`."""

OTHER_NAMES = {"3_shared": "three_shared", "aa": "adaptable_adapters"}
"""As the ids of their tables begin."""


def _further() -> dict[str, str]:
    """The papers of REPRO_PAPERS whose `__init__.py` can be imported.

    Raises ReproError where it names no folder.
    """
    for folder in papers.FURTHER:
        if not Path(folder).is_dir():
            raise ReproError(f"REPRO_PAPERS names {folder}, which is no folder: mend or unset it.")
        if not any(one.ispkg for one in pkgutil.iter_modules([folder])):
            raise ReproError(
                f"{folder}, which REPRO_PAPERS names, holds no paper: a paper is a folder in it, "
                "whose name Python can import (made_up), with an __init__.py."
            )
    found = [one.name for one in pkgutil.iter_modules(papers.__path__) if one.ispkg]
    own = [one.name for folder in papers.__path__ for one in pkgutil.iter_modules([folder])]
    for name in found:
        if own.count(name) > 1:
            raise ReproError(f"Two papers stand in folders called {name}: rename one of them.")
    titles: dict[str, str] = {}
    for name in sorted(set(found) - set(PAPERS)):
        try:
            titles[name] = str(getattr(import_module(f"repro.papers.{name}"), "TITLE", name))
        except Exception as problem:
            leave_out(name, problem)
    return titles


def leave_out(paper: str, problem: Exception) -> None:
    """Goes on without a paper of REPRO_PAPERS, and says in one line what is wrong, and where."""
    PAPERS.pop(paper, None)
    said = str(problem) if isinstance(problem, Misdeclared) else _described(problem)
    print(f"repro: The paper {paper} is left out: {' '.join(said.split())}", file=sys.stderr)


class Misdeclared(ReproError):
    """A table or figure that a paper's file declares wrongly; names file and line."""


def _described(problem: Exception) -> str:
    """File, line and error of what a paper's own file raised when it was imported."""
    said = told(problem) if isinstance(problem, ReproError) else _with_kind(problem)
    if isinstance(problem, SyntaxError) and problem.filename:
        return f"{problem.filename}, line {problem.lineno}: {_with_kind(problem)}"
    roots = tuple(os.path.abspath(folder) + os.sep for folder in papers.FURTHER)
    frames = traceback.extract_tb(problem.__traceback__)
    own = [one for one in frames if os.path.abspath(one.filename).startswith(roots)]
    return f"{own[-1].filename}, line {own[-1].lineno}: {said}" if own else said


def _with_kind(problem: Exception) -> str:
    text = problem.msg if isinstance(problem, SyntaxError) else told(problem)
    return f"{type(problem).__name__}: {text}"


PAPERS |= (_added := _further())
ADDED = frozenset(_added)
"""The papers of REPRO_PAPERS."""


def find_paper(given: str | None) -> str | None:
    """The folder of the paper called `given`, in any case; an unknown one names the closest."""
    if given is None:
        return None
    wanted = given.lower().replace("-", "_").replace(" ", "_")
    wanted = OTHER_NAMES.get(wanted, wanted)
    if wanted not in PAPERS:
        raise UnknownName("paper", given, PAPERS)
    return wanted


T = TypeVar("T")


def by_paper(found: Iterable[T], paper: Callable[[T], str]) -> list[tuple[str, list[T]]]:
    """The name of each paper, and what is of it; a paper of which nothing is, is left out."""
    of_paper: dict[str, list[T]] = {one: [] for one in PAPERS}
    for one in found:
        of_paper[paper(one)].append(one)
    return [(PAPERS[name], own) for name, own in of_paper.items() if own]
