"""Which kind of figure a request is about: the one place that tells the kinds apart."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from repro.papers.activations import Activations
from repro.papers.architecture import Architecture
from repro.papers.curves import Curves
from repro.papers.embeddings import Embeddings
from repro.papers.registry import AnyFigure
from repro.papers.request import Request
from repro.report.figures import (
    activation_text,
    architecture_text,
    curve_data,
    curve_text,
    embedding_text,
    grids,
    text,
)
from repro.report.figures.ablation import AblationView, view_ablation
from repro.report.figures.activations import ActivationsView, view_activations
from repro.report.figures.architecture import ArchitectureView, view_architecture
from repro.report.figures.curves import CurvesView, view_curves
from repro.report.figures.embeddings import EmbeddingsView, view_embeddings
from repro.report.figures.view import FigureView
from repro.spec import RunSpec
from repro.store.store import Store

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing


class View(Protocol):
    """What the view of every kind has, as `FigureView` tells it."""

    @property
    def request(self) -> Request:
        """What was asked for."""

    @property
    def lead(self) -> RunSpec:
        """The first run."""

    @property
    def runs(self) -> tuple[str, ...]:
        """The stored runs behind it."""

    @property
    def cells(self) -> int:
        """How much is asked for."""

    @property
    def done(self) -> int:
        """How much of it there is."""


Seen = TypeVar("Seen", bound=View)
Seen_contra = TypeVar("Seen_contra", bound=View, contravariant=True)


class Words(Protocol[Seen_contra]):
    """The module with the words of a kind."""

    def caption(self, view: Seen_contra, /) -> str:
        """The sentences below the picture."""

    def notes(self, view: Seen_contra, /) -> list[str]:
        """The lines below the caption."""

    def alternative(self, view: Seen_contra, /) -> str:
        """What stands in the picture, for who cannot see it."""


class Data(Protocol[Seen_contra]):
    """The module with the data of a kind."""

    def csv_text(self, view: Seen_contra, /) -> str:
        """As CSV."""

    def as_json(self, view: Seen_contra, /) -> dict[str, Any]:
        """As one object."""


def view_figure(figure: AnyFigure, request: Request, store: Store) -> FigureView:
    """The figure as it stands in the store."""
    if isinstance(figure, Curves):
        return of_curves(view_curves(figure, request, store))
    if isinstance(figure, Architecture):
        return of_architecture(view_architecture(figure, request))
    if isinstance(figure, Activations):
        return of_activations(view_activations(figure, request, store))
    if isinstance(figure, Embeddings):
        return of_embeddings(view_embeddings(figure, request, store))
    return of_ablation(view_ablation(figure, request, store))


def of_ablation(view: AblationView) -> FigureView:
    """A heat map."""

    def draw() -> Drawing:
        from repro.report.figures.heatmap import draw_ablation

        return draw_ablation(view)

    return _shown(view, text, grids, draw, "intact model" if view.collapsed else "")


def of_curves(view: CurvesView) -> FigureView:
    """Curves."""

    def draw() -> Drawing:
        from repro.report.figures.curve_plot import draw_curves

        return draw_curves(view)

    return _shown(view, curve_text, curve_data, draw, curve_text.collapsed(view))


def of_architecture(view: ArchitectureView) -> FigureView:
    """A drawing; nothing behind it is trained, so it is always complete."""

    def draw() -> Drawing:
        from repro.report.figures.architecture_plot import draw_architecture

        return draw_architecture(view)

    return _shown(view, architecture_text, architecture_text, draw)


def of_activations(view: ActivationsView) -> FigureView:
    """Learned activations."""

    def draw() -> Drawing:
        from repro.report.figures.activation_plot import draw_activations

        return draw_activations(view)

    collapsed = activation_text.constant(view)
    return _shown(view, activation_text, activation_text, draw, collapsed)


def of_embeddings(view: EmbeddingsView) -> FigureView:
    """Task embeddings."""

    def draw() -> Drawing:
        from repro.report.figures.embedding_plot import draw_embeddings

        return draw_embeddings(view)

    collapsed = embedding_text.model(view) if view.collapsed else ""
    return _shown(view, embedding_text, embedding_text, draw, collapsed)


def _shown(
    view: Seen,
    words: Words[Seen],
    data: Data[Seen],
    draw: Callable[[], Drawing],
    collapsed: str = "",
) -> FigureView:
    """What every kind tells in the same way; `words` and `data` are its modules."""
    return FigureView(
        request=view.request,
        lead=view.lead,
        runs=view.runs,
        cells=view.cells,
        done=view.done,
        collapsed=collapsed,
        caption=words.caption(view),
        notes=tuple(words.notes(view)),
        alternative=words.alternative(view),
        csv=data.csv_text(view),
        document=data.as_json(view),
        draw=draw,
    )
