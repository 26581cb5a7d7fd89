"""Printed means and numbers of parameters against what a table declares of its columns and models.

For the papers without a module of checks; a further paper gets these checks with its table.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from repro.audit.finding import Finding
from repro.audit.means import averaged, averages
from repro.audit.numbers import Cell, Numbers, cells_of, of_table, slug
from repro.methods.inside import InsideEncoder
from repro.papers.published import UNITS
from repro.papers.registry import TABLES
from repro.papers.request import Request
from repro.papers.tables import Fact, Mean, Row, Table
from repro.spec import RunSpec

PARAMETERS = "parameters"
"""The metric of a printed number of parameters."""


def check(numbers: Numbers, without: Collection[str]) -> list[Finding]:
    """Means and counts of every table, but for those of the papers `without`."""
    tables = [table for table in TABLES.values() if table.paper not in without and table.published]
    return [
        found for table in tables for found in (*_means(table, numbers), *_counts(table, numbers))
    ]


def _means(table: Table, numbers: Numbers) -> Iterator[Finding]:
    """Printed means against the printed scores that they are of."""
    cells = of_table(numbers, table.published)
    for mean in table.columns:
        if not isinstance(mean, Mean) or not mean.published_column or table.transposed:
            continue
        others = [
            column.published_column
            for column in table.columns
            if isinstance(column, Fact | Mean) or column.name in mean.without
        ]
        kept = cells[(cells["column"] == mean.published_column) | ~cells["column"].isin(others)]
        name, prefix = f"{mean.name} of {table.id}", slug(f"{table.id} {mean.name}")
        yield from averages(table.paper, name, prefix, averaged(kept, mean.published_column))


def _counts(table: Table, numbers: Numbers) -> Iterator[Finding]:
    """Each model's numbers of parameters, wherever the paper prints them, against its modules."""
    request = Request(table.id, "paper", 1)
    own = numbers[(numbers["paper"] == table.paper) & (numbers["metric"] == PARAMETERS)]
    for fact in table.columns:
        if not isinstance(fact, Fact) or fact.published_metric != PARAMETERS or fact.counted:
            continue
        matrix = table.matrix(request)
        for row in table.trained:
            printed = cells_of(own[own["row"] == row.published])
            specs = matrix.of(row.name, fact.name)
            if printed and specs:
                yield from _of_model(table, row, printed, specs[0])


def _of_model(table: Table, row: Row, printed: list[Cell], spec: RunSpec) -> Iterator[Finding]:
    """An error where a number fits no part of the model, a doubt where numbers are of two parts."""
    counts = {"all that is trained": spec.trained_parameters()}
    if isinstance(spec.method, InsideEncoder):
        counts["what is added to the encoder"] = spec.method.added_parameters(spec.backbone)
    fits = {
        cell: next((part for part, count in counts.items() if _prints(cell, count)), "")
        for cell in printed
    }
    said = ", ".join(f"{part} {count:,}" for part, count in counts.items())
    for cell, part in fits.items():
        if not part:
            text = f"{row.name} of {table.id} is printed with {cell.printed} parameters; its"
            text += f" modules have {next(iter(counts.values())):,}."
            id = f"{slug(table.id)}-count-{slug(f'{row.name} {cell.printed}')}"
            yield Finding(id, table.paper, "error", text, said, cell.source)
    if len(set(fits.values())) > 1 and all(fits.values()):
        numbers = " and with ".join(cell.printed for cell in fits)
        of = "; ".join(f"{cell.printed}: {part}, {counts[part]:,}" for cell, part in fits.items())
        yield Finding(
            f"{slug(table.id)}-counts-{slug(row.name)}", table.paper, "doubt",
            f"{row.name} of {table.id} is printed with {numbers} trained parameters: they are of "
            "different parts of the model.",
            of, "; ".join(dict.fromkeys(cell.source for cell in fits)),
        )  # fmt: skip


def _prints(cell: Cell, count: int) -> bool:
    """Whether a count is printed so, rounded or cut: 887,042 as 0.9M or 0.8M."""
    zeros = UNITS.get(cell.printed[-1:], 0) - cell.decimals
    steps = count / 10.0**zeros
    return round(cell.value / 10.0**zeros) in (round(steps), int(steps))
