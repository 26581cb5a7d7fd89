"""What a published figure is, and which runs are behind it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar, TypeVar

from repro.errors import ReproError, UnknownName
from repro.papers.matrix import Chain, Matrix
from repro.papers.request import Request
from repro.spec import Scale
from repro.spec.tasks import GlueName

Name = TypeVar("Name", bound=str)


@dataclass(frozen=True, slots=True)
class Figure:
    """A published figure as data. Of `methods` and `tasks` the first is drawn unless asked.

    `chain(method, task, request, seed)` are the runs of one seed: parents first, the last one is
    drawn. `published_rows`: task -> the rows that the published numbers are of, as results name
    them.
    """

    kind: ClassVar[str] = "heat map"

    id: str
    paper: str
    title: str
    methods: tuple[str, ...]
    published_rows: dict[GlueName, str]
    default_seeds: dict[Scale, int]
    chain: Callable[[str, GlueName, Request, int], Chain]
    notes: tuple[str, ...] = field(default=())

    @property
    def tasks(self) -> tuple[GlueName, ...]:
        """Those of GLUE that it can be drawn for."""
        return tuple(self.published_rows)

    def method(self, request: Request) -> str:
        """The model that is drawn. Raises UnknownName for one that the figure cannot show."""
        return choice("method of this figure", request.method, self.methods)

    def task(self, request: Request) -> GlueName:
        """The task that is drawn. Raises UnknownName for one that the figure cannot show,
        ReproError for several.
        """
        asked = request.tasks or (None,)
        if len(asked) > 1:
            raise ReproError(f"{self.id} draws one task: {' or '.join(self.tasks)}.")
        return choice("task of this figure", asked[0], self.tasks)

    def needed(self, request: Request) -> tuple[GlueName, ...]:
        """The tasks that this request trains on."""
        return (self.task(request),)

    def matrix(self, request: Request) -> Matrix[Figure]:
        """The run that switches adapters off, of each seed, after the one that is trained."""
        method, task = self.method(request), self.task(request)
        chains = [self.chain(method, task, request, seed) for seed in range(request.seeds)]
        return Matrix(self, request, {("", task): chains})


def choice(kind: str, given: str | None, known: tuple[Name, ...]) -> Name:
    """The known one called `given`, in any case; the first where nothing is given.

    Raises UnknownName.
    """
    for name in known:
        if given is None or given.lower() == name.lower():
            return name
    raise UnknownName(kind, str(given), known)
