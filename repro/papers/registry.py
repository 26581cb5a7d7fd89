"""Every table, figure and claim there is: whatever the papers' modules define."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator, Mapping
from importlib import import_module
from types import ModuleType
from typing import Any, TypeVar

from repro.errors import ReproError, UnknownName
from repro.papers.activations import Activations
from repro.papers.architecture import Architecture
from repro.papers.claims import Claim
from repro.papers.curves import Curves
from repro.papers.embeddings import Embeddings
from repro.papers.figures import Figure
from repro.papers.matrix import Artefact
from repro.papers.names import PAPERS
from repro.papers.tables import Table

AnyFigure = Figure | Curves | Architecture | Activations | Embeddings
Kind = TypeVar("Kind")


def _modules(paper: str) -> list[ModuleType]:
    """The modules of a paper's folder."""
    package = import_module(f"repro.papers.{paper}")
    names = [f"{package.__name__}.{one.name}" for one in pkgutil.iter_modules(package.__path__)]
    return [package, *map(import_module, names)]


def _defined(paper: str, *kinds: type[Any]) -> Iterator[Any]:
    """What a paper's modules define of these kinds, alone or in a tuple; each once."""
    found: dict[int, Any] = {}
    for module in _modules(paper):
        for value in vars(module).values():
            some = value if isinstance(value, tuple) else (value,)
            found |= {id(one): one for one in some if isinstance(one, kinds)}
    for one in found.values():
        if one.paper not in PAPERS:
            raise ReproError(f"{one.id} says that its paper is {one.paper}, and stands in {paper}.")
    yield from (one for one in found.values() if one.paper == paper)


def _by_id(*kinds: type[Any]) -> dict[str, Any]:
    """Id -> table or figure, paper by paper. Raises ReproError for an id that stands for two."""
    found: dict[str, Any] = {}
    for one in (one for paper in PAPERS for one in _defined(paper, *kinds)):
        if one.id in found:
            raise ReproError(f"Two tables or figures are called {one.id}: rename one of them.")
        found[one.id] = one
    return found


_tables = _by_id(Table)
TABLES: dict[str, Table] = {
    name: _tables[name]
    for name in sorted(_tables, key=lambda name: (list(PAPERS).index(_tables[name].paper), name))
}
FIGURES: dict[str, AnyFigure] = _by_id(Figure, Curves, Architecture, Activations, Embeddings)
CLAIMS: tuple[Claim, ...] = tuple(one for paper in PAPERS for one in _defined(paper, Claim))
for _twice in TABLES.keys() & FIGURES.keys():
    raise ReproError(f"A table and a figure are called {_twice}: rename one of them.")
ARTEFACTS: dict[str, Artefact] = {**TABLES, **FIGURES}
"""Every table and figure, by id: whatever a request can name."""


def find_table(given: str) -> Table:
    """The table called `given`, in any case; an unknown id names the closest ones, a figure's the
    verb that draws it.
    """
    for name in FIGURES:
        if name.lower() == given.lower():
            raise ReproError(f"{name} is a figure, not a table: python -m repro figure {name}.")
    return _find("table", given, TABLES)


def find_figure(given: str) -> AnyFigure:
    """The figure called `given`, in any case; an unknown id names the closest ones."""
    return _find("figure", given, FIGURES)


def find_artefact(given: str) -> Artefact:
    """The table or figure called `given`, in any case; an unknown id names the closest ones."""
    return _find("table or figure", given, ARTEFACTS)


def _find(kind: str, given: str, known: Mapping[str, Kind]) -> Kind:
    for name, found in known.items():
        if name.lower() == given.lower():
            return found
    raise UnknownName(kind, given, known)
