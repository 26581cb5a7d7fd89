"""What a published figure is, and which runs are behind it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from repro.errors import UnknownName
from repro.papers.tables import Request
from repro.spec import RunSpec, Scale

Chain = Callable[[str, str, Request, int], tuple[RunSpec, ...]]
"""(method, task, request, seed) -> the runs of one seed: parents first, the last one is drawn."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A published figure as data. Of `methods` and `tasks` the first is drawn unless asked."""

    id: str
    paper: str
    title: str
    methods: tuple[str, ...]
    tasks: tuple[str, ...]
    default_seeds: dict[Scale, int]
    chain: Chain
    notes: tuple[str, ...] = field(default=())

    def method(self, request: Request) -> str:
        """The model that is drawn. Raises UnknownName for one that the figure cannot show."""
        return _choice("method of this figure", request.method, self.methods)

    def task(self, request: Request) -> str:
        """The task that is drawn. Raises UnknownName for one that the figure cannot show."""
        return _choice("task of this figure", (request.tasks or (None,))[0], self.tasks)

    def chains(self, request: Request) -> list[tuple[RunSpec, ...]]:
        """The runs of each seed, parents first."""
        method, task = self.method(request), self.task(request)
        return [self.chain(method, task, request, seed) for seed in range(request.seeds)]

    def runs(self, request: Request) -> list[RunSpec]:
        """Every run behind the figure, parents before their children.

        None where the task's data cannot be had here.
        """
        if self.task(request) in request.unavailable:
            return []
        return [run for chain in self.chains(request) for run in chain]


def _choice(kind: str, given: str | None, known: tuple[str, ...]) -> str:
    if given is None:
        return known[0]
    if given.lower() not in known:
        raise UnknownName(kind, given, known)
    return given.lower()
