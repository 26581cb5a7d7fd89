"""A table as Markdown, CSV and JSON, all from its frame: the same view gives the same bytes."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from repro.comparison.comparison import COLUMNS
from repro.report.captions import caption
from repro.report.layout import markdown_table, prose
from repro.report.notes import notes
from repro.report.view import TableView
from repro.server.layout import PROTOCOL
from repro.words import grouped

GAP = "—"
Layout = Literal["reproduced", "side-by-side", "difference"]
LAYOUTS: dict[Layout, str] = {
    "reproduced": "reproduced numbers only",
    "side-by-side": "published and reproduced numbers",
    "difference": "these, their difference and the verdict",
}
"""What a table shows of each cell. Where none is asked for: all that can be compared."""
SHORT = {"published": "publ.", "reproduced": "repr.", "difference": "diff."}
"""What a line shows, where there is little room."""
Cell = Mapping[str, Any]
"""A row of the comparison frame; what is missing is None."""


def number(value: float | None, digits: int = 1) -> str:
    """With as many decimals as the paper prints; a gap for None."""
    return GAP if value is None else f"{round(value, digits) + 0.0:,.{digits}f}"


def with_spread(cell: Cell) -> str:
    """The number, of several runs ± their sd (or s.e.m.); a gap where there is none."""
    if cell["mean"] is None:
        return GAP
    found = cell["sd"]
    if found is not None and cell["spread"] == "sem":
        found /= math.sqrt(cell["n"])
    spread = f" ± {found:.{cell['digits']}f}" if found is not None else ""
    return number(cell["mean"], cell["digits"]) + spread


def signed(value: float | None, digits: int = 1) -> str:
    """A difference with its sign; none of zero."""
    return GAP if value is None else f"{round(value, digits) + 0.0:+,.{digits}f}"


def count(value: int) -> str:
    """7,444,034."""
    return f"{value:,}"


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a table in words.

    Attributes:
        name: The row that the line is of (the column, in a table printed with columns as rows).
        kind: published, reproduced, external, difference or verdict.
        texts: One text a column.
        best: Whether the text is the best reproduced score of its column in this part of the table.
        first: Whether the line is the first of its row.
    """

    name: str
    kind: str
    texts: tuple[str, ...]
    best: tuple[bool, ...]
    first: bool


@dataclass(frozen=True, slots=True)
class Grid:
    """A table in words, for every format: names of its columns, and its lines."""

    corner: str
    columns: tuple[str, ...]
    lines: tuple[Line, ...]
    kinds: bool
    """Whether lines differ in what they show, so that each has to say it."""

    def head(self) -> list[str]:
        return [self.corner, *[""] * self.kinds, *self.columns]

    def body(self) -> list[list[str]]:
        return [
            [line.name if line.first else "", *[line.kind] * self.kinds, *line.texts]
            for line in self.lines
        ]

    def short(self, section: str | None) -> Grid:
        """With short names of kinds, and names of rows without that of their part of the table."""
        lead = f"{section} / "
        lines = (
            replace(line, name=line.name.removeprefix(lead), kind=SHORT.get(line.kind, line.kind))
            for line in self.lines
        )
        return replace(self, lines=tuple(lines))

    def only(self, places: Sequence[int]) -> Grid:
        lines = (
            replace(
                line,
                texts=tuple(line.texts[place] for place in places),
                best=tuple(line.best[place] for place in places),
            )
            for line in self.lines
        )
        return replace(
            self, columns=tuple(self.columns[place] for place in places), lines=tuple(lines)
        )


def grid(view: TableView, layout: Layout | None = None) -> Grid:
    return lay_out(view.records, view.table.transposed, layout)


