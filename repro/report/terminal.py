"""A table on a terminal: no wider than that, with coloured verdicts."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from itertools import groupby, zip_longest
from typing import TYPE_CHECKING

from repro.report.captions import caption
from repro.report.notes import notes
from repro.report.render import Grid, Layout, Line, grid, without_difference
from repro.report.view import TableView
from repro.stats.verdicts import MEANINGS, SIGNS
from repro.words import counted

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

COLOURS = {
    "MATCH": "green", "LOWER": "red", "HIGHER": "red", "DIFFERS": "red", "UNDECIDED": "yellow",
    "SINGLE": "cyan",
}  # fmt: skip
NAME, NARROW = 24, 8
"""The most characters of a row's name on one line, and the fewest; the rest of it stands below."""
SPACE = 2
"""Between two columns."""


def show(
    view: TableView, console: Console, layout: Layout | None = None, *, with_notes: bool = False
) -> None:
    """Prints caption, table and what its verdicts mean, and the notes where they are asked for.

    Columns that the terminal is too narrow for are left out and named.
    """
    sections = {row.row.section for row in view.rows}
    whole = grid(view, layout).short(sections.pop() if len(sections) == 1 else None)
    shown = whole.only(fitting(whole, console.width))
    left = [name for name in whole.columns if name not in shown.columns]
    said = notes(view)
    chosen = "--row NAME" if view.table.transposed else "--column NAME"
    below = [
        f"Left out, as the terminal is {console.width} characters wide: {', '.join(left)}. To see "
        f"all: --format md; one of the table's own alone: {chosen}."
    ] * bool(left)
    words = {text for line in shown.lines if line.kind == "verdict" for text in line.texts}
    below += [f"{SIGNS[word]} {word}: {text}." for word, text in MEANINGS.items() if word in words]
    below += without_difference(view, layout)
    below += [f"- {note}" for note in said] if with_notes else []
    below += [f"To see {counted(len(said), 'note')} on this table: --notes."] * (
        bool(said) and not with_notes
    )
    table = _table(shown, _names(whole, console.width), console.width)
    for part in (f"{view.table.id}. {caption(view)}", "", table, "", *below):
        console.print(part, highlight=False, markup=False)


def fitting(whole: Grid, width: int) -> list[int]:
    """The places of the columns that fit beside the names, from the first one; at least one."""
    left = width - _names(whole, width) - _kinds(whole)
    found: list[int] = []
    for place in range(len(whole.columns)):
        left -= SPACE + _width(whole, place)
        if left < 0 and found:
            break
        found.append(place)
    return found


def _names(whole: Grid, width: int) -> int:
    """Characters for the names of rows, fewer where the first column would not fit beside them."""
    room = width - _kinds(whole) - SPACE - _width(whole, 0)
    return max(NARROW, min(NAME, room, max(len(line.name) for line in whole.lines)))


def _kinds(shown: Grid) -> int:
    return max(SPACE + len(line.kind) for line in shown.lines) if shown.kinds else 0


def _width(shown: Grid, place: int) -> int:
    """Characters of a column; the words of its name may stand below each other."""
    texts = [line.texts[place] for line in shown.lines]
    marks = [2 * (line.kind == "verdict") for line in shown.lines]
    lengths = (len(text) + mark for text, mark in zip(texts, marks, strict=True))
    return max(*lengths, *map(len, shown.columns[place].split()))


def _table(shown: Grid, names: int, width: int) -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, SPACE - 1, 0, 0))
    table.add_column(shown.corner, width=names, no_wrap=True, style="bold")
    if shown.kinds:
        table.add_column("", no_wrap=True, style="dim")
    room = width - names - _kinds(shown) - SPACE  # words too long for it stand below each other
    for place, name in enumerate(shown.columns):
        table.add_column(name, justify="right", width=min(room, _width(shown, place)))
    for name, lines in groupby(shown.lines, key=lambda line: line.name):
        pieces = textwrap.wrap(name, names)
        for piece, line in zip_longest(pieces, lines):
            table.add_row(piece or "", *(_cells(line, shown.kinds) if line else ()))
        if shown.kinds:
            table.add_row()
    return table


def _cells(line: Line, kinds: bool) -> Sequence[Text]:
    from rich.text import Text

    verdicts = line.kind == "verdict"
    words = [
        Text(f"{SIGNS[text]} {text}" if text else "", COLOURS.get(text, ""))
        if verdicts
        else Text(text, "bold" * best)
        for text, best in zip(line.texts, line.best, strict=True)
    ]
    return [*[Text(line.kind)] * kinds, *words]
