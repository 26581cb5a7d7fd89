"""What a published figure of task embeddings is: maps of the vectors that one run has learned."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

from repro.errors import ReproError
from repro.papers.figures import choice
from repro.papers.matrix import Chain, Matrix, tasks_of
from repro.papers.request import Request
from repro.spec import RunSpec, Scale
from repro.spec.tasks import WrittenName

FEWEST = 4
"""Tasks of a map: in two dimensions three points tell nothing, and t-SNE looks at three others."""


@dataclass(frozen=True, slots=True)
class Embeddings:
    """A published figure of task embeddings as data: those of one multi-task run.

    `chain(method, request)` are the runs behind it, of the first seed, parents first; the
    embeddings are the last one's. `kinds`: kind of task -> its tasks, which share a colour. No
    published point is drawn: `notes` say why.
    """

    kind: ClassVar[str] = "embeddings"

    id: str
    paper: str
    title: str
    methods: tuple[str, ...]
    kinds: dict[str, tuple[WrittenName, ...]]
    default_seeds: dict[Scale, int]
    chain: Callable[[str, Request], Chain]
    notes: tuple[str, ...] = field(default=())

    @property
    def tasks(self) -> tuple[WrittenName, ...]:
        """The tasks of all kinds."""
        return tuple(task for tasks in self.kinds.values() for task in tasks)

    def kind_of(self, task: WrittenName) -> str:
        """The kind that a task is of."""
        return next(kind for kind, tasks in self.kinds.items() if task in tasks)

    def method(self, request: Request) -> str:
        """The model that is drawn. Raises UnknownName for one that learns no embedding."""
        return choice("method of this figure", request.method, self.methods)

    def needed(self, request: Request) -> tuple[WrittenName, ...]:
        """Every task: one run trains on them together. Raises ReproError where fewer are asked for
        than a map can have: the run would be for nothing.
        """
        asked = self.tasks if request.tasks is None else request.tasks
        if len(set(asked)) < FEWEST and set(asked) <= set(self.tasks):
            raise ReproError(
                f"{self.id} draws maps of {FEWEST} tasks at least, and --tasks names {len(asked)}. "
                "Name more, or leave --tasks out."
            )
        return self.tasks

    def matrix(self, request: Request) -> Matrix[Embeddings]:
        """The run whose embeddings are drawn; a model only where a task has no data, because such a
        run cannot be trained here. Raises MissingData where no task has data.
        """
        found = {("", ""): [self.chain(self.method(request), request)]}
        (run,) = Matrix(self, request, found).of("")
        if self.lacking(run, request):
            return Matrix(self, request, {}, found)
        return Matrix(self, request, found)

    def shown(self, run: RunSpec, request: Request) -> tuple[WrittenName, ...]:
        """The tasks of the run that are asked for, by kind."""
        mixed = tasks_of(run)
        asked = mixed if request.tasks is None else request.tasks
        return tuple(name for name in self.tasks if name in mixed and name in asked)

    def lacking(self, run: RunSpec, request: Request) -> dict[str, str]:
        """Task of the run -> why its data cannot be had."""
        return {name: why for name, why in request.unavailable.items() if name in tasks_of(run)}
