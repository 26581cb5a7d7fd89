"""What a published figure of learned activations is: two panels of curves, each of one layer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from repro.errors import ReproError
from repro.papers.figures import choice
from repro.papers.matrix import Chain, Matrix, Where
from repro.papers.request import Request
from repro.spec import RunSpec, Scale
from repro.spec.tasks import GlueName

Panel = Literal["layers", "tasks"]


@dataclass(frozen=True, slots=True)
class Curve:
    """One curve: what a layer (from 0, of the paper's encoder) learns on a task."""

    panel: Panel
    task: GlueName
    layer: int


@dataclass(frozen=True, slots=True)
class Digitised:
    """A curve read off the paper's picture: (x, R(x)), each R(x) within ± `error`."""

    points: tuple[tuple[float, float], ...]
    error: float
    source: str


@dataclass(frozen=True, slots=True)
class Activations:
    """A published figure of learned activations as data: several layers of one run, trained on
    `task`; then one `layer` of a run a task, of those `shown` unless asked.

    `run(method, task, request, block)` is the run, of the first seed. `sections` are the blocks of
    rows that it may be trained on, `block` the one of a scale unless asked. `depth`: layers of the
    paper's `encoder`.
    """

    kind: ClassVar[str] = "activations"

    id: str
    paper: str
    title: str
    methods: tuple[str, ...]
    tasks: tuple[GlueName, ...]
    task: GlueName
    layers: tuple[int, ...]
    layer: int
    shown: tuple[GlueName, ...]
    depth: int
    encoder: str
    sections: tuple[str, ...]
    block: dict[Scale, str]
    default_seeds: dict[Scale, int]
    run: Callable[[str, str, Request, str], RunSpec]
    published: Callable[[], dict[Curve, Digitised]]
    low_data: bool = False
    notes: tuple[str, ...] = field(default=())

    def method(self, request: Request) -> str:
        """The model that is drawn. Raises UnknownName for one that learns no activation."""
        return choice("method of this figure", request.method, self.methods)

    def rows(self, request: Request) -> str:
        """The block of rows that is trained on. Raises ReproError for several."""
        asked = request.sections or (self.block[request.scale],)
        if len(asked) > 1:
            raise ReproError(f"{self.id} draws runs of one section: {' or '.join(asked)}.")
        return asked[0]

    def across(self, request: Request) -> tuple[GlueName, ...]:
        """The tasks of the second panel."""
        if request.tasks is None:
            return self.shown
        return tuple(task for task in self.tasks if task in request.tasks)

    def needed(self, request: Request) -> tuple[GlueName, ...]:
        """The tasks of both panels, each once."""
        return tuple(dict.fromkeys((self.task, *self.across(request))))

    def curves(self, request: Request) -> tuple[Curve, ...]:
        """Those of both panels, in order."""
        return (
            *(Curve("layers", self.task, layer) for layer in self.layers),
            *(Curve("tasks", task, self.layer) for task in self.across(request)),
        )

    def matrix(self, request: Request) -> Matrix[Activations]:
        """The run of each task, whose activations are drawn; a model where a task has no data."""
        method, rows = self.method(request), self.rows(request)
        found: dict[Where, list[Chain]] = {
            ("", task): [(self.run(method, task, request, rows),)] for task in self.needed(request)
        }
        here = {where: runs for where, runs in found.items() if where[1] not in request.unavailable}
        rest = {where: runs for where, runs in found.items() if where not in here}
        return Matrix(self, request, here, rest)

    def placed(self, own: Sequence[int]) -> dict[int, int]:
        """Published layer -> the one that stands for it, of `own`, which learn an activation.

        So deep a part of them: the layer at round(l n / depth) of n; where that one stands for
        another already, the next, so that a small encoder shows as many. One too many has none.
        """
        found, place = {}, -1
        for layer in self.layers:
            place = max(round(layer * len(own) / self.depth), place + 1)
            if place < len(own):
                found[layer] = own[place]
        return found