def lay_out(cells: Sequence[Cell], transposed: bool, layout: Layout | None) -> Grid:
    """Several lines for each row, one cell a column; transposed, for each column one cell a row."""
    down, across = ("column", "row") if transposed else ("row", "column")
    marked = len({cell["task"] for cell in cells if cell["task"]}) > 1
    sizes = {cell["row"]: cell["trained_parameters"] for cell in cells}
    columns, lines, best = tuple(dict.fromkeys(cell[across] for cell in cells)), [], _best(cells)
    texts = {name: "" if size is None else count(size) for name, size in sizes.items()}
    sized = any(sizes.values()) and not transposed
    for name, own in grouped((cell[down], cell) for cell in cells).items():
        collapsed = own[0]["row_collapsed"] and not marked and not transposed
        bold = tuple(id(cell) in best for cell in own)
        for place, (kind, known) in enumerate(_kinds(own, layout, marked).items()):
            ours = kind in ("reproduced", "external")
            words = [*known, *([texts[name] if ours else ""] if sized else [])]
            looks = (bold if kind == "reproduced" else (False,) * len(own)) + (False,) * sized
            shown = name + " †" * bool(collapsed)
            lines.append(Line(shown, kind, tuple(words), looks, first=not place))
    if any(sizes.values()) and transposed:
        none = (False,) * len(columns)
        named = tuple(texts[name] for name in columns)
        lines.append(Line("Trained parameters", "", named, none, first=True))
    kinds = {line.kind for line in lines} - {"reproduced", "external", ""} != set()
    columns += ("Trained parameters",) * sized
    return Grid("" if transposed else "Model", columns, tuple(lines), kinds)


def _kinds(cells: Sequence[Cell], layout: Layout | None, marked: bool) -> dict[str, list[str]]:
    published = [_published(cell, layout) for cell in cells]
    verdicts = [verdict(cell) for cell in cells]
    known: dict[str, list[str]] = {}
    if layout != "reproduced" and set(published) - {"", GAP}:
        known["published"] = published
    if {cell["measure"] for cell in cells} == {"external"}:
        known["external"] = [with_spread(cell) for cell in cells]
    elif not known or any(cell["verdict"] or cell["n"] or cell["words"] for cell in cells):
        known["reproduced"] = [_reproduced(cell, marked) for cell in cells]
    if layout in (None, "difference"):
        if any(cell["difference"] is not None for cell in cells):
            known["difference"] = [signed(cell["difference"], cell["digits"]) for cell in cells]
        if any(verdicts):
            known["verdict"] = verdicts
    return known


def _best(cells: Sequence[Cell]) -> set[int]:
    """The ids of the cells with the best reproduced score of their column in a part of the table,
    if there are several: of models of the paper's, to the digits that are shown.
    """
    found: set[int] = set()
    scored = (
        cell
        for cell in cells
        if cell["kind"] in ("score", "mean") and cell["measure"] == "score"
        if cell["mean"] is not None and not cell["reference"]
    )
    for own in grouped(((cell["section"], cell["column"]), cell) for cell in scored).values():
        shown = [round(cell["mean"], cell["digits"]) for cell in own]
        if len(own) > 1:
            found |= {id(c) for c, one in zip(own, shown, strict=True) if one == max(shown)}
    return found


def _reproduced(cell: Cell, marked: bool) -> str:
    if cell["words"] is not None:
        return str(cell["words"])
    if cell["verdict"] == "GAP" and cell["kind"] == "mean":
        return f"{GAP} ({cell['reason'].split()[0]})"
    return with_spread(cell) + " †" * bool(cell["collapsed"] and marked)


def verdict(cell: Cell) -> str:
    """The verdict, but for a gap and what cannot be compared: their cells say so themselves."""
    return "" if cell["verdict"] in (None, "GAP", "NOT COMPARABLE") else str(cell["verdict"])


def _published(cell: Cell, layout: Layout | None) -> str:
    """The printed number; at smoke scale, where no layout asks for it, only if it is compared."""
    if layout is None and cell["scale"] == "smoke" and not verdict(cell):
        return ""
    if cell["published_words"] is not None:
        return str(cell["published_words"])
    places = cell["digits"]
    if cell["kind"] == "fact" and cell["decimals"] is not None:
        places = min(places, cell["decimals"])
    spread = f" ± {cell['published_sd']:.1f}" if cell["published_sd"] is not None else ""
    return number(cell["published"], places) + spread


