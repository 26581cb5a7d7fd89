"""The kinds of figures, one module each: the one place that lists them."""

from __future__ import annotations

from functools import partial
from typing import Any, Protocol

from repro.papers.registry import AnyFigure
from repro.papers.request import Request
from repro.report.figures import ablation, activations, architecture, curves, embeddings
from repro.report.figures.view import FigureView
from repro.store.store import Store


class Kind(Protocol):
    """The module of a kind of figure. `view` is what its other functions are given."""

    def view_of(self, figure: Any, request: Request, store: Store) -> Any:
        """Lays the store's results out; it has what `FigureView` tells of every figure."""

    def caption(self, view: Any) -> str:
        """The sentences below the picture."""

    def notes(self, view: Any) -> list[str]:
        """The lines below the caption."""

    def alternative(self, view: Any) -> str:
        """What the picture shows, for a reader who cannot see it."""

    def collapsed(self, view: Any) -> str:
        """Which models give a constant answer; "" if none does."""

    def csv_text(self, view: Any) -> str:
        """What is drawn, as CSV."""

    def as_json(self, view: Any) -> dict[str, Any]:
        """What is drawn, as one object."""

    def draw(self, view: Any) -> Any:
        """The picture; call it within `styled`."""


KINDS: dict[str, Kind] = {
    "heat map": ablation,
    "curves": curves,
    "activations": activations,
    "embeddings": embeddings,
    "architecture": architecture,
}
"""What a figure calls its kind -> the module."""


def view_figure(figure: AnyFigure, request: Request, store: Store) -> FigureView:
    """The figure as it stands in the store."""
    kind = KINDS[figure.kind]
    return shown(kind, kind.view_of(figure, request, store))


def shown(kind: Kind, view: Any) -> FigureView:
    """What every kind tells in the same way."""
    return FigureView(
        request=view.request,
        lead=view.lead,
        runs=view.runs,
        cells=view.cells,
        done=view.done,
        collapsed=kind.collapsed(view),
        caption=kind.caption(view),
        notes=tuple(kind.notes(view)),
        alternative=kind.alternative(view),
        csv=kind.csv_text(view),
        document=kind.as_json(view),
        draw=partial(kind.draw, view),
    )
