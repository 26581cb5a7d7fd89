"""All published numbers as one tidy frame."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from repro.papers.names import PAPERS
from repro.papers.published import load_published, table_names
from repro.papers.registry import FIGURES, TABLES, find_artefact
from repro.papers.tables import Table

if TYPE_CHECKING:
    import pandas

DTYPES = {
    "artefact": "string", "paper": "string", "table": "string", "row": "string",
    "column": "string", "metric": "string", "kind": "category", "value": "float64",
    "sd": "float64", "n": "Int64", "decimals": "Int64", "printed": "string", "bound": "string",
    "words": "string", "note": "string", "source": "string", "x": "float64",
}  # fmt: skip
DRAWN = {
    "SR20-F8": "ablation-heatmap",
    "H19-F1-digitised": "tradeoff-glue",
    "AA22-F3-digitised": "learned-activations",
}
"""The CSV files that a figure draws whole -> the figure."""
Key = tuple[str, str, str, str, str]
"""Paper, CSV file, row, column, metric."""


def published_frame(artefact: str | None = None) -> pandas.DataFrame:
    """One row for each published number, in the order of papers and files.

    Args:
        artefact: the id of a table, or of a figure that draws a whole CSV file, in any case: only
            the numbers that it shows. The few points that other figures quote are numbers of
            running text, which belong to no artefact.

    Returns:
        A frame with the columns of the CSV files (see `repro.papers.published`), and

        - `artefact`: the table or figure here that shows the number, the first of several; <NA>
          for a number of running text, and for one that no artefact shows.
        - `paper`: the folder of `repro.papers`. `table`: the name of the CSV file.
        - `words`: what is printed in place of one number, for kinds `words` and `list`.

        `value`, `sd` and `x` are float64, `n` and `decimals` Int64, `kind` is a category, the rest
        strings; what is absent is missing (NaN or <NA>), never "".

    Raises:
        UnknownName: no table or figure has this id.
    """
    import pandas

    if artefact is not None:
        artefact = find_artefact(artefact).id
    shown = _shown(artefact)
    rows = [
        asdict(cell)
        | {
            "artefact": shown.get((paper, table, *key)),
            "paper": paper,
            "table": table,
            "decimals": cell.decimals if cell.value is not None else None,
            "printed": cell.text,
            "words": cell.text if cell.value is None else None,
            "bound": cell.bound or None,
            "note": cell.note or None,
        }
        for paper in PAPERS
        for table in table_names(paper)
        for key, cell in load_published(paper, table).items()
        if artefact is None or (paper, table, *key) in shown
    ]
    frame = pandas.DataFrame(rows, columns=list(DTYPES)).astype(DTYPES)
    return frame.assign(column=frame["column"].replace("", pandas.NA))


def _shown(artefact: str | None) -> dict[Key, str]:
    """Number -> the first table or figure that shows it."""
    found: dict[Key, str] = {}
    for table in TABLES.values():
        if artefact in (None, table.id):
            for key in _of_table(table):
                found.setdefault(key, table.id)
    for name, figure in DRAWN.items():
        if artefact in (None, figure):
            paper = FIGURES[figure].paper
            found |= {(paper, name, *key): figure for key in load_published(paper, name)}
    return found


def _of_table(table: Table) -> list[Key]:
    """The numbers of a CSV file that a table shows; a recomputed mean is in none."""
    known = load_published(table.paper, table.published) if table.published else {}
    places = (table.place(row, column) for row in table.rows for column in table.columns)
    return [(table.paper, table.published, *place) for place in places if place in known]
