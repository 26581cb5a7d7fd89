"""A figure as it stands, whatever its kind: what commands, the report and its files need."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from repro.papers.matrix import Matrix
from repro.papers.registry import AnyFigure
from repro.papers.request import Request
from repro.report.declared import not_comparable
from repro.report.files import figure_paths, table_name, write_drawing
from repro.report.render import json_text
from repro.spec import RunSpec
from repro.store.store import Store
from repro.words import grouped

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing


@dataclass(frozen=True)
class FigureView(ABC):
    """One figure at one scale; each kind of figure is a subclass.

    `lead` is its first run, `runs` are the keys of the stored ones behind it. `cells` is how many
    points, curves, spans or panels are asked for, `done` how many of them are there. `collapsed`
    names the models that give a constant answer, "" if none does.
    """

    matrix: Matrix[Any] = field(compare=False)
    lead: RunSpec
    runs: tuple[str, ...]
    cells: int
    done: int
    collapsed: str

    @property
    def figure(self) -> Any:
        """The published figure."""
        return self.matrix.artefact

    @property
    def request(self) -> Request:
        """What was asked for."""
        return self.matrix.request

    @property
    def id(self) -> str:
        """What a user types."""
        return self.request.id

    @property
    def complete(self) -> bool:
        """Everything is scored."""
        return self.done == self.cells

    @property
    def notes(self) -> list[str]:
        """The lines below the caption."""
        return [*dict.fromkeys(self.own_notes()), *self.figure.notes]

    @property
    def document(self) -> dict[str, Any]:
        """The object of `figure --json`; docs/json.md describes it."""
        name = table_name(self.request)
        files = [*map(str, figure_paths(name)), f"tables/{name}.md"]
        head = {"id": self.id, "scale": self.request.scale}
        tail = {"complete": f"{self.done}/{self.cells}", "runs": list(self.runs)}
        return head | self.data() | tail | {"notes": self.notes, "files": files}

    @property
    @abstractmethod
    def caption(self) -> str:
        """The sentences below the picture."""

    @property
    @abstractmethod
    def alternative(self) -> str:
        """What the picture shows, for a reader who cannot see it."""

    @property
    @abstractmethod
    def csv(self) -> str:
        """What is drawn, as CSV."""

    @abstractmethod
    def own_notes(self) -> list[str]:
        """What is missing or odd at this scale."""

    @abstractmethod
    def data(self) -> dict[str, Any]:
        """What is drawn, for `document`."""

    @abstractmethod
    def draw(self) -> Drawing:
        """The picture; call it within `styled`."""

    def stamped(self, *said: str, differs: str = "", what: str = "numbers") -> str:
        """Scale, encoder, what else is said, and whether the published `what` are comparable."""
        scale, backbone = self.request.scale, self.lead.backbone
        encoder = f"{backbone.name} ({backbone.layers} layers)"
        parts = [f"{scale.capitalize()} scale", encoder, *said]
        return " · ".join([*parts, *not_comparable(scale, differs, what)])


def view_figure(figure: AnyFigure, request: Request, store: Store) -> FigureView:
    """The figure as it stands in the store; each kind of figure is one module."""
    from repro.report.figures import ablation, activations, architecture, curves, embeddings

    kinds: dict[str, Any] = {
        "heat map": ablation,
        "curves": curves,
        "activations": activations,
        "embeddings": embeddings,
        "architecture": architecture,
    }
    view: FigureView = kinds[figure.kind].view_of(figure, request, store)
    return view


def write_figure(view: FigureView, folder: Path) -> list[Path]:
    """Writes figures/NAME.{png,svg,pdf,csv,json} where content changed; returns the paths.

    Raises StoreError, which names --out, for a folder that cannot be written.
    """
    texts = {"csv": view.csv, "json": json_text(view.document)}
    return write_drawing(folder, table_name(view.request), view.draw, texts)


def lacking(word: str, parts: Iterable[tuple[str, str]]) -> list[str]:
    """What is missing of a picture, a sentence a reason: Not drawn: CoLA, RTE: not run."""
    names = grouped((reason.removesuffix("."), name) for name, reason in parts)
    return [f"{word}: {', '.join(found)}: {reason}." for reason, found in names.items()]
