"""The lines below a table: collapsed runs, gaps, margins, what is odd in the printed numbers."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator

from repro.papers.published import Published
from repro.papers.tables import NOT_ASKED, Column, Fact, Mean, Score
from repro.report.captions import many_tasks
from repro.report.cells import Cell, RowView
from repro.report.view import TableView
from repro.spec import GlueTask
from repro.spec.glue import GLUE
from repro.stats.summary import Summary, share_interval
from repro.tasks.catalogue import TITLES

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
        *_odd_means(view),
        *_cut_means(view),
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
    found = [row for row in view.asked if row.collapsed]
    if not found:
        return []
    if many_tasks(view):
        said = [
            f"{row.row.name} on {cell.column.name}: {len(cell.collapsed)} of "
            f"{1 if cell.chosen else len(cell.behind)} runs"
            for row in found
            for cell in row.cells
            if cell.collapsed
        ]
    else:
        said = [f"{row.row.name}: {_collapse(row, view)}" for row in found]
    return [f"† collapsed, {view.table.collapse}: {'; '.join(said)}."]


def _collapse(row: RowView, view: TableView) -> str:
    text = f"{row.collapsed} of {view.request.seeds} runs"
    if row.span_f1 is not None:
        text += f", best non-null span F1 on HasAns {_spread(row.span_f1)}"
    return text


def _spread(summary: Summary) -> str:
    return f"{summary.mean:.1f}" + (f" ± {summary.sd:.1f}" if summary.sd is not None else "")


def _unavailable(view: TableView) -> list[str]:
    """One line a reason that holds for whole columns."""
    reasons: dict[str, list[str]] = {}
    for column in _asked(view):
        reason = view.table.gap(column, view.request)
        if reason not in ("", NOT_ASKED):
            reasons.setdefault(reason, []).append(column.name)
    return [f"{', '.join(names)}: gap, {reason}." for reason, names in reasons.items()]


def _pools(view: TableView) -> list[str]:
    """The tasks whose training rows come from validation rows."""
    pools = view.request.pools
    names = [column.name for column in _asked(view) if column.task in pools]
    if not names:
        return []
    return [
        f"{', '.join(names)}: no training rows are here. Half of the validation rows, drawn once, "
        "is where the annotated rows come from; the scored rows are of the other half."
    ]


def _parts(view: TableView) -> list[str]:
    """The tasks of which a table that counts rows found a part of the official ones only."""
    said = []
    for row in view.asked:
        counted = [cell for cell in row.cells if cell.reproduced and _counts_rows(cell.column)]
        task = view.matrix.of(row.row.name, counted[0].column.name)[0].task if counted else None
        if not isinstance(task, GlueTask) or task.source == "generated":
            continue
        official, scored = GLUE[task.name].rows, GLUE[task.name].evaluation[0]
        whole = official[scored] + official["train"] * (task.drawn_from == "train")
        here = sum(round(cell.reproduced.mean) for cell in counted if cell.reproduced)
        if here < whole:
            said.append(f"{row.row.name} ({here:,} of {whole:,})")
    return [f"Only a part of the official rows is here: {', '.join(said)}."] * bool(said)


def _counts_rows(column: Column) -> bool:
    return isinstance(column, Fact) and column.counted == "rows"


def _gaps(view: TableView) -> list[str]:
    """What is missing in each row; once for many rows that lack the same."""
    found: dict[str, list[str]] = {}
    for row in view.asked:
        for reason in _row_gaps(row, view):
            found.setdefault(reason, []).append(row.row.name)
    said = {reason for reason, rows in found.items() if len(rows) > MOST_NAMED}
    lines = [f"{len(found[why])} of {len(view.asked)} rows{why}" for why in found if why in said]
    for row in view.asked:
        own = [why for why, rows in found.items() if why not in said and row.row.name in rows]
        lines += [f"{row.row.name}{why}" for why in own]
    return lines


def _row_gaps(row: RowView, view: TableView) -> list[str]:
    """Gaps of the row's own, and seeds that are missing; columns named where they differ. Each is
    what stands after the row's name.
    """
    found: dict[str, list[str]] = {}
    cells = [
        cell
        for cell in row.cells
        if not isinstance(cell.column, Score) or not view.table.gap(cell.column, view.request)
    ]
    for cell in cells:
        if cell.verdict == "GAP" and not isinstance(cell.column, Mean):
            found.setdefault(f"gap, {cell.reason}", []).append(cell.column.name)
    gaps = sorted(found)
    for cell in cells:
        if cell.partial:
            found.setdefault(cell.partial, []).append(cell.column.name)
    scores = {cell.column.name for cell in cells if isinstance(cell.column, Score)}
    lines = []
    for reason in [*gaps, *(reason for reason in found if reason not in gaps)]:
        some = many_tasks(view) and not scores <= set(found[reason])
        named = f" ({', '.join(found[reason])})" if some else ""
        lines.append(f"{named}: {reason.removesuffix('.')}.")
    return lines


def _printed_means(view: TableView) -> Iterator[tuple[str, Cell, float, Published, float]]:
    """Row, cell and value of each printed mean, and what the row's printed scores give: as it is
    printed, and exactly.
    """
    for row in view.asked:
        for cell in row.cells if row.row.published else ():
            printed = cell.published.value if cell.published else None
            if not isinstance(cell.column, Mean) or not cell.column.published_column:
                continue
            mean = view.table.printed_mean(row.row, cell.column)
            if printed is not None and mean is not None and mean.value is not None:
                yield row.row.name, cell, printed, mean, mean.value


def _odd_means(view: TableView) -> list[str]:
    """Printed means that the row's printed scores do not give, rounded or cut."""
    return [
        f"{row}: {printed:g} is printed as {cell.column.name}, and the mean of the row's printed "
        f"scores is {mean.text}."
        for row, cell, printed, mean, exact in _printed_means(view)
        if not follows(printed, exact, _decimals(cell))
    ]


