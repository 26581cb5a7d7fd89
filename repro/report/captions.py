"""What a reader must know of a table's numbers: the caption above it and the notes below."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

from repro.papers.tables import Mean, Row, Score, Select
from repro.report.offsets import table_level
from repro.report.view import RowView, TableView
from repro.spec import RunSpec, SquadTask, TopLayers, run_key
from repro.stats.summary import Summary, share_interval
from repro.tasks.catalogue import TITLES

METRICS = {
    "matthews": "Matthews correlation",
    "f1": "F1",
    "pearson": "Pearson's correlation",
    "spearman": "Spearman's correlation",
}


def many_tasks(view: TableView) -> bool:
    """Whether its columns are of several tasks, so that a cell has runs of its own."""
    return len(view.table.tasks) > 1


def caption(view: TableView) -> str:
    """Title, scale, encoder, data, protocol, seeds: what a reader must know of the numbers."""
    if not view.table.scores:
        parts = _of_facts(view)
    elif not isinstance(view.lead.task, SquadTask):
        parts = _of_sentences(view)
    else:
        parts = _of_questions(view)
    return " ".join(
        [f"{view.table.title}.", *parts, f"Cells reproduced: {view.done}/{view.cells}."]
    )


def _scale(view: TableView) -> str:
    scale = view.request.scale
    far = "" if scale == "paper" else " (not comparable with the published numbers)"
    return f"Scale: {scale}{far}."


def _of_facts(view: TableView) -> list[str]:
    return [
        f"Scale: {view.request.scale} (the same at every scale).",
        f"Of modules of {view.lead.backbone.name}'s shape; nothing is trained.",
        f"Reading: {'as released' if view.request.as_released else 'as published'}.",
    ]


def _of_questions(view: TableView) -> list[str]:
    request, lead = view.request, view.lead
    task, recipe = lead.task, lead.recipe
    assert isinstance(task, SquadTask)
    share = f", {task.answerable_share:.0%} answerable" if task.answerable_share else ""
    rows = f"{task.train_rows:,} questions of " if task.train_rows else ""
    scored = f"{task.evaluation_rows:,} questions of " if task.evaluation_rows else ""
    return [
        _scale(view),
        f"Encoder: {lead.backbone.name}, {lead.backbone.layers} layers, frozen.",
        f"Training: {rows}{task.train}{share}, {recipe.epochs} epochs, batch {recipe.batch_size}, "
        f"rate {recipe.learning_rate:g}, {recipe.precision}.",
        f"Scored: {scored}{view.table.splits[request.scale]}, {view.table.protocol}.",
        f"Reading: {'as released' if request.as_released else 'repaired'}.",
        f"Seeds: {request.seeds}.",
    ]


def _of_sentences(view: TableView) -> list[str]:
    request, lead = view.request, view.lead
    task = lead.task
    needed = view.table.needed(request)
    kind = {"generated": "generated ", "glue": "published "}.get(task.source, "")
    cap = f"at most {task.train_rows:,} of each task's" if task.train_rows else "each task's"
    asked = [f"Tasks: {_titles(needed)} only."] if needed != view.table.tasks else []
    columns = scored_columns(view)
    metrics = {
        column.name: METRICS[column.metric] for column in columns if column.metric in METRICS
    }
    counted = any(row.parameters for row in view.rows)
    named = "".join(f"{title} by {metric}, " for title, metric in metrics.items())
    return [
        _scale(view),
        f"Encoder: {lead.backbone.name}, {lead.backbone.layers} layers.",
        f"Training: {cap} {kind}training rows; {settings(view)}.",
        *asked,
        f"Scored: {_rows(view, columns)}, {named}{'the others ' if named else ''}by accuracy.",
        f"Reading: {'as released' if request.as_released else 'as published'}.",
        f"Seeds: {request.seeds}.",
        *[f"Trained parameters: of {columns[0].name}'s model."] * counted,
    ]


def _rows(view: TableView, columns: Sequence[Score]) -> str:
    """The rows behind the scores: by their split, where it is not one for all."""
    if view.request.server:
        return view.table.server
    cap = view.request.evaluation_rows or view.lead.task.evaluation_rows
    most = f"at most {cap:,} " if cap else ""
    tested = [column.name for column in columns if column.split == "test"]
    if not tested:
        return f"{most}validation rows"
    rest = "" if len(tested) == len(columns) else ", validation rows of the others"
    named = f" of {', '.join(tested)}" if rest else ""
    return f"{most}test rows{named}{rest}"


def scored_columns(view: TableView) -> list[Score]:
    """The columns that are reproduced; all where none is."""
    columns = view.table.scores
    return [column for column in columns if not view.table.gap(column, view.request)] or columns


def _titles(tasks: Iterable[str]) -> str:
    return ", ".join(title for name, title in TITLES.items() if name in tasks)


def settings(view: TableView) -> str:
    """How the rows are trained: one sentence part for all rows that are trained alike.

    A sweep is that of one column, but for its epochs, where a task has its own; another row's
    setting may differ by column.
    """
    columns = scored_columns(view)
    alike: dict[str, list[str]] = {}
    for row in view.rows:
        if not row.row.trained:
            continue
        sweep = row.row.swept
        specs = [
            spec
            for column in (columns[:1] if sweep else columns)
            for spec in view.table.cell_runs(row.row, column, view.request)
        ]
        own = _own_epochs(row.row, columns, view) if sweep else None
        alike.setdefault(setting(specs, row.row.select, own), []).append(row.row.name)
    if len(alike) == 1:
        return next(iter(alike))
    return "; ".join(f"{', '.join(names)}: {said}" for said, names in alike.items())


def _own_epochs(row: Row, columns: Sequence[Score], view: TableView) -> str | None:
    """From which to which, where no task's are swept and tasks differ; None where they do not."""
    of_a_seed = replace(view.request, seeds=1)
    of_task = [
        {spec.recipe.epochs for spec in view.table.cell_runs(row, column, of_a_seed)}
        for column in columns
    ]
    every = set().union(*of_task)
    if len(every) == 1 or any(len(epochs) > 1 for epochs in of_task):
        return None
    return f"{min(every)} to {max(every)}, by task"


