"""What a reader must know of a table's numbers before reading them: the caption above it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from repro.methods.fine_tuning import TopLayers
from repro.papers.tables import SERVER, Fact, Row, Score, Select
from repro.report.declared import not_comparable
from repro.report.view import TableView
from repro.spec import Backbone, RunSpec, SquadTask, run_key
from repro.tasks.catalogue import TITLES
from repro.words import counted, training_length

METRICS = {
    "matthews": "Matthews correlation",
    "f1": "F1",
    "pearson": "Pearson's correlation",
    "spearman": "Spearman's correlation",
    "combined": "the mean of both its metrics",
}


def many_tasks(view: TableView) -> bool:
    """Whether its columns are of several tasks, so that a cell has runs of its own."""
    return len(view.table.tasks) > 1


def caption(view: TableView) -> str:
    """Title, scale, encoder, data, protocol, seeds: what a reader must know of the numbers."""
    if not view.table.scores:
        parts = _of_facts(view)
    elif view.lead.task.noun != "questions":
        parts = _of_sentences(view)
    else:
        parts = _of_questions(view)
    return " ".join(
        [f"{view.table.title}.", *parts, f"Cells reproduced: {view.done}/{view.cells}."]
    )


def _scale(view: TableView) -> str:
    scale = view.request.scale
    cells = [cell for row in view.asked for cell in row.cells if cell.reproduced is not None]
    differs = [cell.differs for cell in cells if cell.differs]
    far = not_comparable(scale, differs[0] if len(differs) == len(cells) and differs else "")
    return f"Scale: {scale}{''.join(f' ({said})' for said in far)}."


def _of_facts(view: TableView) -> list[str]:
    if any(isinstance(column, Fact) and column.counted == "rows" for column in view.table.columns):
        return [f"Scale: {view.request.scale}. Of the data found here; nothing is trained."]
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
    split = view.table.split(view.table.scores[0], request.scale)
    return [
        _scale(view),
        f"Encoder: {lead.backbone.name}, {lead.backbone.layers} layers, frozen.",
        f"Training: {rows}{task.train}{share}, {counted(recipe.epochs, 'epoch')}, "
        f"batch {recipe.batch_size}, rate {recipe.learning_rate:g}, {recipe.precision}.",
        f"Scored: {scored}{split}, {view.table.protocol}.",
        f"Reading: {'as released' if request.as_released else 'repaired'}.",
        f"Seeds: {request.seeds}.",
    ]


def _of_sentences(view: TableView) -> list[str]:
    request, lead = view.request, view.lead
    task = lead.task
    needed = view.table.needed(request)
    kind = {"generated": "generated ", "local": ""}.get(task.source, "published ")
    cap = f"at most {task.train_rows:,} of each task's" if task.train_rows else "each task's"
    divided = ""
    if task.development_share is not None:
        cap = f"{_drawn(view)} of each task's"
        divided = f", of which {task.development_share:.0%} are development rows"
    if task.draws:
        cap = _capped(view)
    asked = [f"Tasks: {_titles(needed)} only."] if needed not in ((), view.table.tasks) else []
    columns = scored_columns(view)
    metrics = {
        column.name: METRICS[column.metric]
        for column in columns
        if column.metric in METRICS and not _names_itself(column)
    }
    counted = any(row.parameters for row in view.rows)
    named = "".join(f"{title} by {metric}, " for title, metric in metrics.items())
    repaired = "repaired" if task.draws else "as published"
    reading = "as released" if request.as_released else repaired
    reading += ", with the printed layers" * request.published_layers
    return [
        _scale(view),
        _backbones(view),
        f"Training: {cap} {kind}training rows{divided}; {settings(view)}.",
        *asked,
        f"Scored: {_rows(view, columns)}, {named}{_others(columns, named)}".rstrip(", ") + ".",
        f"Reading: {reading}.",
        f"Seeds: {request.seeds}.",
        *["Cells: the median of their runs."] * (view.table.statistic == "median"),
        *[f"Trained parameters: of the model of {columns[0].name}."] * counted,
    ]


def _drawn(view: TableView) -> str:
    """How many rows are drawn in the table's parts: "100, 300 or all"."""
    column = scored_columns(view)[0]
    rows = [row.row for row in view.rows if row.row.trained]
    leads = (view.matrix.of(row.name, column.name)[0] for row in rows)
    return _listed(f"{n:,}" if (n := spec.task.train_rows) else "all" for spec in leads)