def _cut_means(view: TableView) -> list[str]:
    """Printed means that are cut where rounding gives another number."""
    said = []
    for row, cell, printed, mean, exact in _printed_means(view):
        places = _decimals(cell)
        cut = not math.isclose(printed, round(exact, places))
        if follows(printed, exact, places) and cut:
            said.append(
                f"{row}: the mean of the printed scores is {mean.text}, printed as "
                f"{printed:.{places}f}, so it is cut; rounded it is {exact:.{places}f}."
            )
    return said


def _odd_deltas(view: TableView) -> list[str]:
    """Printed differences that the two printed scores do not give."""
    rows = {row.row.name: row for row in view.asked}
    said = []
    for row in view.asked:
        if row.row.delta is None:
            continue
        first, second = (rows[name].cells for name in row.row.delta)
        for cell, a, b in zip(row.cells, first, second, strict=True):
            values = [one.published.value if one.published else None for one in (cell, a, b)]
            if any(value is None for value in values):
                continue
            printed, one, other = (value or 0.0 for value in values)
            places = _decimals(cell)
            if round(one - other, places) != printed:
                said.append(
                    f"{row.row.name}: {printed:.{places}f} is printed for {cell.column.name}, and "
                    f"the two printed scores give {one - other:.{places}f}."
                )
    return said


def follows(printed: float, mean: float, decimals: int = 1) -> bool:
    """Whether a number with so many decimals is `mean`, rounded or cut."""
    scale = 10**decimals
    cut = math.floor(mean * scale + 1e-6) / scale
    return math.isclose(printed, cut) or math.isclose(printed, round(mean, decimals))


def _decimals(cell: Cell) -> int:
    """Of a printed mean; at least one, as a round number is printed without its zero."""
    return max(1, cell.published.decimals) if cell.published else 1


def _margins(view: TableView) -> list[str]:
    """What was declared beforehand: how far a number may be off and still confirm the paper; not of
    made-up data, which are compared with none.
    """
    found: dict[float, list[str]] = {}
    for column in view.table.shown(view.request) if view.request.scale != "smoke" else ():
        margin = view.table.margin_of(column)
        if margin is not None:
            found.setdefault(margin, []).append(column.name)
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
                f"{rest.n} is {_spread(rest)}"
            )
        if said:
            lines.append(f"{row.row.name}, {', '.join(said)}. The verdict is on all runs.")
    return lines


def _choices(view: TableView) -> list[str]:
    """The selected run of each cell, by the fields that were swept."""
    lines = []
    for row in view.asked:
        said = [
            f"{cell.column.name} {', '.join(_choice(*item) for item in cell.chosen.items())}"
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
