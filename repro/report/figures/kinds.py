"""Which kind of figure a request is about: the one place that tells the kinds apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

from repro.papers.activations import Activations
from repro.papers.architecture import Architecture
from repro.papers.curves import Curves
from repro.papers.registry import AnyFigure
from repro.papers.tables import Request
from repro.report.figures import (
    activation_text,
    architecture_text,
    curve_data,
    curve_text,
    grids,
    text,
)
from repro.report.figures.ablation import AblationView, view_ablation
from repro.report.figures.activations import ActivationsView, view_activations
from repro.report.figures.architecture import ArchitectureView, view_architecture
from repro.report.figures.curves import CurvesView, view_curves
from repro.report.figures.view import FigureView
from repro.store.store import Store

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing


def view_figure(figure: AnyFigure, request: Request, store: Store) -> FigureView:
    """The figure as it stands in the store."""
    if isinstance(figure, Curves):
        return of_curves(view_curves(figure, request, store))
    if isinstance(figure, Architecture):
        return of_architecture(view_architecture(figure, request))
    if isinstance(figure, Activations):
        return of_activations(view_activations(figure, request, store))
    return of_ablation(view_ablation(figure, request, store))


def of_ablation(view: AblationView) -> FigureView:
    """A heat map."""

    def draw() -> Drawing:
        from repro.report.figures.heatmap import draw_ablation

        return draw_ablation(view)

    return FigureView(
        request=view.request,
        lead=view.lead,
        runs=view.runs,
        cells=view.cells,
        done=view.done,
        collapsed="intact model" if view.collapsed else "",
        caption=text.caption(view),
        notes=tuple(text.notes(view)),
        alternative=text.alternative(view),
        csv=grids.csv_text(view),
        document=grids.as_json(view),
        draw=draw,
    )


def of_curves(view: CurvesView) -> FigureView:
    """Curves."""

    def draw() -> Drawing:
        from repro.report.figures.curve_plot import draw_curves

        return draw_curves(view)

    return FigureView(
        request=view.request,
        lead=view.lead,
        runs=view.runs,
        cells=view.cells,
        done=view.done,
        collapsed=curve_text.collapsed(view),
        caption=curve_text.caption(view),
        notes=tuple(curve_text.notes(view)),
        alternative=curve_text.alternative(view),
        csv=curve_data.csv_text(view),
        document=curve_data.as_json(view),
        draw=draw,
    )


def of_architecture(view: ArchitectureView) -> FigureView:
    """A drawing; nothing behind it is trained, so it is always complete."""

    def draw() -> Drawing:
        from repro.report.figures.architecture_plot import draw_architecture

        return draw_architecture(view)

    return FigureView(
        request=view.request,
        lead=view.lead,
        runs=(),
        cells=len(view.panels),
        done=len(view.panels),
        collapsed="",
        caption=architecture_text.caption(view),
        notes=tuple(architecture_text.notes(view)),
        alternative=architecture_text.alternative(view),
        csv=architecture_text.csv_text(view),
        document=architecture_text.as_json(view),
        draw=draw,
    )


def of_activations(view: ActivationsView) -> FigureView:
    """Learned activations."""

    def draw() -> Drawing:
        from repro.report.figures.activation_plot import draw_activations

        return draw_activations(view)

    return FigureView(
        request=view.request,
        lead=view.lead,
        runs=view.runs,
        cells=view.cells,
        done=view.done,
        collapsed=activation_text.constant(view),
        caption=activation_text.caption(view),
        notes=tuple(activation_text.notes(view)),
        alternative=activation_text.alternative(view),
        csv=activation_text.csv_text(view),
        document=activation_text.as_json(view),
        draw=draw,
    )
