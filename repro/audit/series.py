"""The models of all tables, as series of numbers that may be copies of each other."""

from __future__ import annotations

from collections.abc import Mapping

from repro.audit.copies import Series
from repro.audit.numbers import Tables
from repro.papers.published import Cells, Published

ALIASES = {
    "sa sst-2": "sst-2", "sst": "sst-2", "mnlim": "mnli", "mnli(m)": "mnli", "mnlimm": "mnli(mm)",
}  # fmt: skip
"""One task under several names."""
TRANSPOSED = ("H19-T2", "SR20-T3")
"""Tables whose rows are tasks and whose columns are models."""
UPRIGHT = ("H19-T1", "SR20-T2", "PRS19-T-reprint", "HF21-T1", "RA-probe", "RA-T1", "RA-T2")
DERIVED = ("average", "total", "avg", "#", "trained", "delta")
"""What is no score of a model: such rows and columns are left out."""


def all_series(papers: Mapping[str, Tables]) -> list[Series]:
    """Every model of every table of scores, in the order of papers and tables."""
    return [
        one
        for paper, tables in papers.items()
        for name in sorted(tables)
        if name in (*TRANSPOSED, *UPRIGHT)
        for one in _series(paper, name, tables[name])
    ]


def _series(paper: str, table: str, cells: Cells) -> list[Series]:
    found: dict[str, dict[str, Published]] = {}
    for cell in cells.values():
        model, task = (cell.column, cell.row) if table in TRANSPOSED else (cell.row, cell.column)
        derived = any(word in f"{model} {task}".lower() for word in DERIVED)
        if not derived and cell.value is not None:
            found.setdefault(model, {})[_key(task, cell, table)] = cell
    return [Series(paper, table, model, known) for model, known in found.items()]


def _key(task: str, cell: Published, table: str) -> str:
    """The task; with its metric where a table has several of one task."""
    name = ALIASES.get(task.lower(), task.lower())
    several = table.startswith(("RA", "HF21"))
    return f"{name} {cell.metric.split(' ')[0]}" if several else name
