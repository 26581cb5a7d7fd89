"""What a published drawing of a model is: panels, each of one model, drawn without any run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

from repro.errors import ReproError
from repro.papers.matrix import Matrix
from repro.papers.request import Request
from repro.spec import RunSpec, Scale


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


@dataclass(frozen=True, slots=True)
class Architecture:
    """A published drawing as data; `model(variant, request)` is what a panel shows, at a scale."""

    kind: ClassVar[str] = "architecture"
    methods: ClassVar[tuple[str, ...]] = ()
    tasks: ClassVar[tuple[str, ...]] = ()

    id: str
    paper: str
    title: str
    sketches: tuple[Sketch, ...]
    default_seeds: dict[Scale, int]
    model: Callable[[str, Request], RunSpec]
    notes: tuple[str, ...] = field(default=())

    def needed(self, request: Request) -> tuple[str, ...]:
        """No task. Raises ReproError for a method, which is no choice here."""
        if request.method is not None:
            raise ReproError(f"{self.id} draws all of its models: leave --method out.")
        return ()

    def matrix(self, request: Request) -> Matrix[Architecture]:
        """The model of each panel; nothing is trained. Raises ReproError where an encoder cannot
        have it.
        """
        models = {
            (sketch.name, ""): [(self.model(sketch.variant, request),)] for sketch in self.sketches
        }
        return Matrix(self, request, {}, models)