def setting(
    specs: Sequence[RunSpec], select: Select = "mean", own_epochs: str | None = None
) -> str:
    """3 epochs, batch 32, rate 0.001, fp32; of a sweep all its values, and how many runs or, where
    a setting is chosen by its mean over seeds, how many settings it has.

    `own_epochs` stand in place of those of `specs`.
    """
    sizes = [getattr(spec.method, "size", None) for spec in specs]
    rates = [f"{spec.recipe.learning_rate:g}" for spec in specs]
    epochs, batches, precisions = (
        [getattr(spec.recipe, name) for spec in specs]
        for name in ("epochs", "batch_size", "precision")
    )
    seedless = {run_key(spec.model_copy(update={"seed": 0})) for spec in specs}
    many, noun = (len(seedless), " settings") if select == "tuned" else (len(specs), "")
    swept = f"best of {many}{noun} on validation, " if select != "mean" and many > 1 else ""
    tops = [spec.method.layers for spec in specs if isinstance(spec.method, TopLayers)]
    deep = f"top {_listed(tops)} layers, " if tops and select != "mean" else ""
    wide = f"size {_listed(sizes)}, " if len(set(sizes)) > 1 else ""
    counted = f"epochs {own_epochs}" if own_epochs else f"{_listed(epochs)} epochs"
    return (
        f"{swept}{deep}{wide}{counted}, batch {_listed(batches)}, rate {_listed(rates)}, "
        f"{_listed(precisions)}"
    )


def _listed(values: Iterable[object]) -> str:
    """Each once, in order: "8, 64 or 256"."""
    *most, last = map(str, dict.fromkeys(values))
    return f"{', '.join(most)} or {last}" if most else last


def notes(view: TableView) -> list[str]:
    """Footnotes: collapsed runs, gaps and missing seeds with their reasons, choices, the table's
    own.
    """
    return [
        *_collapsed(view),
        *_unavailable(view),
        *(note for row in view.rows for note in _row_gaps(row, view)),
        *(f"{row.row.name}: {row.row.note}." for row in view.rows if row.row.note),
        *_odd_means(view),
        *_cut_means(view),
        *_odd_deltas(view),
        *_choices(view),
        *_margins(view),
        *table_level(view),
        *_open(view),
        *_converged(view),
        *view.table.notes,
    ]


