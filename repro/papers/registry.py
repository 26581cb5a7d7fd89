"""Every table there is, by id."""

from __future__ import annotations

from repro.errors import UnknownName
from repro.papers.resadapters.tables import ONE, TWO
from repro.papers.tables import Artefact, Table

TABLES: dict[str, Table] = {table.id: table for table in (ONE, TWO)}


def find_table(given: str) -> Table:
    """The table called `given`, in any case; an unknown id names the closest ones."""
    by_lower = {name.lower(): table for name, table in TABLES.items()}
    if given.lower() not in by_lower:
        raise UnknownName("table", given, TABLES)
    return by_lower[given.lower()]


ARTEFACTS: dict[str, Artefact] = {**TABLES}
"""Every table and figure, by id: whatever a request can name."""
