"""Numbers of your own in a published table: read from CSV, checked, and laid out as a row.

The form is a CSV whose headings are names of the table's columns. Several lines are several runs,
one a line, perhaps with a column `seed`. One line has means, perhaps with columns `NAME sd` and
`NAME n`. A blank cell was not measured. `Trained parameters` may be a column, too.
"""

from __future__ import annotations

import csv
import difflib
import hashlib
import io
import math
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING

from repro.errors import ReproError
from repro.papers.own_method import YOURS
from repro.papers.tables import Column, Fact, Mean, Score, Table
from repro.spec import Scale
from repro.store.result import External, Number, key_of
from repro.words import counted, size

if TYPE_CHECKING:
    import pandas

MARK = " (external)"
TAKEN = ("(external)", "(yours)")
PREFIXES = ("published:", "reproduced:")
DEFAULT_SCALES: tuple[Scale, ...] = ("paper", "reduced")
"""Where numbers of real data are shown; smoke scale has made-up data."""
SIZE = "Trained parameters"
SEED = "seed"
LONGEST, MOST_BYTES, MOST_LINES = 60, 1 << 20, 1000
NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")
SIGNED = ("matthews", "pearson", "spearman", "combined")
"""Metrics that may be below 0."""
Texts = list[tuple[str, str]]
"""Of one column: where each text stands ("Line 3"), and the text."""


def read_row(
    data: bytes,
    table: Table,
    name: str,
    *,
    by: str,
    note: str = "",
    section: str = "",
    scales: Sequence[Scale] = DEFAULT_SCALES,
    server: bool = False,
    fractions: bool | None = None,
) -> External:
    """The row that the CSV `data` gives the table, with today's date.

    Args:
        name: what the row is called, without `MARK`.
        by, note: who adds it, and anything that a reader must know, in one line.
        section: the part of a table that repeats its rows in several parts.
        scales: the scales at which it is shown.
        server: the scores are those of the table's test server, not of the rows scored here.
        fractions: True: scores are from 0 to 1 and are multiplied by 100; False: they are percent,
            even those of at most 1; None: percent, and scores of at most 1 are refused.

    Raises ReproError, which says what is wrong and what to do.
    """
    name, section = _name(name, table), _section(section, table)
    if not _line("--by", by):
        raise ReproError("Nobody is named who adds the numbers: give --by NAME.")
    if server and not table.server:
        raise ReproError(f"No number of {table.id} is a test server's: leave out --server.")
    columns = _columns(data, table)
    if SEED in columns:
        _check_seeds(columns[SEED])
    known: dict[str, Column] = {column.name: column for column in table.columns}
    every = (_number(wanted, columns, fractions) for wanted in known.values())
    numbers = [found for found in every if found is not None]
    if not numbers:
        raise ReproError("There is no number in any column of the table: every cell is blank.")
    _check_unit([n for n in numbers if isinstance(known[n.column], Score | Mean)], fractions)
    return External(
        key=key_of(table.id, section, name),
        table=table.id,
        name=name,
        section=section,
        scales=list(scales),
        server=server,
        by=_line("--by", by),
        added=datetime.now(UTC).isoformat(timespec="seconds"),
        note=_line("--note", note),
        sha256=hashlib.sha256(data).hexdigest(),
        parameters=_size(columns.get(SIZE, [])),
        numbers=numbers,
    )


def frame_bytes(frame: pandas.DataFrame) -> bytes:
    """The frame as the CSV that `read_row` reads; its index is left out."""
    return str(frame.to_csv(index=False)).encode()


# The row's name, and what else is typed


def _name(name: str, table: Table) -> str:
    """The name without blanks around it. Raises ReproError for one that no row can have, or that
    one of the table has.
    """
    found = unicodedata.normalize("NFC", name.strip())
    if not found or len(found) > LONGEST:
        raise ReproError(f"--name {name!r}: give a name of 1 to {LONGEST} characters.")
    wrong = [sign for sign in found if unicodedata.category(sign)[0] == "C" or sign in "/\\"]
    if wrong or found.splitlines() != [found]:
        raise ReproError(
            f"--name {name!r}: a name has no control characters, line breaks, / or \\."
        )
    if found.startswith("-"):
        raise ReproError(f"--name {name!r}: an option begins so; begin with another sign.")
    if found.casefold() == YOURS:
        raise ReproError(f"--name {name}: so is the row of a --method called; give another name.")
    if found.lower().endswith(TAKEN) or found.lower().startswith(PREFIXES):
        raise ReproError(
            f"--name {name!r}: leave out {' and '.join((*TAKEN, *PREFIXES))}, which mark rows here."
        )
    for row in table.rows:
        if found.casefold() in (row.name.casefold(), row.name.rpartition(" / ")[2].casefold()):
            raise ReproError(f"{table.id} has a row '{row.name}': give yours another --name.")
    return found


def _section(section: str, table: Table) -> str:
    """The part of a table that repeats its rows in each of them, or ""."""
    parts = [part for part in table.sections if part in {row.part for row in table.rows}]
    if parts and section not in parts:
        raise ReproError(
            f"{table.id} has its rows in several parts: say which part these numbers are of, with "
            f"--section and one of {', '.join(parts)}."
        )
    if section and not parts:
        raise ReproError(f"{table.id} does not repeat its rows in parts: leave out --section.")
    return section