def _collapsed(view: TableView) -> list[str]:
    found = [row for row in view.rows if row.collapsed]
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
    for column in view.table.scores:
        reason = view.table.gap(column, view.request)
        if reason:
            reasons.setdefault(reason, []).append(column.name)
    return [f"{', '.join(names)}: gap, {reason}." for reason, names in reasons.items()]


def _row_gaps(row: RowView, view: TableView) -> list[str]:
    """Gaps of the row's own, and seeds that are missing; columns named where they differ."""
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
        lines.append(f"{row.row.name}{named}: {reason.removesuffix('.')}.")
    return lines


def _odd_means(view: TableView) -> list[str]:
    """Printed means that the row's printed scores do not give, rounded or cut."""
    said = []
    for row in view.rows:
        mean = view.table.printed_mean(row.row) if row.row.published else None
        for cell in row.cells:
            if not isinstance(cell.column, Mean) or not cell.column.published_column:
                continue
            printed = cell.published.value if cell.published else None
            if mean is None or mean.value is None or printed is None:
                continue
            if not follows(printed, mean.value):
                said.append(
                    f"{row.row.name}: {printed:g} is printed as {cell.column.name}, and the mean "
                    f"of the row's printed scores is {mean.text}."
                )
    return said


def _cut_means(view: TableView) -> list[str]:
    """Printed means that are cut where rounding gives another number."""
    said = []
    for row in view.rows:
        mean = view.table.printed_mean(row.row) if row.row.published else None
        for cell in row.cells:
            printed = cell.published.value if cell.published else None
            told = isinstance(cell.column, Mean) and cell.column.published_column
            if not told or mean is None or mean.value is None or printed is None:
                continue
            if follows(printed, mean.value) and not math.isclose(printed, round(mean.value, 1)):
                said.append(
                    f"{row.row.name}: the mean of the printed scores is {mean.text}, printed as "
                    f"{printed:.1f}, so it is cut; rounded it is {mean.value:.1f}."
                )
    return said


def _odd_deltas(view: TableView) -> list[str]:
    """Printed differences that the two printed scores do not give."""
    rows = {row.row.name: row for row in view.rows}
    said = []
    for row in view.rows:
        if row.row.delta is None:
            continue
        first, second = (rows[name].cells for name in row.row.delta)
        for cell, a, b in zip(row.cells, first, second, strict=True):
            values = [one.published.value if one.published else None for one in (cell, a, b)]
            if any(value is None for value in values):
                continue
            printed, one, other = (value or 0.0 for value in values)
            if round(one - other, 1) != printed:
                said.append(
                    f"{row.row.name}: {printed:.1f} is printed for {cell.column.name}, and the two "
                    f"printed scores give {one - other:.1f}."
                )
    return said


def follows(printed: float, mean: float) -> bool:
    """Whether a number with one decimal is `mean`, rounded or cut."""
    cut = math.floor(mean * 10 + 1e-6) / 10
    return math.isclose(printed, cut) or math.isclose(printed, round(mean, 1))


def _margins(view: TableView) -> list[str]:
    """What was declared beforehand: how far a number may be off and still confirm the paper."""
    found: dict[float, list[str]] = {}
    for column in view.table.columns:
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
        for row in view.rows
        for cell in row.cells
        if cell.verdict == "UNDECIDED"
    ]


def _converged(view: TableView) -> list[str]:
    """Beside the mean of all runs, that of those which did not collapse."""
    lines = []
    for row in view.rows:
        for cell in row.cells:
            rest = cell.converged
            if rest is None or cell.reproduced is None:
                continue
            total = cell.reproduced.n
            low, high = share_interval(total - rest.n, total)
            lines.append(
                f"{row.row.name}, {cell.column.name}: {total - rest.n} of {total} runs collapsed "
                f"(95 % interval of the share {low:.0%} to {high:.0%}); the mean of the other "
                f"{rest.n} is {_spread(rest)}. The verdict is on all runs."
            )
    return lines


def _choices(view: TableView) -> list[str]:
    """The selected run of each cell, by the fields that were swept."""
    lines = []
    for row in view.rows:
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
