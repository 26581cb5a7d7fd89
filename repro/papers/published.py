"""Published numbers: typed CSV files beside the paper that printed them, one cell a row.

| column | what it holds |
|---|---|
| table, row, column, metric | which cell it is; `table` is the name of the file |
| kind | `score`, `count`, `share` (in percent), `ratio` (a multiple of a model's size), `number` \
(a setting, or a function's value); `list` (several numbers) and `words` have no value |
| value | a plain number, in whole units: 40000 where the paper prints "40k" |
| sd | the number after ±: the standard deviation over runs, unless `metric` or `note` says \
that it is a standard error or the error of reading a picture |
| n | the number of runs that the value is the mean or the best of |
| decimals | digits after the decimal point as printed: 1 for "1.5k" |
| printed | the cell as the paper prints it, where that differs from `value`: "9.0x", "40k"; for \
a `list` its numbers, separated by commas; for `words` the words |
| bound | `about`, `above` or `within`, if the value is not exact |
| note | a remark |
| source | who printed it |
| x | only in files with points of a figure: where the point is on the horizontal axis, as the \
paper states it (a number, its decimal logarithm or a share; `row` or `column` says which) |
"""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from repro.errors import ReproError
from repro.strict import number_of

COLUMNS = [
    "table", "row", "column", "metric", "kind", "value", "sd", "n", "decimals", "printed", "bound",
    "note", "source",
]  # fmt: skip
OF_POINTS = [*COLUMNS, "x"]
"""The header of a file with points of a figure."""
KINDS = ("score", "count", "share", "ratio", "number", "list", "words")
BOUNDS = ("", "about", "above", "within")
UNITS = {"k": 3, "K": 3, "M": 6, "B": 9}
"""Letter after a printed number -> zeros that it stands for."""


@dataclass(frozen=True, slots=True)
class Published:
    """One cell, with the columns of its file. `text` is the cell as the paper prints it."""

    row: str
    column: str
    metric: str
    value: float | None
    text: str
    sd: float | None
    n: int | None
    source: str
    kind: str = "score"
    decimals: int = 0
    bound: str = ""
    note: str = ""
    x: float | None = None

    @property
    def places(self) -> int:
        """Digits after the decimal point to which `value` is known: -5 of a printed 0.8M."""
        unit = re.search(r"\d([kKMB])\b", self.text)
        return self.decimals - UNITS[unit[1]] if unit else self.decimals

    @property
    def numbers(self) -> tuple[float, ...]:
        """The numbers of a list."""
        return tuple(float(part) for part in self.text.split(",")) if self.kind == "list" else ()


Cells = dict[tuple[str, str, str], Published]


@cache
def load_published(paper: str, table: str) -> Cells:
    """The cells of `table` ("RA-T1"), by (row, column, metric).

    Raises ReproError, naming file and line, for a file that is not there, a wrong header, a row of
    another table, an empty source, a number that is no number, a kind that does not fit the value,
    or two values for one cell.
    """
    name = f"{table}.csv"
    path = files(f"repro.papers.{paper}") / "published" / name
    if not path.is_file():
        raise ReproError(f"{path} is not there: it holds the published numbers of a table.")
    return parse_published(path.read_text(encoding="utf-8"), table, name)


def in_text(paper: str, table: str, row: str) -> Published:
    """A number of running text, whose row in a CSV file has a single cell."""
    for cell in load_published(paper, table).values():
        if cell.row == row:
            return cell
    raise ReproError(f"{table}.csv has no row '{row}'.")


def table_names(paper: str) -> list[str]:
    """The names of a paper's CSV files, sorted."""
    folder = files(f"repro.papers.{paper}") / "published"
    if not folder.is_dir():
        return []
    return sorted(
        entry.name.removesuffix(".csv") for entry in folder.iterdir() if entry.name[-4:] == ".csv"
    )


def parse_published(text: str, table: str, name: str) -> Cells:
    """The cells of one CSV file's text; see `load_published`."""
    reader = csv.DictReader(text.splitlines())
    if reader.fieldnames not in (COLUMNS, OF_POINTS):
        raise ReproError(f"{name}: the header is {reader.fieldnames}, expected {COLUMNS}.")
    cells: Cells = {}
    for record in reader:
        where = f"{name}, line {reader.line_num}"
        if None in record or None in record.values():
            raise ReproError(f"{where}: expected {len(reader.fieldnames)} values.")
        if record["table"] != table or not record["source"] or not record["row"]:
            raise ReproError(f"{where}: needs table '{table}', a row name and a source.")
        cell = _cell(record, where)
        key = (cell.row, cell.column, cell.metric)
        if key in cells:
            raise ReproError(f"{where}: {key} stands there twice.")
        cells[key] = cell
    return cells


def _cell(record: dict[str, str], where: str) -> Published:
    """A typed row. A mistyped score must not become a cell without a number, a seeming gap."""
    value, sd, x = (_number(record.get(name, ""), where) for name in ("value", "sd", "x"))
    kind, bound, text = record["kind"], record["bound"], record["printed"] or record["value"]
    for name, given, known in (("kind", kind, KINDS), ("bound", bound, BOUNDS)):
        if given not in known:
            choices = ", ".join(one or "empty" for one in known)
            raise ReproError(f"{where}: {name} '{given}' is none of {choices}.")
    if (value is None) != (kind in ("list", "words")) or not text:
        needs = "what is printed, and no value" if kind in ("list", "words") else "a value"
        raise ReproError(f"{where}: a cell of kind '{kind}' needs {needs}.")
    if kind == "list" and any(number_of(part.strip()) is None for part in text.split(",")):
        raise ReproError(f"{where}: '{text}' is no list of numbers, separated by commas.")
    decimals = _whole(record["decimals"], 0, "digits", where)
    digits = len(record["value"].lower().partition("e")[0].partition(".")[2])
    if value is not None and decimals != digits and (decimals is None or not record["printed"]):
        raise ReproError(f"{where}: '{record['value']}' has {digits} decimals, not {decimals}.")
    runs = _whole(record["n"], 1, "runs", where)
    return Published(
        row=record["row"],
        column=record["column"],
        metric=record["metric"],
        value=value,
        text=text,
        sd=sd,
        n=runs,
        source=record["source"],
        kind=kind,
        decimals=decimals or 0,
        bound=bound,
        note=record["note"],
        x=x,
    )


def _whole(text: str, least: int, unit: str, where: str) -> int | None:
    if text and (not (text.isascii() and text.isdecimal()) or int(text) < least):
        raise ReproError(f"{where}: '{text}' is no number of {unit}.")
    return int(text) if text else None


def _number(text: str, where: str) -> float | None:
    value = number_of(text)
    if text and value is None:
        raise ReproError(f"{where}: '{text}' is no number.")
    return value


# How far a reproduced number may lie from the printed one without changing a conclusion.
# Declared with the tables, before any result exists: at most one point, or two where a score is of
# fewer than 1,500 rows, or half of the smallest gap between two rows from which the paper concludes
# something. Half a unit of the last printed digit is added in the comparison itself.

WIDEST = 1.0
OF_FEW_ROWS = 2.0
FEW = 1_500
"""Rows below which the noise of the rows themselves is about a point."""


LAYER = 1.0
"""Of how many layers have an adapter: one more or less."""


def for_rows(scored: int) -> float:
    """The margin of a score of so many rows."""
    return OF_FEW_ROWS if scored < FEW else WIDEST


def with_rounding(margin: float, decimals: int) -> float:
    """With half a unit of the last of so many printed digits."""
    return margin + 10.0**-decimals / 2