def without_difference(view: TableView, layout: Layout | None) -> list[str]:
    """Why a table with differences, which somebody asked for, has none."""
    if layout != "difference" or any(one["difference"] is not None for one in view.records):
        return []
    if any(one["published"] is not None and one["mean"] is not None for one in view.records):
        return ["No differences: at smoke scale, model and data are not the paper's."]
    return ["No differences: no cell has a published and a reproduced number."]


def markdown(view: TableView, layout: Layout | None = None) -> str:
    """Caption, table and notes. Each row has a line for each kind of number that it shows."""
    shown = grid(view, layout)
    said = f"**{view.table.id}.** {prose(caption(view))}"
    lines = [said, "", *markdown_table(shown.head(), shown.body(), left=1 + shown.kinds)]
    footnotes = [f"- {prose(note)}" for note in (*without_difference(view, layout), *notes(view))]
    return "\n".join([*lines, "", *footnotes]) + "\n"


OF_A_TABLE: dict[str, tuple[str, Callable[[TableView], Any]]] = {
    "id": ("the table", lambda view: view.table.id),
    "scale": ("the scale that it was reproduced at", lambda view: view.request.scale),
    "protocol": (
        f"how it is scored (`{PROTOCOL}` with `--server`)",
        lambda view: PROTOCOL if view.request.server else view.table.protocol,
    ),
    "spread": (
        "what stands after ± in the printed table, and in `published.sd`",
        lambda view: view.table.spread,
    ),
    "statistic": (
        "what a number is of its runs: `mean` or `median`",
        lambda view: view.table.statistic,
    ),
    "caption": ("the sentences above the printed table", caption),
    "columns": (
        "names, in order",
        lambda view: [column.name for column in view.table.shown(view.request)],
    ),
    "rows": ("one object a row of the table", lambda view: list(_rows(view))),
    "complete": (
        "cells that all seeds stand behind, of all that were asked for",
        lambda view: f"{view.done}/{view.cells}",
    ),
    "notes": ("the lines below the printed table", notes),
}
"""Member of the object of `table --json` -> what it is, and how it is made."""


def as_json(view: TableView) -> dict[str, Any]:
    """The object of `table --json`; docs/json.md describes it."""
    return {name: make(view) for name, (_, make) in OF_A_TABLE.items()}


def _tree() -> dict[str, Any]:
    """The object of a row: member -> column of the frame, or the object that stands there."""
    tree: dict[str, Any] = {}
    for name, column in COLUMNS.items():
        *parents, last = column.json.split(".")
        inner = tree
        for parent in parents:
            inner = inner.setdefault(parent, {})
        inner[last] = name
    tree.pop("")
    return tree


def _rows(view: TableView) -> Iterator[dict[str, Any]]:
    """The rows of the table, each with its cells, as the columns of the frame declare it."""
    of_row = _tree()
    of_cell = of_row.pop("cells")
    for cells in grouped((cell["row"], cell) for cell in view.records).values():
        row = {name: _filled(own, cells[0]) for name, own in of_row.items()}
        found = [{name: _filled(own, cell) for name, own in of_cell.items()} for cell in cells]
        yield row | {"cells": found}


def _filled(tree: str | dict[str, Any], cell: Cell) -> Any:
    """The value of a column, or an object of several; None where none of them has a value."""
    if isinstance(tree, str):
        return cell[tree]
    members = {name: _filled(own, cell) for name, own in tree.items()}
    if all(own is None for own in members.values()):
        return None
    return [*members.values()] if "0" in members else members


def json_text(document: Any) -> str:
    return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def csv_text(view: TableView) -> str:
    """The frame, one cell a line: what is missing is empty; `values` and `runs` are separated by
    spaces, `chosen` is JSON.
    """

    def text(name: str, value: Any) -> Any:
        if name == "chosen":
            return value and json.dumps(value, sort_keys=True)
        return " ".join(map(str, value)) if isinstance(value, list) else value

    return csv_of(COLUMNS, ([text(*item) for item in cell.items()] for cell in view.records))


def csv_of(columns: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    """Rows as CSV; what is None is empty."""
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(columns)
    lines.writerows(rows)
    return text.getvalue()
