"""What a published figure is, and which runs are behind it; curves are in `curves`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal, TypeVar

from repro.errors import ReproError, UnknownName
from repro.papers.matrix import ONE_SEED, Chain, Matrix, Where, tasks_of
from repro.papers.request import Request
from repro.spec import RunSpec, Scale
from repro.spec.tasks import GlueName, WrittenName

Name = TypeVar("Name", bound=str)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Drawn:
    """What every published figure has. Of `methods` the first is drawn unless asked; a figure
    without any draws all of its models.
    """

    id: str
    paper: str
    title: str
    default_seeds: dict[Scale, int] = field(default_factory=ONE_SEED.copy)
    methods: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def method(self, request: Request) -> str:
        """The model that is drawn. Raises UnknownName for one that the figure cannot show."""
        return choice("method of this figure", request.method, self.methods)

    def check_no_method(self, request: Request) -> None:
        """Raises ReproError for a method, which is no choice where all models are drawn."""
        if request.method is not None:
            raise ReproError(f"{self.id} draws all of its models: leave --method out.")


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Figure(Drawn):
    """A published heat map as data. Of `tasks` the first is drawn unless asked.

    `chains(method, task, request)` are the runs, a chain for each seed: parents first, the last one
    is drawn. `published_rows`: task -> the rows that the published numbers are of, as results name
    them.
    """

    kind: ClassVar[str] = "heat map"

    published_rows: dict[GlueName, str]
    chains: Callable[[str, GlueName, Request], Sequence[Chain]]

    @property
    def tasks(self) -> tuple[GlueName, ...]:
        """Those of GLUE that it can be drawn for."""
        return tuple(self.published_rows)

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
        return Matrix(self, request, {("", task): self.chains(method, task, request)})


def choice(kind: str, given: str | None, known: tuple[Name, ...]) -> Name:
    """The known one called `given`, in any case; the first where nothing is given.

    Raises UnknownName.
    """
    for name in known:
        if given is None or given.lower() == name.lower():
            return name
    raise UnknownName(kind, str(given), known)


@dataclass(frozen=True, slots=True)
class Sketch:
    """One panel: the cells of a model and what joins them, or, `inside`, the inside of one cell.

    `variant` is the model, `rows` are those of the paper's table that look like it.
    """

    name: str
    title: str
    variant: str
    rows: str
    inside: bool = False


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Architecture(Drawn):
    """A published drawing as data; `model(variant, request)` is what a panel shows, at a scale."""

    kind: ClassVar[str] = "architecture"
    tasks: ClassVar[tuple[str, ...]] = ()

    sketches: tuple[Sketch, ...]
    model: Callable[[str, Request], RunSpec]

    def needed(self, request: Request) -> tuple[str, ...]:
        """No task. Raises ReproError for a method, which is no choice here."""
        self.check_no_method(request)
        return ()

    def matrix(self, request: Request) -> Matrix[Architecture]:
        """The model of each panel; nothing is trained. Raises ReproError where an encoder cannot
        have it.
        """
        models = {
            (sketch.name, ""): [(self.model(sketch.variant, request),)] for sketch in self.sketches
        }
        return Matrix(self, request, {}, models)


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


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Activations(Drawn):
    """A published figure of learned activations as data: several layers of one run, trained on
    `task`; then one `layer` of a run a task, of those `shown` unless asked.

    `run(method, task, request, block)` is the run, of the first seed. `sections` are the blocks of
    rows that it may be trained on, `block` the one of a scale unless asked. `depth`: layers of the
    paper's `encoder`.
    """

    kind: ClassVar[str] = "activations"

    tasks: tuple[GlueName, ...]
    task: GlueName
    layers: tuple[int, ...]
    layer: int
    shown: tuple[GlueName, ...]
    depth: int
    encoder: str
    sections: tuple[str, ...]
    block: dict[Scale, str]
    run: Callable[[str, str, Request, str], RunSpec]
    published: Callable[[], dict[Curve, Digitised]]
    low_data: bool = False

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
        rest = {where: runs for where, runs in found.items() if where[1] in request.unavailable}
        here = {where: runs for where, runs in found.items() if where not in rest}
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


FEWEST = 4
"""Tasks of a map: in two dimensions three points tell nothing, and t-SNE looks at three others."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Embeddings(Drawn):
    """A published figure of task embeddings as data: those of one multi-task run.

    `chain(method, request)` are the runs behind it, of the first seed, parents first; the
    embeddings are the last one's. `kinds`: kind of task -> its tasks, which share a colour. No
    published point is drawn: `notes` say why.
    """

    kind: ClassVar[str] = "embeddings"

    kinds: dict[str, tuple[WrittenName, ...]]
    chain: Callable[[str, Request], Chain]

    @property
    def tasks(self) -> tuple[WrittenName, ...]:
        """The tasks of all kinds."""
        return tuple(task for tasks in self.kinds.values() for task in tasks)

    def kind_of(self, task: WrittenName) -> str:
        """The kind that a task is of."""
        return next(kind for kind, tasks in self.kinds.items() if task in tasks)

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
        chain = self.chain(self.method(request), request)
        found = {("", ""): [chain]}
        if self.lacking(chain[-1], request):
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