def _line(option: str, text: str) -> str:
    """A text of one line. Raises ReproError for control characters."""
    found = " ".join(text.split())
    if any(unicodedata.category(sign)[0] == "C" and sign != "\u200d" for sign in found):
        raise ReproError(f"{option} {text!r}: leave out the control characters.")
    return found


# The file


def _columns(data: bytes, table: Table) -> dict[str, Texts]:
    """The columns of the file by what they are: a name of the table's, `NAME sd`, `NAME n`, seed or
    size.
    """
    (place, head), *lines = _lines(data)
    if len(lines) > MOST_LINES:
        raise ReproError(
            f"The file has {len(lines):,} lines of numbers: write a line for each run."
        )
    for place, row in lines:
        if len(row) != len(head):
            raise ReproError(
                f"Line {place} has {counted(len(row), 'cell')}, and there are "
                f"{counted(len(head), 'heading')}. Write decimals with a point and thousands "
                "without a comma; leave a cell blank that was not measured."
            )
    names = _headings(head, table)
    if not lines:
        raise ReproError("The file has headings and no line of numbers.")
    return {
        name: [(f"Line {place}", row[at]) for place, row in lines] for at, name in enumerate(names)
    }


def _lines(data: bytes) -> list[tuple[int, list[str]]]:
    """The lines that are not blank, by number, their cells without blanks around them."""
    if len(data) > MOST_BYTES:
        raise ReproError(f"The file has {size(len(data))}: a table of scores is far smaller.")
    if data.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in data:
        raise ReproError("The file is UTF-16 or binary: save it as CSV in UTF-8.")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ReproError(
            f"The file is not UTF-8 (byte {error.start}): save it as CSV in UTF-8."
        ) from error
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        found = [(reader.line_num, [cell.strip() for cell in row]) for row in reader]
    except csv.Error as error:
        raise ReproError(
            f"Line {reader.line_num} is no CSV: {error}. Check its quotation marks."
        ) from error
    found = [(place, row) for place, row in found if any(row)]
    if not found:
        raise ReproError("The file is empty: write a line of headings and a line of numbers.")
    head = found[0][1]
    for sign, word in ((";", "semicolons"), ("\t", "tabs")):
        if len(head) == 1 and sign in head[0]:
            raise ReproError(
                f"The headings are separated by {word}: save the file with commas between cells "
                "and points in decimals."
            )
    return found


def _headings(head: Sequence[str], table: Table) -> list[str]:
    """What each column is. Raises ReproError for one that is unknown or twice there."""
    names = [column.name for column in table.columns]
    more = {f"{name} {what}": name for name in names for what in ("sd", "n")}
    known = {name.casefold(): name for name in (*more, *names, SEED, SIZE)}
    found: list[str] = []
    for place, heading in enumerate(head, 1):
        if not heading:
            raise ReproError(
                f"Column {place} has no heading: name it or leave it out (in pandas, index=False "
                "leaves out the index)."
            )
        name = known.get(" ".join(heading.split()).casefold())
        if name is None:
            raise ReproError(_unknown(heading, table))
        if name in found:
            raise ReproError(f"Two columns are called {name}: leave one of them out.")
        found.append(name)
    for name in found:
        if name in more and name not in names and more[name] not in found:
            raise ReproError(f"There is a column '{name}' and none '{more[name]}': add its means.")
    return found


def _unknown(heading: str, table: Table) -> str:
    names = [column.name for column in table.columns]
    lowered = {name.casefold(): name for name in (*names, SIZE)}
    close = difflib.get_close_matches(heading.casefold(), list(lowered), n=3, cutoff=0.4)
    hint = f"Did you mean {' or '.join(lowered[name] for name in close)}? " if close else ""
    return (
        f"{table.id} has no column '{heading}'. {hint}Its columns are {', '.join(names)}; beside "
        f"them a file may have {SEED}, {SIZE}, and of each column NAME sd and NAME n."
    )


def _check_seeds(texts: Texts) -> None:
    seen: set[int] = set()
    for where, text in texts:
        if not re.fullmatch(r"-?[0-9]{1,18}", text):
            raise ReproError(f"{where}: seed is {text!r}: write a whole number in every line.")
        if int(text) in seen:
            raise ReproError(f"{where}: the seed {text} is there twice: write one line a run.")
        seen.add(int(text))


def _size(texts: Texts) -> int | None:
    """The number of trained parameters, which is one for all lines; None where it is blank."""
    found = {_whole(where, SIZE, text, least=0) for where, text in texts if text}
    if len(found) > 1:
        raise ReproError(f"{SIZE} differs between the lines: write one number.")
    return next(iter(found), None)


def _whole(where: str, name: str, text: str, least: int) -> int:
    value = _parsed(where, name, text)
    if value < least or value != int(value):
        raise ReproError(f"{where}: {name} is {text}: write a whole number from {least}.")
    return int(value)


