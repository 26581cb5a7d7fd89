"""Rows of added numbers in a table, and in the store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean

from repro.comparison.external import MARK
from repro.errors import ReproError
from repro.papers.request import Request
from repro.papers.tables import SERVER, Mean, Row, Table
from repro.report.cells import Cell, RowView
from repro.stats.summary import Statistic, summarise
from repro.store.result import External, Number
from repro.store.store import Store


def external_rows(table: Table, request: Request, store: Store) -> list[tuple[Row, RowView]]:
    """The rows that were added to a table, as far as a request shows one of their columns."""
    shown = {column.name for column in table.shown(request)}
    return [
        laid_out(found, table, request)
        for found in store.external()
        if found.table == table.id and request.scale in found.scales
        if not found.section or found.section in (request.sections or table.sections)
        if shown & {number.column for number in found.numbers}
    ]


def laid_out(found: External, table: Table, request: Request) -> tuple[Row, RowView]:
    """The row of the table, and its cells, which no run is behind."""
    part = f"{found.section} / " if found.section else ""
    row = Row(
        f"{part}{found.name}{MARK}",
        "external",
        section=found.section,
        note=said(found, table, request),
        measure="external",
    )
    numbers = {number.column: number for number in found.numbers}
    source = f"external, added by {found.by} on {found.added[:10]}"
    cells = []
    for column in table.columns:
        number = numbers.get(column.name)
        if number is None and isinstance(column, Mean):
            scores = [numbers.get(score.name) for score in table.parts(column)]
            number = _mean_of(column, scores, table.statistic)
        reason = source if number is not None else "not measured"
        rows = SERVER if found.server else ""
        cells.append(Cell(column, None, reason=reason, wanted=False, external=number, rows=rows))
    sizes = None if found.parameters is None else (found.parameters, None)
    return row, RowView(row, tuple(cells), sizes, None)


def _mean_of(column: Mean, scores: Sequence[Number | None], statistic: Statistic) -> Number | None:
    """The mean of the row's scores: run by run if all have as many, else of the means (or medians)
    alone.
    """
    found = [score for score in scores if score is not None]
    if len(found) < len(scores) or not found:
        return None
    alike = all(score.values for score in found) and len({len(s.values) for s in found}) == 1
    if alike and statistic == "mean":
        totals = [fmean(run) for run in zip(*(score.values for score in found), strict=True)]
        return Number(column=column.name, values=totals, mean=None, sd=None, n=None)
    mean = fmean(summarise(s.values or [s.mean or 0.0], statistic).mean for s in found)
    return Number(column=column.name, values=[], mean=mean, sd=None, n=None)


def record_of(number: Number, statistic: Statistic = "mean") -> dict[str, object]:
    """The same as columns of a comparison frame."""
    if not number.values:
        return {"mean": number.mean, "sd": number.sd, "n": number.n}
    ours = summarise(number.values, statistic)
    return {"mean": ours.mean, "sd": ours.sd, "n": ours.n, "values": list(ours.values)}


def said(found: External, table: Table, request: Request) -> str:
    """What a reader must know of the row, as a note below the table."""
    by_n: dict[str, list[str]] = {}
    for number in found.numbers:
        n = len(number.values) or number.n
        by_n.setdefault("not stated" if n is None else str(n), []).append(number.column)
    common, *others = sorted(by_n, key=lambda n: -len(by_n[n]))
    runs = "; ".join([common, *(f"{', '.join(by_n[n])}: {n}" for n in others)])
    rows = f", {'' if found.server else 'not '}of the {SERVER}" if table.server else ""
    note = f". {found.by} says: {found.note.removesuffix('.')}" if found.note else ""
    return (
        f"external numbers{rows}, added by {found.by} on {found.added[:10]}; nothing was trained "
        f"or checked here. Runs a column: {runs}. SHA-256 of the file {found.sha256[:12]}{note}"
    )


def placed(table: Table, added: Sequence[Row]) -> Table:
    """The table with these rows, each after the last one of its section."""
    rows = list(table.rows)
    for row in added:
        ends = [place for place, own in enumerate(rows, 1) if own.section == row.section]
        rows.insert(max(ends, default=len(rows)) if row.section else len(rows), row)
    return replace(table, rows=tuple(rows))


def keep(row: External, store: Store, *, replace: bool = False) -> bool:
    """Stores the row; False where the same numbers are stored already.

    Raises ReproError where other numbers are stored under its name, unless they are to be replaced.
    """
    known = next((one for one in store.external() if one.key == row.key), None)
    if known is not None and known == row.model_copy(
        update={"added": known.added, "name": known.name}
    ):
        return False
    if known is not None and not replace:
        raise ReproError(
            f"{row.table} has other numbers called '{known.name}', added by {known.by} on "
            f"{known.added[:10]}. Give another --name, or --replace to replace them."
        )
    store.save(row)
    return True


def remove(table: Table, name: str, store: Store, section: str = "") -> External:
    """Removes the row of this name, and returns it. Raises ReproError where there is none."""
    wanted = name.strip().removesuffix(MARK).casefold()
    own = [one for one in store.external() if one.table == table.id]
    found = [one for one in own if one.name.casefold() == wanted and section in ("", one.section)]
    if not found:
        known = ", ".join(dict.fromkeys(one.name for one in own)) or "none"
        raise ReproError(f"{table.id} has no external numbers called '{name}'. It has: {known}.")
    if len(found) > 1:
        parts = ", ".join(one.section for one in found)
        raise ReproError(f"'{name}' has numbers in several parts: give --section, one of {parts}.")
    if not store.remove_record(found[0].file):
        raise ReproError(
            f"'{name}' comes with a bundle (NAME.jsonl.xz) in {store.root}, which is never changed:"
            " move the bundle away."
        )
    return found[0]
