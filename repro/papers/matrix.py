"""The run matrix: every run of a table or figure for one request, by the cell that needs it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, Literal, Protocol, TypeVar

from repro.papers.request import Request
from repro.spec import RunSpec, Scale, run_key

Chain = tuple[RunSpec, ...]
"""A run of a cell, last; before it the runs that it is made from."""
Role = Literal["cell", "needed", "model"]
Where = tuple[str, str]
"""Row and column: of a table their names; of curves a point's name and a task."""
ONE_SEED: dict[Scale, int] = {"paper": 1, "reduced": 1, "smoke": 1}


class Artefact(Protocol):
    """A table or a figure: what a plan and the command line need of it."""

    @property
    def id(self) -> str:
        """What a user types."""

    @property
    def title(self) -> str:
        """What it shows, with its number in the paper."""

    @property
    def default_seeds(self) -> dict[Scale, int]:
        """Seeds where the user asks for no number."""

    @property
    def tasks(self) -> tuple[str, ...]:
        """What it can train on: "squad2", or names of GLUE tasks."""

    def needed(self, request: Request) -> tuple[str, ...]:
        """Those of its tasks that this request trains on, if their data can be had."""

    def matrix(self, request: Request) -> Matrix[Artefact]:
        """Every run of the request, by cell."""


A_co = TypeVar("A_co", bound=Artefact, covariant=True)


@dataclass(frozen=True, slots=True)
class Entry:
    """One run of a cell: `role` is "cell" where its score is shown, "needed" where one of those is
    made from it, "model" where it is described and not trained.
    """

    row: str
    column: str
    role: Role
    key: str
    spec: RunSpec

    @property
    def seed(self) -> int:
        """The run's seed."""
        return self.spec.seed


@dataclass(frozen=True, slots=True)
class Behind:
    """The runs of one cell or several, and those that they are made from."""

    runs: Sequence[RunSpec]
    needed: Sequence[RunSpec] = ()


class Matrix(Generic[A_co]):
    """All runs of a request, cell after cell; those that a run is made from stand before it.

    Attributes:
        source: The table or figure.
        artefact: The same as this request shows it: a table without the rows that are not asked
            for, with the reason in each row that cannot be trained.
        request: What was asked for.
        entries: The runs; the same run once for each cell and role that it has.
    """

    def __init__(
        self,
        source: A_co,
        request: Request,
        cells: Mapping[Where, Iterable[Chain]],
        models: Mapping[Where, Iterable[Chain]] | None = None,
        artefact: A_co | None = None,
    ) -> None:
        self.source, self.request = source, request
        self.artefact = source if artefact is None else artefact
        found: list[Entry] = []
        keys: dict[int, str] = {}  # a run of several cells, or behind several, is one object
        of_roles: tuple[tuple[Role, Mapping[Where, Iterable[Chain]]], ...]
        of_roles = ("cell", cells), ("model", models or {})
        for role, of_cell in of_roles:
            for (row, column), chains in of_cell.items():
                for chain in chains:
                    for spec in chain:
                        key = keys.get(id(spec)) or keys.setdefault(id(spec), run_key(spec))
                        has: Role = role if spec is chain[-1] else "needed"
                        found.append(Entry(row, column, has, key, spec))
        self.entries = tuple(found)

    @cached_property
    def _by_cell(self) -> dict[Where, list[Entry]]:
        found: dict[Where, list[Entry]] = {}
        for entry in self.entries:
            found.setdefault((entry.row, entry.column), []).append(entry)
        return found

    def of(self, row: str, column: str = "") -> list[RunSpec]:
        """The runs of a cell, or the models that a fact is of; none of a cell without runs."""
        own = self._by_cell.get((row, column), ())
        return [entry.spec for entry in own if entry.role != "needed"]

    def behind(self, *cells: Where) -> Behind:
        """The runs of these cells, and those that they are made from."""
        own = [entry for where in cells for entry in self._by_cell.get(where, ())]
        needed = [entry.spec for entry in own if entry.role == "needed"]
        return Behind([entry.spec for entry in own if entry.role != "needed"], needed)

    @cached_property
    def declared(self) -> Matrix[A_co]:
        """The matrix of what the artefact itself declares at paper scale."""
        return self.source.matrix(self.request.declared())  # type: ignore[return-value]

    @cached_property
    def wanted(self) -> dict[str, RunSpec]:
        """Key -> run of every run whose result is shown."""
        return self._ordered(("cell",))

    @cached_property
    def runs(self) -> dict[str, RunSpec]:
        """Key -> run of these and all that they are made from: the first seed of all cells before
        the second, and parents before their children.
        """
        return self._ordered(("cell", "needed"))

    def _ordered(self, roles: Sequence[Role]) -> dict[str, RunSpec]:
        found = {entry.key: entry.spec for entry in self.entries if entry.role in roles}
        return dict(sorted(found.items(), key=lambda item: item[1].seed))


def tasks_of(spec: RunSpec) -> tuple[str, ...]:
    """The tasks that a run trains on: one, or those of a mixture."""
    return spec.task.names
