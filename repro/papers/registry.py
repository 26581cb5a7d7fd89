"""Every table and figure there is, by id."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from repro.errors import ReproError, UnknownName
from repro.papers.activations import Activations
from repro.papers.adaptable_adapters import tables as adaptable
from repro.papers.adaptable_adapters.data import ONE as ADAPTABLE_ONE
from repro.papers.adaptable_adapters.figures import ACTIVATIONS
from repro.papers.architecture import Architecture
from repro.papers.curves import Curves
from repro.papers.embeddings import Embeddings
from repro.papers.figures import Figure
from repro.papers.houlsby import further as houlsby_further
from repro.papers.houlsby import tables as houlsby
from repro.papers.houlsby.figures import CURVES
from repro.papers.hyperformer import tables as hyperformer
from repro.papers.hyperformer.embedding_figure import TASK_EMBEDDINGS
from repro.papers.hyperformer.figures import LOW_RESOURCE
from repro.papers.matrix import Artefact
from repro.papers.peters import tables as peters
from repro.papers.resadapters import tables as resadapters
from repro.papers.resadapters.figures import ARCHITECTURE
from repro.papers.tables import Table
from repro.papers.three_shared import further as three_shared_further
from repro.papers.three_shared import tables as three_shared
from repro.papers.three_shared.figures import ABLATION

TABLES: dict[str, Table] = {
    table.id: table
    for table in (
        resadapters.ONE, resadapters.TWO, houlsby.ONE, three_shared.ONE, three_shared.TWO,
        houlsby_further.TWO, three_shared_further.THREE,
        peters.ONE,
        hyperformer.ONE, hyperformer.TWO, hyperformer.FOUR,
        ADAPTABLE_ONE, adaptable.TWO, adaptable.THREE, adaptable.FOUR, adaptable.FIVE,
    )
}  # fmt: skip
AnyFigure = Figure | Curves | Architecture | Activations | Embeddings
FIGURES: dict[str, AnyFigure] = {
    figure.id: figure
    for figure in (ABLATION, *CURVES, ARCHITECTURE, ACTIVATIONS, LOW_RESOURCE, TASK_EMBEDDINGS)
}
ARTEFACTS: dict[str, Artefact] = {**TABLES, **FIGURES}
"""Every table and figure, by id: whatever a request can name."""

Kind = TypeVar("Kind")


def find_table(given: str) -> Table:
    """The table called `given`, in any case; an unknown id names the closest ones, a figure's the
    verb that draws it.
    """
    for name in FIGURES:
        if name.lower() == given.lower():
            raise ReproError(f"{name} is a figure, not a table: python -m repro figure {name}.")
    return _find("table", given, TABLES)


def find_figure(given: str) -> AnyFigure:
    """The figure called `given`, in any case; an unknown id names the closest ones."""
    return _find("figure", given, FIGURES)


def find_artefact(given: str) -> Artefact:
    """The table or figure called `given`, in any case; an unknown id names the closest ones."""
    return _find("table or figure", given, ARTEFACTS)


def _find(kind: str, given: str, known: Mapping[str, Kind]) -> Kind:
    for name, found in known.items():
        if name.lower() == given.lower():
            return found
    raise UnknownName(kind, given, known)
