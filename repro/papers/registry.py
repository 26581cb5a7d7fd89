"""Every table, figure and claim there is: whatever the papers' modules define."""

from __future__ import annotations

import pkgutil
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar, get_args

from repro.errors import ReproError, UnknownName, told
from repro.papers.claims import Claim
from repro.papers.curves import Curves
from repro.papers.figures import Activations, Architecture, Embeddings, Figure, choice
from repro.papers.matrix import Artefact
from repro.papers.names import ADDED, PAPERS, Misdeclared, leave_out
from repro.papers.published import load_published
from repro.papers.request import Request
from repro.papers.tables import Table
from repro.spec import RunSpec, Scale
from repro.tasks.catalogue import TITLES

AnyFigure = Figure | Curves | Architecture | Activations | Embeddings
Kind = TypeVar("Kind")
SCALES: tuple[Scale, ...] = get_args(Scale)
ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
"""Of a table or figure."""


def _modules(paper: str) -> list[ModuleType]:
    """The modules of a paper's folder."""
    package = import_module(f"repro.papers.{paper}")
    names = [f"{package.__name__}.{one.name}" for one in pkgutil.iter_modules(package.__path__)]
    return [package, *map(import_module, names)]


def _defined(paper: str) -> list[Any]:
    """The tables, figures and claims that a paper's modules define, alone or in a tuple; each once.

    Raises Misdeclared for one of no paper and, in a paper of REPRO_PAPERS, for a table that would
    lose a number or could not be shown.
    """
    found: dict[int, Any] = {}
    for module in _modules(paper):
        for value in vars(module).values():
            some = value if isinstance(value, tuple) else (value,)
            found |= {id(one): one for one in some if isinstance(one, (Table, AnyFigure, Claim))}
    for one in found.values():
        if one.paper not in PAPERS:
            raise Misdeclared(
                f"{_place(paper, one.id)}: {one.id} says that its paper is {one.paper}, and stands "
                f"in {paper}."
            )
    own = [one for one in found.values() if one.paper == paper]
    for one in own if paper in ADDED else ():
        if not isinstance(one, Claim) and not ID.fullmatch(one.id):
            raise Misdeclared(
                f"{_place(paper, one.id)}: the id {one.id!r} names files. Give it letters, digits, "
                "'-', '_' and '.' only, a letter or a digit first."
            )
        if isinstance(one, Table):
            for problem in (*_problems(one), *_problems_of_runs(one)):
                raise Misdeclared(f"{_place(paper, one.id)}: {problem}")
    return own


def _place(paper: str, id: str) -> str:
    """File and line where a paper's table or figure gets its id."""
    paths = [Path(module.__file__) for module in _modules(paper) if module.__file__]
    for path in paths:
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if f'"{id}"' in line or f"'{id}'" in line:
                return f"{path}, line {number}"
    return str(paths[0])


def _problems(table: Table) -> Iterator[str]:
    """What is wrong with a table, a sentence each."""
    if not table.columns or not table.rows:
        yield f"{table.id} has no {'rows' if table.columns else 'columns'}."
    for scale in SCALES:
        if scale not in table.default_seeds:
            yield f"default_seeds of {table.id} has no number for the scale {scale}."
    for score in table.scores:
        if score.task not in TITLES:
            yield f"{UnknownName('task', score.task, TITLES)} ({table.id}, {score.name})"
    if not table.published:
        return
    cells = load_published(table.paper, table.published)
    row_at, column_at = (1, 0) if table.transposed else (0, 1)
    rows, columns = {key[row_at] for key in cells}, {key[column_at] for key in cells}
    own = {row.metric for row in table.rows}
    file = f"{table.published}.csv"
    for row in table.rows:
        if row.published is not None and row.published not in rows:
            yield f"{UnknownName(f'row of {file}', row.published, rows)} ({table.id}, {row.name})"
    for column in table.columns:
        if column.published_column and column.published_column not in columns:
            unknown = UnknownName(f"column of {file}", column.published_column, columns)
            yield f"{unknown} ({table.id}, {column.name})"
        metrics = {key[2] for key in cells if key[column_at] == column.published_column}
        if column.published_column and not metrics & {column.published_metric, *own}:
            unknown = UnknownName(f"metric of {file}", column.published_metric, metrics)
            yield f"{unknown} ({table.id}, {column.name})"


def _problems_of_runs(table: Table) -> Iterator[str]:
    """What is wrong with the runs that a table names for its cells, at the smallest scale; a cell
    that says itself why it has none is left.
    """
    request = Request(table.id, "smoke", 1)
    for row in table.trained:
        for score in table.scores:
            cell = f"{table.id}, {row.name}, {score.name}"
            try:
                chains = table.chains(row, score, request)
                specs = [spec for chain in chains for spec in chain]
            except ReproError:
                continue
            except Exception as problem:
                said = f"{type(problem).__name__}: {told(problem)}"
                yield f"its runs cannot be made ({cell}): {said}"
                continue
            if not all(isinstance(spec, RunSpec) for spec in specs):
                yield f"chains gives something else than runs ({cell})."
                continue
            known = {chain[-1].task.protocol for chain in chains} - {""}
            if known and table.protocol not in known:
                yield f"{UnknownName('protocol', table.protocol, known)} ({cell})"


_found: dict[str, list[Any]] = {}
for _paper in [*PAPERS]:
    try:
        _found[_paper] = _defined(_paper)
    except Exception as _problem:
        if _paper not in ADDED:
            raise
        leave_out(_paper, _problem)
_every = [one for own in _found.values() for one in own]
CLAIMS: tuple[Claim, ...] = tuple(one for one in _every if isinstance(one, Claim))
for _id, _times in Counter(one.id for one in _every if not isinstance(one, Claim)).items():
    if _times > 1:
        raise ReproError(f"Two tables or figures are called {_id}: rename one of them.")
TABLES: dict[str, Table] = {
    one.id: one
    for own in _found.values()
    for one in sorted((one for one in own if isinstance(one, Table)), key=lambda one: one.id)
}
FIGURES: dict[str, AnyFigure] = {one.id: one for one in _every if isinstance(one, AnyFigure)}
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
    return known[choice(kind, given, tuple(known))]
