"""Checks of any paper's tables: printed means and numbers of parameters against what a table
declares of its columns and models, differences, and the same numbers in two tables.

Counts are checked so for the papers without a module of checks; a further paper gets these checks
with its table.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from itertools import product

from repro.audit.numbers import (
    SLACK,
    Cell,
    Finding,
    Numbers,
    averaged,
    averages,
    cells_of,
    of_table,
    slug,
    unit,
)
from repro.methods.inside import InsideEncoder
from repro.papers.published import UNITS
from repro.papers.registry import TABLES
from repro.papers.request import Request
from repro.papers.tables import Fact, Mean, Row, Table
from repro.spec import RunSpec

PARAMETERS = "parameters"
"""The metric of a printed number of parameters."""


AVERAGES = {
    "H19-T1": ("Total of Table 1", "houlsby-total"),
    "H19-T2": ("Average of Table 2", "houlsby-average"),
    "SR20-T2": ("Total of Table 2", "three-shared-total"),
    "SR20-T3": ("Average of Table 3", "three-shared-average"),
    "HF21-T1": ("Avg of Table 1", "hyperformer-average"),
    "AA22-T2": ("Avg of Table 2", "adaptable-average"),
}
"""CSV file -> what its averages are called, and how the ids of what is found of them begin."""


def check(numbers: Numbers, without: Collection[str]) -> Iterator[Finding]:
    """Means and differences of every table, and counts but for those of the papers `without`."""
    for table in TABLES.values():
        if table.published:
            counts = () if table.paper in without else _counts(table, numbers)
            for found in (*_means(table, numbers), *_differences(table, numbers), *counts):
                yield replace(found, paper=table.paper)


def _means(table: Table, numbers: Numbers) -> Iterator[Finding]:
    """Printed means against the printed scores that they are of."""
    cells = of_table(numbers, table.published)
    model, across = ("column", "row") if table.transposed else ("row", "column")
    for mean in table.columns:
        called_mean = isinstance(mean, Mean) or mean.published_metric.startswith("mean ")
        if not mean.published_column or not called_mean:
            continue
        left_out = mean.without if isinstance(mean, Mean) else ()
        others = [
            column.published_column
            for column in table.columns
            if isinstance(column, Fact | Mean) or column.name in left_out
        ]
        kept = cells[(cells[across] == mean.published_column) | ~cells[across].isin(others)]
        default = f"{mean.name} of {table.id}", slug(f"{table.id} {mean.name}")
        name, prefix = AVERAGES.get(table.published, default)
        yield from averages(name, prefix, averaged(kept, mean.published_column, model=model))


def _differences(table: Table, numbers: Numbers) -> Iterator[Finding]:
    """Printed differences against the numbers of the two rows that they are of."""
    cells = {cell[:3]: cell for cell in cells_of(of_table(numbers, table.published))}
    rows = {row.name: row for row in table.rows}
    for row, column in product((row for row in table.rows if row.delta), table.columns):
        own = (row, *(rows[name] for name in row.delta or ()))
        places = [table.place(one, column) for one in own]
        if not all(place in cells for place in places):
            continue
        cell, first, second = (cells[place] for place in places if place)
        exact, digits = first.value - second.value, cell.decimals
        # Each of the three is rounded: the difference of two printed numbers may be a step off.
        if abs(exact - cell.value) > unit(cell) + SLACK:
            name = row.name.removesuffix(", delta")
            text = f"{name}, {cell.column}: the difference is printed as {cell.printed}, and the "
            text += f"two scores give {exact:+.{digits}f}."
            said = f"{first.printed} - {second.printed} = {exact:.{digits}f}"
            id = slug(f"{table.paper} delta {name} {cell.column}")
            yield Finding(id, "error", text, said, cell.source)


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
            yield Finding(id, "error", text, said, cell.source)
    if len(set(fits.values())) > 1 and all(fits.values()):
        numbers = " and with ".join(cell.printed for cell in fits)
        of = "; ".join(f"{cell.printed}: {part}, {counts[part]:,}" for cell, part in fits.items())
        yield Finding(
            f"{slug(table.id)}-counts-{slug(row.name)}", "doubt",
            f"{row.name} of {table.id} is printed with {numbers} trained parameters: they are of "
            "different parts of the model.",
            of, "; ".join(dict.fromkeys(cell.source for cell in fits)),
        )  # fmt: skip


def _prints(cell: Cell, count: int) -> bool:
    """Whether a count is printed so, rounded or cut: 887,042 as 0.9M or 0.8M."""
    zeros = UNITS.get(cell.printed[-1:], 0) - cell.decimals
    steps = count / 10.0**zeros
    return round(cell.value / 10.0**zeros) in (round(steps), int(steps))


FEWEST = 3
"""Equal numbers that are no chance."""
ALIASES = {
    "sa sst-2": "sst-2", "sst": "sst-2", "mnlim": "mnli", "mnli(m)": "mnli", "mnlimm": "mnli(mm)",
}  # fmt: skip
"""One task under several names."""
TRANSPOSED = ("H19-T2", "SR20-T3")
"""Tables whose rows are tasks and whose columns are models."""
UPRIGHT = ("H19-T1", "SR20-T2", "PRS19-T-reprint", "HF21-T1", "RA-probe", "RA-T1", "RA-T2")
SEVERAL = ("HF21-T1", "RA-probe", "RA-T1", "RA-T2")
"""Tables with several metrics of one task."""
DERIVED = "average|total|avg|#|trained|delta"
"""What is no score of a model: such rows and columns are left out."""


def copies(numbers: Numbers) -> Iterator[Finding]:
    """Models of two tables that agree in at least three numbers and most of those that both have;
    told once, of the later table in the frame.
    """
    scores = _scores(numbers)
    pairs = scores.merge(scores, on="task", suffixes=("", "_other"))
    later = pairs["series"] < pairs["series_other"]
    pairs = pairs[later & (pairs["table"] != pairs["table_other"])].sort_values("place_other")
    digits = pairs[["decimals", "decimals_other"]].min(axis=1)
    numbers = zip(pairs["value"], pairs["value_other"], digits, strict=True)
    pairs["same"] = [round(one, n) == round(other, n) for one, other, n in numbers]
    for _, shared in pairs.groupby(["series", "series_other"]):
        same = shared[shared["same"]]
        if len(same) < FEWEST or 2 * len(same) <= len(shared):
            continue
        one, said = same.iloc[0], ", ".join(same["task"] + " " + same["printed_other"])
        yield Finding(
            f"copy-{one['table_other']}-{one['table']}".lower(), "doubt",
            f"{one['model_other']} ({one['table_other']}) and {one['model']} ({one['table']}) "
            f"have the same number in {len(same)} of {len(shared)} places: one is copied, or "
            "both are.",
            f"both: {said}", f"{one['source_other']}; {one['source']}", one["paper_other"],
        )  # fmt: skip


def _scores(numbers: Numbers) -> Numbers:
    """Scores of models with a `task`, and the number of the `series` that a model's scores are."""
    scores = numbers[numbers["table"].isin((*TRANSPOSED, *UPRIGHT))]
    names = (scores["row"] + " " + scores["column"]).str.lower()
    scores = scores[~names.str.contains(DERIVED)]
    turned = scores["table"].isin(TRANSPOSED)
    task = scores["row"].where(turned, scores["column"]).str.lower().replace(ALIASES)
    metric = " " + scores["metric"].str.partition(" ")[0]
    scores = scores.assign(
        model=scores["column"].where(turned, scores["row"]),
        task=task + metric.where(scores["table"].isin(SEVERAL), ""),
        place=range(len(scores)),
    ).drop_duplicates(["paper", "table", "model", "task"], keep="last")
    return scores.assign(series=scores.groupby(["paper", "table", "model"], sort=False).ngroup())
