"""The lines below a table: collapsed runs, gaps, margins, what is odd in the printed numbers."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

from repro.papers.tables import NOT_ASKED, Column, Fact, Mean, Score
from repro.report.cells import RowView
from repro.report.view import TableView
from repro.spec import GlueTask
from repro.spec.glue import GLUE
from repro.stats.summary import share_interval
from repro.tasks.catalogue import TITLES
from repro.words import grouped

MOST_NAMED = 12
"""Rows that lack the same and are named one by one."""


def notes(view: TableView) -> list[str]:
    """Footnotes: collapsed runs, gaps and missing seeds with their reasons, choices, the table's
    own.
    """
    return [
        *_collapsed(view),
        *_unavailable(view),
        *_pools(view),
        *_parts(view),
        *_gaps(view),
        *(f"{row.row.name}: {row.row.note}." for row in view.asked if row.row.note),
        *_means(view),
        *_odd_deltas(view),
        *_choices(view),
        *_margins(view),
        *view.statistics,
        *_open(view),
        *_converged(view),
        *_own(view),
    ]


def _own(view: TableView) -> list[str]:
    """The table's own, but for those on rows and columns that are not asked for: such a note begins
    with the name of one, and names none that is.
    """
    source = view.matrix.source
    known = _names([row.name for row in source.rows], source.columns)
    cells = (cell for row in view.asked for cell in row.cells)
    shown = _names([row.row.name for row in view.asked], [cell.column for cell in cells])
    longest = sorted(known, key=len, reverse=True)
    names = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, longest))})(?!\w)")
    return [
        note
        for note in view.table.notes
        if names.match(note) is None or shown & set(names.findall(note))
    ]


def _names(rows: Iterable[str], columns: Iterable[Column]) -> set[str]:
    """What notes call these rows, without their part of the table, and these columns and tasks."""
    found = {row.rpartition(" / ")[2] for row in rows}
    for column in columns:
        found |= {column.name, TITLES[column.task]} if isinstance(column, Score) else {column.name}
    return found


def _asked(view: TableView) -> list[Score]:
    """The scores that are shown, or that a shown mean is of."""
    return [one for one in view.table.scores if view.table.is_asked(one, view.request)]


def _collapsed(view: TableView) -> list[str]:
    said = []
    for row in (row for row in view.asked if row.collapsed):
        if len(view.table.tasks) > 1:  # a cell has runs of its own
            for cell in (cell for cell in row.cells if cell.collapsed):
                of = 1 if cell.chosen else len(cell.behind)
                runs = f"{len(cell.collapsed)} of {of} runs"
                said.append(f"{row.row.name} on {cell.column.name}: {runs}")
        else:
            text = f"{row.row.name}: {row.collapsed} of {view.request.seeds} runs"
            if row.span_f1 is not None:
                text += f", best non-null span F1 on HasAns {row.span_f1}"
            said.append(text)
    return [f"† collapsed, {view.table.collapse}: {'; '.join(said)}."] * bool(said)


def _unavailable(view: TableView) -> list[str]:
    """One line a reason that holds for whole columns."""
    gaps = ((view.table.gap(column, view.request), column.name) for column in _asked(view))
    reasons = grouped((why, name) for why, name in gaps if why not in ("", NOT_ASKED))
    return [f"{', '.join(names)}: gap, {reason}." for reason, names in reasons.items()]


def _pools(view: TableView) -> list[str]:
    """The tasks whose training rows come from validation rows."""
    names = [column.name for column in _asked(view) if column.task in view.request.pools]
    said = (
        f"{', '.join(names)}: no training rows are here. Half of the validation rows, drawn once, "
        "is where the annotated rows come from; the scored rows are of the other half."
    )
    return [said] * bool(names)


def _parts(view: TableView) -> list[str]:
    """The tasks of which a table that counts rows found a part of the official ones only."""
    said = []
    for row in view.asked:
        counted = {
            cell.column.name: round(cell.reproduced.mean)
            for cell in row.cells
            if cell.reproduced and isinstance(cell.column, Fact) and cell.column.counted == "rows"
        }
        task = view.matrix.of(row.row.name, next(iter(counted)))[0].task if counted else None
        if not isinstance(task, GlueTask) or task.source == "generated":
            continue
        official, scored = GLUE[task.name].rows, GLUE[task.name].evaluation[0]
        whole = official[scored] + official["train"] * (task.drawn_from == "train")
        here = sum(counted.values())
        if here < whole:
            said.append(f"{row.row.name} ({here:,} of {whole:,})")
    return [f"Only a part of the official rows is here: {', '.join(said)}."] * bool(said)


def _gaps(view: TableView) -> list[str]:
    """What is missing in each row; once for many rows that lack the same."""
    own = {row.row.name: _row_gaps(row, view) for row in view.asked}
    rows = grouped((why, name) for name, reasons in own.items() for why in reasons)
    common = [why for why, names in rows.items() if len(names) > MOST_NAMED]
    lines = [f"{len(rows[why])} of {len(view.asked)} rows{why}" for why in common]
    for name, reasons in own.items():
        lines += [f"{name}{why}" for why in rows if why in reasons and why not in common]
    return lines


def _row_gaps(row: RowView, view: TableView) -> list[str]:
    """Gaps of the row's own, and seeds that are missing; columns named where they differ. Each is
    what stands after the row's name.
    """
    cells = [
        cell
        for cell in row.cells
        if not isinstance(cell.column, Score) or not view.table.gap(cell.column, view.request)
    ]
    gaps = (c for c in cells if c.verdict == "GAP" and not isinstance(c.column, Mean))
    found = [(f"gap, {cell.reason}", cell.column.name) for cell in gaps]
    found.sort(key=lambda pair: pair[0])
    found += [(cell.partial, cell.column.name) for cell in cells if cell.partial]
    scores = {cell.column.name for cell in cells if isinstance(cell.column, Score)}
    lines = []
    for reason, columns in grouped(found).items():
        some = len(view.table.tasks) > 1 and not scores <= set(columns)
        named = f" ({', '.join(columns)})" if some else ""
        lines.append(f"{named}: {reason.removesuffix('.')}.")
    return lines


def _means(view: TableView) -> list[str]:
    """Printed means that the row's printed scores do not give, rounded or cut; then those that are
    cut where rounding gives another number.
    """
    odd, cut = [], []
    for row in (row for row in view.asked if row.row.published):
        for cell in row.cells:
            column, published = cell.column, cell.published
            if not isinstance(column, Mean) or not column.published_column or published is None:
                continue
            mean, printed = view.table.printed_mean(row.row, column), published.value
            if printed is None or mean is None or mean.value is None:
                continue
            places = max(1, published.decimals)  # a round number is printed without its zero
            if not follows(printed, mean.value, places):
                odd.append(
                    f"{row.row.name}: {printed:g} is printed as {column.name}, and the mean of the "
                    f"row's printed scores is {mean.text}."
                )
            elif not math.isclose(printed, round(mean.value, places)):
                cut.append(
                    f"{row.row.name}: the mean of the printed scores is {mean.text}, printed as "
                    f"{printed:.{places}f}, so it is cut; rounded it is {mean.value:.{places}f}."
                )
    return odd + cut


def _odd_deltas(view: TableView) -> list[str]:
    """Printed differences that the two printed scores do not give."""
    rows = {row.row.name: row.cells for row in view.asked}
    said = []
    for row in (row for row in view.asked if row.row.delta is not None):
        for cells in zip(row.cells, *(rows[name] for name in row.row.delta or ()), strict=True):
            found = [cell.published for cell in cells if cell.published is not None]
            values = [one.value for one in found if one.value is not None]
            if len(values) < len(cells):
                continue
            (printed, one, other), places = values, max(1, found[0].decimals)
            if round(one - other, places) != printed:
                said.append(
                    f"{row.row.name}: {printed:.{places}f} is printed for {cells[0].column.name}, "
                    f"and the two printed scores give {one - other:.{places}f}."
                )
    return said


def follows(printed: float, mean: float, decimals: int = 1) -> bool:
    """Whether a number with so many decimals is `mean`, rounded or cut."""
    scale = 10**decimals
    cut = math.floor(mean * scale + 1e-6) / scale
    return math.isclose(printed, cut) or math.isclose(printed, round(mean, decimals))


def _margins(view: TableView) -> list[str]:
    """What was declared beforehand: how far a number may be off and still confirm the paper; not of
    made-up data, which are compared with none.
    """
    if view.request.scale == "smoke":
        return []
    columns = view.table.shown(view.request)
    margins = ((view.table.margin_of(column), column.name) for column in columns)
    found = grouped((margin, name) for margin, name in margins if margin is not None)
    if not found:
        return []
    common, *others = sorted(found.items(), key=lambda item: (-len(item[1]), item[0]))
    rest = "".join(f"; {margin:.2g} for {', '.join(names)}" for margin, names in others)
    points = "point" if common[0] == 1 else "points"
    return [
        f"Margin declared beforehand: {common[0]:.2g} {points}{rest}. Half a unit of the last "
        "printed digit is added."
    ]


def _open(view: TableView) -> list[str]:
    """What would settle the cells that are undecided."""
    return [
        f"{row.row.name}, {cell.column.name}: {cell.reason}."
        for row in view.asked
        for cell in row.cells
        if cell.verdict == "UNDECIDED"
    ]


def _converged(view: TableView) -> list[str]:
    """Beside the mean of all runs, that of those which did not collapse."""
    lines = []
    for row in view.asked:
        said = []
        for cell in row.cells:
            rest = cell.converged
            if rest is None or cell.reproduced is None:
                continue
            total = cell.reproduced.n
            low, high = share_interval(total - rest.n, total)
            said.append(
                f"{cell.column.name}: {total - rest.n} of {total} runs collapsed "
                f"(95 % interval of the share {low:.0%} to {high:.0%}); the mean of the other "
                f"{rest.n} is {rest}"
            )
        if said:
            lines.append(f"{row.row.name}, {', '.join(said)}. The verdict is on all runs.")
    return lines


def _choices(view: TableView) -> list[str]:
    """The selected run of each cell, by the fields that were swept."""
    lines = []
    for row in view.asked:
        said = [
            f"{cell.column.name} {', '.join(map(_choice, cell.chosen, cell.chosen.values()))}"
            for cell in row.cells
            if cell.chosen
        ]
        if said:
            lines.append(f"{row.row.name}, chosen on validation: {'; '.join(said)}.")
    return lines


def _choice(name: str, value: object) -> str:
    last = name.rpartition(".")[2]
    word = "rate" if last == "learning_rate" else last
    return f"{word} {value:g}" if isinstance(value, float) else f"{word} {value}"