def _number(column: Column, columns: Mapping[str, Texts], fractions: bool | None) -> Number | None:
    """What the file has in a column of the table; None where nothing was measured."""
    name, texts = column.name, columns.get(column.name, [])
    factor = 100 if fractions and isinstance(column, Score | Mean) else 1
    values = []
    for where, text in texts:
        if text:
            value = _parsed(where, name, text, factor)
            _check_range(where, text, value, column, factor)
            values.append(value)
    given = {
        what: [pair for pair in columns.get(f"{name} {what}", []) if pair[1]]
        for what in ("sd", "n")
    }
    for what, pairs in given.items():
        if pairs and len(texts) > 1:
            raise ReproError(
                f"'{name} {what}' is given with several lines. Write either a line for each run, "
                "from which sd and n follow, or one line of means with sd and n."
            )
        if pairs and not values:
            raise ReproError(f"{name} is blank, and '{name} {what}' is not: write the mean, too.")
    if not values:
        return None
    if len(texts) > 1 or SEED in columns:
        if given["sd"] or given["n"]:
            raise ReproError(
                f"A line with a seed is one run: leave out '{name} sd' and '{name} n'."
            )
        return Number(column=name, values=values, mean=None, sd=None, n=None)
    n = next((_whole(where, f"'{name} n'", text, 1) for where, text in given["n"]), None)
    sd = next((_sd(where, text, n, column, factor) for where, text in given["sd"]), None)
    return Number(column=name, values=[], mean=values[0], sd=sd, n=n)


def _parsed(where: str, column: str, text: str, factor: int = 1) -> float:
    """The number that a text writes, times `factor`, without the rounding of a float product."""
    if not NUMBER.fullmatch(text):
        raise ReproError(f"{where}: {column} is {text!r}: {_mend(text)}.")
    value = float(Decimal(text) * factor)
    if not math.isfinite(value):
        raise ReproError(f"{where}: {column} is {text}, which is too large for any number here.")
    return value


def _mend(text: str) -> str:
    """What to write in place of a text that is no number."""
    plain = text.replace(" ", "").replace("\u00a0", "").replace("\u2009", "")
    if re.fullmatch(r"[+-]?[0-9]{1,3}(,[0-9]{3})+(\.[0-9]+)?", plain) or (
        plain != text and NUMBER.fullmatch(plain)
    ):
        return "write a point in decimals, and no separator of thousands"
    if re.fullmatch(r"[+-]?[0-9.]*,[0-9]+", plain):
        return "write decimals with a point"
    if "±" in text or "+-" in text or "(" in text:
        return "write the mean alone, and its deviation and number of runs in NAME sd and NAME n"
    if text.endswith("%"):
        return "leave out the percent sign"
    if text.startswith(("−", "–")):
        return "write a hyphen for minus"
    return "write a number with a point in decimals; leave the cell blank if it was not measured"


def _check_range(where: str, text: str, value: float, column: Column, factor: int) -> None:
    """Raises ReproError for a score that is no percentage, and a count below 0."""
    if isinstance(column, Score | Mean):
        least = -100 if isinstance(column, Mean) or column.metric in SIGNED else 0
        if not least <= value <= 100:
            unit = "percent" if factor == 1 else "fractions (--fractions)"
            raise ReproError(
                f"{where}: {column.name} is {text}: scores are {unit}, from {least // factor} to "
                f"{100 // factor}."
            )
    elif isinstance(column, Fact) and value < 0:
        raise ReproError(f"{where}: {column.name} is {text}: it is counted, from 0.")


def _sd(where: str, text: str, n: int | None, column: Column, factor: int) -> float:
    """The deviation of so many runs. Raises ReproError for one that cannot be."""
    name = f"'{column.name} sd'"
    sd = _parsed(where, name, text, factor)
    if sd < 0:
        raise ReproError(f"{where}: {name} is {text}: a standard deviation is never negative.")
    if n is None:
        raise ReproError(
            f"{where}: {name} stands without '{column.name} n': write of how many runs it is, or "
            "leave it out."
        )
    if n < 2:
        problem = "is given with n = 1: one run has no deviation. Leave it out."
        raise ReproError(f"{where}: {name} {problem}")
    if isinstance(column, Score | Mean) and sd > 100:
        raise ReproError(f"{where}: {name} is {text}: scores are percent, so it is below 100.")
    return sd


def _check_unit(numbers: Iterable[Number], fractions: bool | None) -> None:
    """Raises ReproError where scores look like fractions and nobody says that they are percent."""
    if fractions is not None:
        return
    found = [
        (number.column, value)
        for number in numbers
        for value in (number.values or [number.mean or 0.0])
        if value != 0
    ]
    small = [(name, value) for name, value in found if abs(value) <= 1]
    if not small:
        return
    if len(small) == len(found):
        raise ReproError(
            f"All scores are at most 1 ({small[0][0]} {small[0][1]:g}), and the table is in "
            "percent. Give --fractions to multiply them by 100, or --percent if they are percent."
        )
    raise ReproError(
        f"{small[0][0]} is {small[0][1]:g}, a fraction perhaps, and other scores are percent. "
        "Write all in percent; give --percent if they are."
    )