def _others(columns: Sequence[Score], named: str) -> str:
    """The metric of the columns that none was said for; some say their own."""
    own = any(column.metric in METRICS and _names_itself(column) for column in columns)
    if own:
        return f"{'the others ' if named else ''}by the metric that they name, or accuracy"
    if all(column.metric in METRICS for column in columns):
        return ""
    return f"{'the others ' if named else ''}by accuracy"


def _names_itself(column: Score) -> bool:
    """MRPC F1."""
    return column.name.lower().endswith(f" {column.metric}")


def _capped(view: TableView) -> str:
    """How many rows of a task, as runs on texts draw them: "at most 4, 16 or 32 of each task's"."""
    columns = scored_columns(view)
    row = next(row.row for row in view.rows if row.row.trained)
    caps = {
        spec.task.train_rows or 0
        for column in columns
        for spec in view.matrix.of(row.name, column.name)
    }
    if not any(caps):
        return "each task's"
    return f"at most {_listed(f'{cap:,}' for cap in sorted(caps))} of each task's"


def _backbones(view: TableView) -> str:
    """The encoder, or what there are in place of one for all rows."""
    column = scored_columns(view)[0]
    rows = [row.row for row in view.rows if row.row.trained]
    found = [view.matrix.of(row.name, column.name)[0].backbone for row in rows]
    several = {backbone.id: _named(backbone) for backbone in found}
    kind = "Encoder" if view.lead.backbone.family == "bert" else "Model"
    return f"{kind}: {_listed(several.values())}."


def _named(backbone: Backbone) -> str:
    """MiniLM-L6, 6 layers; of a T5 as many in encoder and decoder."""
    each = "" if backbone.family == "bert" else " each in encoder and decoder"
    return f"{backbone.name}, {backbone.layers} layers{each}"


def _rows(view: TableView, columns: Sequence[Score]) -> str:
    """The rows behind the scores: by their split, where it is not one for all."""
    if view.request.server:
        return SERVER
    cap = view.request.settings.get("task.evaluation_rows") or view.lead.task.evaluation_rows
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
            for spec in view.matrix.of(row.row.name, column.name)
        ]
        own = _own_epochs(row.row, columns, view) if sweep else None
        alike.setdefault(setting(specs, row.row.select, own), []).append(row.row.name)
    if len(alike) == 1:
        return next(iter(alike))
    return "; ".join(f"{', '.join(names)}: {said}" for said, names in alike.items())


def _own_epochs(row: Row, columns: Sequence[Score], view: TableView) -> str | None:
    """From which to which, where no task's are swept and tasks differ; None where they do not."""
    of_task = [
        {spec.recipe.epochs for spec in view.matrix.of(row.name, column.name)} for column in columns
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
    many, noun = len(specs), ""
    if select == "tuned":
        noun = " settings"
        many = len({run_key(spec.model_copy(update={"seed": 0})) for spec in specs})
    swept = f"best of {many}{noun} on validation, " if select != "mean" and many > 1 else ""
    tops = [spec.method.layers for spec in specs if isinstance(spec.method, TopLayers)]
    deep = f"top {_counted(tops, 'layer')}, " if tops and select != "mean" else ""
    wide = f"size {_listed(sizes)}, " if len(set(sizes)) > 1 else ""
    long = f"epochs {own_epochs}" if own_epochs else _counted(epochs, "epoch")
    if specs[0].recipe.look_steps is not None:
        long = _listed(training_length(spec) for spec in specs)
    return (
        f"{swept}{deep}{wide}{long}, batch {_listed(batches)}, rate {_listed(rates)}, "
        f"{_listed(precisions)}"
    )


def _counted(values: Sequence[object], noun: str) -> str:
    """1 epoch; 3 epochs; 1 or 3 epochs."""
    return f"{_listed(values)} {noun}{'s' * (set(values) != {1})}"


def _listed(values: Iterable[object]) -> str:
    """Each once, in order: "8, 64 or 256"."""
    *most, last = map(str, dict.fromkeys(values))
    return f"{', '.join(most)} or {last}" if most else last
