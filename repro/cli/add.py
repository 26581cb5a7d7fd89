"""`add TABLE`: numbers of your own as a row of a published table; `--remove` and `--list`."""

from __future__ import annotations

import getpass
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from repro.cli import options as o
from repro.cli.requests import SCALES, names_in, split_sections
from repro.comparison.external import DEFAULT_SCALES, MARK, read_row
from repro.comparison.external_rows import keep, record_of, remove
from repro.errors import ReproError
from repro.folders import expanded
from repro.papers.registry import find_table
from repro.papers.tables import Mean, Table
from repro.report.layout import text_table
from repro.report.render import json_text
from repro.spec import Scale
from repro.store.result import External
from repro.words import counted


@dataclass(frozen=True, slots=True)
class Given:
    """The row that is added, and where it is shown."""

    name: Annotated[str | None, typer.Option(help="What the row is called.")] = None
    scores: Annotated[
        Path | None,
        typer.Option(
            help="CSV in UTF-8 with commas; headings are names of the table's columns, scores are "
            "percent, blank is not measured. Several lines: a run each (a column seed is "
            "optional). One line: means, and if known NAME sd and NAME n for a column NAME. "
            "Trained parameters may be a column."
        ),
    ] = None
    note: Annotated[str, typer.Option(help="A sentence for the notes below the table.")] = ""
    by: Annotated[str | None, typer.Option(help="Who adds them (default: your user name).")] = None
    section: Annotated[
        str | None,
        typer.Option(help="The part of the table, where it repeats its rows: Low-data-100."),
    ] = None
    scale: Annotated[
        list[str] | None,
        typer.Option(help=f"Scales to show them at (default: {', '.join(DEFAULT_SCALES)})."),
    ] = None
    server: Annotated[
        bool, typer.Option("--server", help="They are scores of the GLUE test server.")
    ] = False
    fractions: Annotated[
        bool | None,
        typer.Option(
            "--fractions/--percent",
            help="Scores are from 0 to 1 and are multiplied by 100; or: percent, even those of at "
            "most 1.",
        ),
    ] = None
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace numbers that have this name.")
    ] = False

    def part(self, table: Table) -> str:
        """The part of the table; "" where none is named. Raises ReproError for several."""
        found = split_sections(self.section, table) or ("",)
        if len(found) > 1:
            raise ReproError("--section takes one part of the table here.")
        return found[0]

    def row(self, table: Table, scores: Path) -> External:
        """The row as it is stored. Raises ReproError."""
        try:
            return read_row(
                read(scores),
                table,
                self.name or "",
                by=user() if self.by is None else self.by,
                note=self.note,
                section=self.part(table),
                scales=scales(self.scale),
                server=self.server,
                fractions=self.fractions,
            )
        except ReproError as problem:
            raise ReproError(f"Nothing was added. {problem}") from None


@o.grouped
def command(
    id: Annotated[str, o.ids("Table, for example 3-shared-2.", "TABLES")],
    given: Given,
    removed: Annotated[bool, typer.Option("--remove", help="Remove the row of this name.")] = False,
    listed: Annotated[bool, typer.Option("--list", help="List what was added.")] = False,
    json: o.JsonOption = False,
    store: o.StoreOption = None,
) -> None:
    """Adds a row of your own numbers to a published table. It is marked as external, and nothing is
    trained for it. Without --scores, lists what was added.

    Example: python -m repro add 3-shared-2 --name "Mine" --scores mine.csv
    """
    table, results = find_table(id), o.open_store(store)
    check(given, removed=removed, listed=listed)
    part = given.part(table)
    if removed:
        gone = remove(table, given.name or "", results, part)
        print(f"Removed {gone.name}{MARK} from {table.id}.")
    elif given.scores is None:
        rows = [row for row in results.external() if row.table == table.id]
        sys.stdout.write(json_text(as_json(table, rows)) if json else as_text(table, rows))
    else:
        row = given.row(table, given.scores)
        new = keep(row, results, replace=given.replace)
        print(json_text(as_json(table, [row])) if json else _told(table, row, new, store))


def check(given: Given, *, removed: bool, listed: bool) -> None:
    """Raises ReproError for options that do not go together."""
    if removed and (given.scores is not None or listed or given.replace):
        raise ReproError(
            "--remove takes --name and no numbers: leave out --scores, --list and --replace."
        )
    if (removed or given.scores is not None) and given.name is None:
        raise ReproError("Say which row is meant: give --name.")
    if not removed and given.name is not None and given.scores is None:
        raise ReproError(f"Name the file of the numbers of '{given.name}': --scores FILE.csv.")
    if listed and given.scores is not None:
        raise ReproError("--list and --scores are two commands: leave out one of them.")


def user() -> str:
    """The name of the user. Raises ReproError where the system knows none."""
    try:
        return getpass.getuser()
    except (OSError, KeyError) as error:
        raise ReproError("This machine has no name for you: give --by NAME.") from error


def scales(given: list[str] | None) -> tuple[Scale, ...]:
    """The scales asked for, largest first; without any, those of real data."""
    found = {n for text in given or () for n in names_in(text, "--scale", "scale", SCALES)}
    return tuple(one for one in SCALES if one in found) if given else DEFAULT_SCALES


def read(path: Path) -> bytes:
    """The content of a file. Raises ReproError where it cannot be read."""
    path = expanded(path)
    try:
        return path.read_bytes()
    except OSError as error:
        raise ReproError(f"{path} cannot be read: {error.strerror}. Name a CSV file.") from error


def _told(table: Table, row: External, new: bool, store: Path | None) -> str:
    measured = [number.column for number in row.numbers]
    scores = [column.name for column in table.columns if not isinstance(column, Mean)]
    blank = [name for name in scores if name not in measured]
    rest = f" (not measured: {', '.join(blank)})" if blank else ""
    what = f"{row.name}{MARK}"
    done = f"Added {what} to {table.id}" if new else f"{table.id} has these numbers of {what}"
    part = ["--section", row.section] * bool(row.section)
    part += ["--store", str(store)] * (store is not None)
    shown = ["table", table.id, "--scale", row.scales[0], "--no-run", *part]
    compared = ["compare", row.name, "--table", table.id, *part]
    lines = [
        f"{done}: {counted(len(measured), 'column')}{rest}.",
        f"Shown at {' and '.join(row.scales)} scale: python -m repro {shlex.join(shown)}",
        f"Beside the other rows: python -m repro {shlex.join(compared)}",
    ]
    return "\n".join(lines)


def as_text(table: Table, rows: list[External]) -> str:
    """The rows that were added, a line each."""
    if not rows:
        return f"No external numbers in {table.id}. See python -m repro add --help.\n"
    head = ("row", "section", "columns", "scales", "by", "added", "sha256", "note")
    lines = [
        (
            f"{row.name}{MARK}", row.section or "-", str(len(row.numbers)), ", ".join(row.scales),
            row.by, row.added[:10], row.sha256[:12], row.note,
        )
        for row in rows
    ]  # fmt: skip
    return text_table(head, lines) + "\n"


def as_json(table: Table, rows: list[External]) -> dict[str, Any]:
    """The object of `add --json`; docs/json.md describes it."""
    return {"table": table.id, "rows": [_row(row) for row in rows]}


def _row(row: External) -> dict[str, Any]:
    found = row.model_dump(mode="json", exclude={"key", "table"})
    numbers = zip(found["numbers"], row.numbers, strict=True)
    return found | {"numbers": [number | record_of(own) for number, own in numbers]}
