"""The kinds of figures, one module each: the one place that lists them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from repro.papers.registry import AnyFigure
from repro.papers.request import Request
from repro.report.figures import ablation, activations, architecture, curves, embeddings
from repro.report.figures.view import FigureView
from repro.store.store import Store

KINDS: dict[str, Callable[[Any, Request, Store], FigureView]] = {
    "heat map": ablation.view_of,
    "curves": curves.view_of,
    "activations": activations.view_of,
    "embeddings": embeddings.view_of,
    "architecture": architecture.view_of,
}
"""What a figure calls its kind -> what lays the store's results out."""


def view_figure(figure: AnyFigure, request: Request, store: Store) -> FigureView:
    """The figure as it stands in the store."""
    return KINDS[figure.kind](figure, request, store)
