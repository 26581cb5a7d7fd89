"""Verdicts, numbers, names and addresses as the site shows them; no verdict by colour alone."""

from __future__ import annotations

import re
from dataclasses import dataclass

from markupsafe import Markup, escape

from repro.papers.registry import FIGURES
from repro.papers.request import Request
from repro.papers.tables import Table
from repro.report.files import table_name
from repro.report.layout import LABEL_MARK
from repro.report.render import Cell, number, signed
from repro.stats.verdicts import MEANINGS, SIGNS, Verdict


@dataclass(frozen=True, slots=True)
class Word:
    """A verdict: its name in the style sheet, its sign and word, the SVG path of its mark."""

    css: str
    sign: str
    text: str
    mark: str
    meaning: str


CIRCLE = "M-4.5,0a4.5,4.5 0 1,0 9,0a4.5,4.5 0 1,0 -9,0z"
DIAMOND = "M0,-5.5L5.5,0L0,5.5L-5.5,0z"
MARKS: dict[Verdict, str] = {
    "MATCH": CIRCLE, "LOWER": "M0,5.5L5.5,-4.5L-5.5,-4.5z", "HIGHER": "M0,-5.5L5.5,4.5L-5.5,4.5z",
    "DIFFERS": DIAMOND, "UNDECIDED": DIAMOND, "SINGLE": "M-4,-4H4V4H-4z", "NOT COMPARABLE": CIRCLE,
    "GAP": CIRCLE,
}  # fmt: skip
"""In the order of the legend."""
WORDS: dict[str, Word] = {
    name: Word(name.lower().replace(" ", "-"), SIGNS[name], name.lower(), mark, MEANINGS[name])
    for name, mark in MARKS.items()
}


def minus(text: str) -> str:
    """With a real minus sign, as wide as the plus."""
    return text.replace("-", "−")


def difference(value: float | None, digits: int = 1) -> str:
    """A difference with its sign; "" for None."""
    return "" if value is None else minus(signed(value, digits))


def interval(ends: tuple[float, float], digits: int = 1) -> str:
    """−1.2 to +0.4"""
    return f"{difference(ends[0], digits)} to {difference(ends[1], digits)}"


def printed(cell: Cell) -> str:
    """The published number with its spread, at least with the digits that tables show of a score;
    words as they stand.
    """
    if cell["published"] is None:
        return cell["published_words"] or ""
    least = 0 if cell["kind"] == "fact" else cell["digits"]
    spread = f" ± {cell['published_sd']:g}" if cell["published_sd"] is not None else ""
    return minus(number(cell["published"], max(least, cell["decimals"]))) + spread


def label(text: str) -> Markup:
    """A row's or column's name as the paper sets it: ^uni high, _BASE low, a dagger as its sign."""

    def set_high_or_low(found: re.Match[str]) -> str:
        tag = "sup" if found["high"] else "sub"
        return f"<{tag}>{found['high'] or found['low']}</{tag}>"

    text = text.replace(" dagger", "†")
    return Markup(LABEL_MARK.sub(set_high_or_low, str(escape(text))))


def page_of(request: Request) -> str:
    """tables/ResAdapters-1.reduced.html"""
    folder = "figures" if request.id in FIGURES else "tables"
    return f"{folder}/{table_name(request)}.html"


def run_page(key: str) -> str:
    """runs/KEY.html"""
    return f"runs/{key}.html"


def cell_id(table: Table, cell: Cell) -> str:
    """The anchor of a cell, by its place in the table as data."""
    row = [row.name for row in table.rows].index(cell["row"])
    column = [column.name for column in table.columns].index(cell["column"])
    return f"cell-{row + 1}-{column + 1}"
