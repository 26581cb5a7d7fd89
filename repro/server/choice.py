"""Which stored run predicts each file of a submission, and why one has none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from repro.errors import ReproError, UnknownName
from repro.papers.request import Request
from repro.papers.tables import NOT_ASKED, Row, Score, Table
from repro.report.cells import Place, score_cell
from repro.report.files import command_line
from repro.report.runs_found import Lookup, why_missing
from repro.server.layout import FILES, ServerFile
from repro.spec import RunSpec, run_key
from repro.store.entry import ADAPTER, StoredRun
from repro.store.store import Store


@dataclass(frozen=True, slots=True)
class Pick:
    """A file, and the run that predicts it or why none does.

    `column`: the table has a column for it. `weightless`: the run is stored, but not what it
    trained; `untrained`: a run that is wanted has no result.
    """

    file: ServerFile
    run: StoredRun | None = None
    reason: str = ""
    column: bool = True
    weightless: RunSpec | None = None
    untrained: bool = False


def find_row(table: Table, given: str) -> Row:
    """The row of that name, in any case, or as file names have it (ours-3-shared)."""
    for row in table.rows:
        if slug(given) == slug(row.name):
            return row
    raise UnknownName(f"row of {table.id}", given, [row.name for row in table.rows])


def slug(name: str) -> str:
    """A name as a part of a file's name: ours-3-shared."""
    kept = "".join(c if c.isalnum() or c in "._" else "-" for c in name.lower())
    return "-".join(part for part in kept.split("-") if part)


def check_seed(row: Row, request: Request, seed: int | None) -> int:
    """The seed whose runs predict; a row that selects runs has no seed to choose."""
    if row.select == "best" and seed is not None:
        raise ReproError(
            f"{row.name} shows the run that was chosen on validation, whatever its seed: leave "
            "out --seed."
        )
    if seed is not None and not 0 <= seed < request.seeds:
        raise ReproError(
            f"The seed {seed} is not one of this request, which has {request.seeds} (from 0). "
            f"Ask for more: --seeds {max(seed, 0) + 1}."
        )
    return seed or 0


def pick_runs(table: Table, row: Row, request: Request, store: Store, seed: int) -> list[Pick]:
    """For every file of a submission the run of that row; `seed` where a cell is a mean."""
    request = replace(request, server=False)
    matrix = table.matrix(request)
    shown = {one.name: one for one in matrix.artefact.rows}
    place = Place(matrix, shown.get(row.name, row), Lookup(store))
    columns = {(column.task, column.split): column for column in table.scores}
    return [_pick(file, columns.get(file.column), place, seed) for file in FILES]


def _pick(file: ServerFile, column: Score | None, at: Place, seed: int) -> Pick:
    if column is None:
        title = file.facts.title
        return Pick(file, reason=f"{at.table.id} has no column of {title}", column=False)
    gap = at.table.gap(column, at.request) or (at.row.gap.reason if at.row.gap else "")
    if gap:
        return Pick(file, reason=gap)
    if at.row.select == "best":
        cell = score_cell(at, column)
        if cell.model is None:
            return Pick(file, reason=f"no run is chosen yet: {cell.reason}", untrained=True)
        spec = cell.model
    else:
        spec = next(spec for spec in at.specs(column) if spec.seed == seed)
    return _with_weights(file, spec, at.lookup.store)


def _with_weights(file: ServerFile, spec: RunSpec, store: Store) -> Pick:
    key = run_key(spec)
    run = store.read(key, verify=True)
    if run is None:
        why = f"{why_missing(store, [spec])} (the run {key[:12]})"
        return Pick(file, reason=why, untrained=True)
    if ADAPTER in run.files:
        return Pick(file, run)
    why = (
        "is a copy without weights"
        if run.partial or not spec.method.trains_encoder
        else "was stored without its weights (deleted after scoring)"
    )
    return Pick(file, reason=f"the run {key[:12]} {why}", weightless=spec)


def refusal(
    picks: Sequence[Pick], row: Row, request: Request, store: Store, *, fill: bool
) -> ReproError:
    """The error for files that nothing can predict: each with its reason, and the mends."""
    lines = [f"  {pick.file.name}: {pick.reason.removesuffix('.')}" for pick in picks]
    mends = [
        "No file would be predicted, so there is nothing to submit."
        if fill
        else "--fill writes a constant for each of them."
    ]
    if any(pick.reason == NOT_ASKED for pick in picks):
        mends.append("Without --tasks the runs of every task are submitted.")
    lost = [pick for pick in picks if pick.weightless is not None]
    if lost:
        mends.append(f"{_names(lost)}: to train again with weights, {_again(lost, request, store)}")
    if any(pick.untrained for pick in picks):
        mends.append(f"What is not run is trained by: {command_line(request)}")
    head = f"{len(picks)} files of a submission of {row.name} ({request.id}) have no predictions"
    return ReproError("\n".join([f"{head}:", *lines, *mends]))


def _again(lost: Sequence[Pick], request: Request, store: Store) -> str:
    """The command that trains these runs in a store of their own: a stored run is not repeated."""
    tasks = tuple(dict.fromkeys(pick.file.column[0] for pick in lost))
    command = command_line(replace(request, tasks=tasks))
    keep = any(pick.weightless and pick.weightless.method.trains_encoder for pick in lost)
    option = " --keep-weights" if keep else ""
    return (
        f"in a new store, then export with the same --store: {command}{option} "
        f"--store {store.root}-with-weights"
    )


def _names(picks: Sequence[Pick]) -> str:
    return ", ".join(pick.file.name for pick in picks)
