"""What the papers claim, as data that numbers can confirm or reverse.

A claim is a sentence of the paper, or a reading of one of its tables or figures: a paraphrase that
is no stronger than its source, and one or more statements about numbers, each "this is more than
that" or "these are within so much of each other". It is judged twice: on the numbers that the paper
itself prints, and on ours. The numbers stand in the CSVs; a claim names their places, and holds no
number but one that the paper's sentence states.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from typing import Literal

from repro.errors import ReproError
from repro.papers.published import WIDEST, Published, load_published
from repro.papers.tables import Printed as PrintedOnly
from repro.papers.tables import Table

Kind = Literal["sentence", "reading"]
KINDS: dict[Kind, str] = {
    "sentence": "sentence",
    "reading": "reading of a table or figure",
}
"""How a claim's kind is called."""
SIMILAR = WIDEST
"""Points: what "on par", "similar" and "comparable" mean where the sentence names no number."""


@dataclass(frozen=True, slots=True)
class Printed:
    """Where one number stands: the folder of its paper, and a CSV file there ("RA-T1")."""

    paper: str
    table: str
    row: str
    column: str
    metric: str


@dataclass(frozen=True, slots=True)
class Ours:
    """The cell of a table here that reproduces a number: a row and a column by their names.

    Of a heat map, `row` and `column` are the first and the last ablated layer, and the number is
    the drop; of curves, `row` is the point's name and `column` the task.
    """

    artefact: str
    row: str
    column: str


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number of the paper, or the mean of several; `ours` is empty while no table here has it,
    `printed` where the paper prints none.

    `depth`: it is a number of layers, of an encoder with so many; 0: it is not.
    """

    name: str
    printed: tuple[Printed, ...] = ()
    ours: tuple[Ours, ...] = ()
    depth: int = 0


@dataclass(frozen=True, slots=True)
class Statement:
    """`left` is more than `times` x `right` + `plus`; or, within, differs from it by at most `by`.

    `right` may be a plain number. `plus` and `by` are in the units of the column (points). `by` is
    0 only for what is counted: of what is measured, no number of runs shows that two are equal. The
    rounding of the printed numbers is allowed beyond it.
    """

    left: Quantity
    right: Quantity | float
    kind: Literal["more", "within"] = "more"
    by: float = 0.0
    times: float = 1.0
    plus: float = 0.0

    @property
    def order(self) -> bool:
        """It says which of two numbers is more, and not how much."""
        numbers = isinstance(self.right, Quantity), self.times == 1, self.plus == 0
        return self.kind == "more" and all(numbers)


@dataclass(frozen=True, slots=True)
class Claim:
    """What a paper says, in our words, and where; all its `statements` must hold.

    `kind`: a sentence of the paper (its text, a caption, words in a figure), or our reading of the
    numbers of a table or figure. `source` names the section, table or figure, and the copy by which
    it is known where that is not the paper. `note` says how the sentence is read, or why the
    printed numbers or ours cannot decide it.
    """

    id: str
    paper: str
    kind: Kind
    says: str
    source: str
    statements: tuple[Statement, ...]
    note: str = ""


def cell(table: Table, row: str, column: str, name: str = "") -> Quantity:
    """The number in a cell of a table here: where the paper prints it, and ours if it has runs."""
    own = next(one for one in table.rows if one.name == row)
    where = next(one for one in table.columns if one.name == column)
    place = table.place(own, where)
    printed = () if place is None else (Printed(table.paper, table.published, *place),)
    shown_only = own.only_printed or isinstance(where, PrintedOnly)
    return Quantity(name, printed, () if shown_only else (Ours(table.id, row, column),))


def mean(name: str, cells: Iterable[Quantity]) -> Quantity:
    """The mean of several numbers."""
    known = list(cells)
    printed = tuple(place for one in known for place in one.printed)
    return Quantity(name, printed, tuple(place for one in known for place in one.ours))


def more(one: Quantity, *others: Quantity, plus: float = 0.0) -> tuple[Statement, ...]:
    """`one` is more than each of the others and `plus`."""
    return tuple(Statement(one, other, plus=plus) for other in others)


def within(
    one: Quantity, *others: Quantity | float, by: float = SIMILAR, times: float = 1.0
) -> tuple[Statement, ...]:
    """`one` differs from `times` each of the others by at most `by`."""
    return tuple(Statement(one, other, "within", float(by), times) for other in others)


def every(statements: Iterable[tuple[Statement, ...]]) -> tuple[Statement, ...]:
    """All of these statements."""
    return tuple(chain.from_iterable(statements))


def printed_cell(place: Printed) -> Published:
    """The printed number. Raises ReproError where no CSV has it, which is a mistake in a claim."""
    table = load_published(place.paper, place.table)
    cell = table.get((place.row, place.column, place.metric))
    if cell is None or cell.value is None:
        raise ReproError(
            f"{place.table}.csv has no number for row '{place.row}', column '{place.column}', "
            f"metric '{place.metric}': mend the claim that names it."
        )
    return cell
