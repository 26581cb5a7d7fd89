"""Every table and figure there is, by id."""

from __future__ import annotations

from repro.errors import UnknownName
from repro.papers.figures import Figure
from repro.papers.resadapters.tables import ONE, TWO
from repro.papers.tables import Artefact, Table
from repro.papers.three_shared.figures import ABLATION

TABLES: dict[str, Table] = {table.id: table for table in (ONE, TWO)}


def find_table(given: str) -> Table:
    """The table called `given`, in any case; an unknown id names the closest ones."""
    by_lower = {name.lower(): table for name, table in TABLES.items()}
    if given.lower() not in by_lower:
        raise UnknownName("table", given, TABLES)
    return by_lower[given.lower()]


FIGURES: dict[str, Figure] = {figure.id: figure for figure in (ABLATION,)}


def find_figure(given: str) -> Figure:
    """The figure called `given`, in any case; an unknown id names the closest ones."""
    by_lower = {name.lower(): figure for name, figure in FIGURES.items()}
    if given.lower() not in by_lower:
        raise UnknownName("figure", given, FIGURES)
    return by_lower[given.lower()]


ARTEFACTS: dict[str, Artefact] = {**TABLES, **FIGURES}
"""Every table and figure, by id: whatever a request can name."""
