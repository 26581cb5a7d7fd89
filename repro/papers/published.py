"""Published numbers: CSV files beside the paper that printed them, one source a row."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from repro.errors import ReproError
from repro.strict import number_of

COLUMNS = ["table", "row", "column", "metric", "value", "std", "n_seeds", "source"]

WORDS = {
    "0-based layer ids", "GPU", "definition", "formula", "hyperparameter", "layers", "m,n",
    "metric", "model", "models", "of 24", "percent range", "pi", "rule", "seeds", "shape",
    "statement", "sweep", "text",
}  # fmt: skip
"""Metrics (a remark in parentheses left out) of what papers state in words or several numbers."""
SEVERAL = r"\d\S* (to|;) \d|\d, \d"
"""900 to 330k; 0.4 ; 96.4; 100, 300, 500."""


@dataclass(frozen=True, slots=True)
class Published:
    """One printed number. `text` is the cell as the CSV holds it ("3000000 (approx. 3M)")."""

    row: str
    column: str
    metric: str
    value: float | None
    text: str
    sd: float | None
    n: int | None
    source: str

    @property
    def decimals(self) -> int:
        """Digits printed behind the point: 2 of "1.19x", 1 of "77.8 +/- 0.1", 0 of "100%"."""
        found = re.match(r"\D*\d+\.(\d+)", self.text)
        return len(found[1]) if found else 0


Cells = dict[tuple[str, str, str], Published]


@cache
def load_published(paper: str, table: str) -> Cells:
    """The numbers of `table` ("RA-T1"), by (row, column, metric).

    Raises ReproError, naming file and line, for a wrong header, a row of another table, an empty
    source, a value that is no number, or two values for one cell.
    """
    name = f"{table}.csv"
    lines = (files("repro.papers") / paper / "published" / name).read_text(encoding="utf-8")
    return parse_published(lines, table, name)


def parse_published(text: str, table: str, name: str) -> Cells:
    """The cells of one CSV file's text; see `load_published`."""
    reader = csv.DictReader(text.splitlines())
    if reader.fieldnames != COLUMNS:
        raise ReproError(f"{name}: the header is {reader.fieldnames}, expected {COLUMNS}.")
    cells: Cells = {}
    for record in reader:
        where = f"{name}, line {reader.line_num}"
        if None in record or None in record.values():
            raise ReproError(f"{where}: expected {len(COLUMNS)} values.")
        if record["table"] != table or not record["source"] or not record["row"]:
            raise ReproError(f"{where}: needs table '{table}', a row name and a source.")
        cell = Published(
            row=record["row"],
            column=record["column"],
            metric=record["metric"],
            value=_value(record["value"], record["metric"], where),
            text=record["value"],
            sd=_number(record["std"], where),
            n=_runs(record["n_seeds"], where),
            source=record["source"],
        )
        key = (cell.row, cell.column, cell.metric)
        if key in cells:
            raise ReproError(f"{where}: {key} stands there twice.")
        cells[key] = cell
    return cells


def _runs(text: str, where: str) -> int | None:
    """The number of runs behind a printed value: a whole number from 1, or blank."""
    if text and (not (text.isascii() and text.isdecimal()) or int(text) < 1):
        raise ReproError(f"{where}: '{text}' is no number of runs.")
    return int(text) if text else None


def _number(text: str, where: str) -> float | None:
    if text == "":
        return None
    value = number_of(text)
    if value is None:
        raise ReproError(f"{where}: '{text}' is no number.")
    return value


def _value(text: str, metric: str, where: str) -> float | None:
    """The number of a cell; None only for words (see `WORDS`) and
    for several numbers.

    A mistyped score must not become a cell without a number, which would look like a gap.
    """
    if text == "":
        raise ReproError(f"{where}: the value is empty; a missing number has no row.")
    if re.search(SEVERAL, text):
        return None
    value = _leading_number(text, metric)
    if value is None and not is_words(metric):
        raise ReproError(f"{where}: '{text}' is no number.")
    return value


def is_words(metric: str) -> bool:
    """Whether cells of this metric may hold words or several numbers."""
    return metric.partition(" (")[0] in WORDS


def _leading_number(text: str, metric: str) -> float | None:
    """0.5 of "0.5", 3000000 of "3000000 (approx. 3M)", 77.8 of "77.8 +/- 0.1", 2.1 of "2.1%".

    A multiple of a size may end in x ("9.0x") or be a sum ("1+8x0.01" is 1.08), a number of
    parameters in k or M, a share may be a bound ("within 1", "about 50"). None of what begins
    otherwise ("above 5 (Table 2 shows 8)").
    """
    summed = re.fullmatch(r"(\d+)\+(\d+)x(\d+\.\d+)", text.strip(), re.ASCII)
    if metric.startswith("x ") and summed:
        base, times, each = summed.groups()
        return float(base) + float(times) * float(each)
    unit = "x?" if metric.startswith("x ") else "[kM]?" if metric == "parameters" else ""
    bound = "(?:within |about )?" if metric == "percent" else ""
    pattern = rf"{bound}([-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?)({unit})(?=$|\s|%)"
    found = re.match(pattern, text.strip(), re.IGNORECASE | re.ASCII)
    if found is None:
        return None
    return float(found[1]) * {"k": 1e3, "m": 1e6}.get(found[2].lower(), 1)
