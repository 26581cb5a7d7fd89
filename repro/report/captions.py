"""What a reader must know of a table's numbers before reading them: the caption above it."""

from __future__ import annotations

from collections.abc import Sequence

from repro.methods.fine_tuning import TopLayers
from repro.papers.tables import SERVER, Fact, Score, Select
from repro.report.declared import not_comparable
from repro.report.view import TableView
from repro.spec import RunSpec, SquadTask, run_key
from repro.tasks.catalogue import TITLES
from repro.words import counted, either, grouped, training_length

METRICS = {
    "matthews": "Matthews correlation",
    "f1": "F1",
    "pearson": "Pearson's correlation",
    "spearman": "Spearman's correlation",
    "combined": "the mean of both its metrics",
}


def of_data(view: TableView) -> bool:
    """Whether it counts rows, so that no model has a part in it."""
    columns = view.table.columns
    return any(isinstance(column, Fact) and column.counted == "rows" for column in columns)


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
    if of_data(view):
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
    request, task = view.request, view.lead.task
    needed, columns = view.table.needed(request), scored_columns(view)
    kind = {"generated": "generated ", "local": ""}.get(task.source, "published ")
    drawn = [spec.task.train_rows for spec in _leads(view)]
    cap = f"at most {task.train_rows:,} of each task's" if task.train_rows else "each task's"
    divided = ""
    if task.development_share is not None:
        parts = either(f"{rows:,}" if rows else "all" for rows in drawn)
        cap = f"{parts} of each task's"
        divided = f", of which {task.development_share:.0%} are development rows"
    if task.draws:
        cap = _capped(view)
    titles = ", ".join(title for name, title in TITLES.items() if name in needed)
    asked = [f"Tasks: {titles} only."] if needed not in ((), view.table.tasks) else []
    repaired = "repaired" if task.draws else "as published"
    reading = "as released" if request.as_released else repaired
    reading += ", with the printed layers" * request.published_layers
    counted = any(row.parameters for row in view.rows)
    return [
        _scale(view),
        f"{_backbones(view)}.",
        f"Training: {cap} {kind}training rows{divided}; {settings(view)}.",
        *asked,
        f"Scored: {_rows(view, columns)}{_metrics(columns)}.",
        f"Reading: {reading}.",
        f"Seeds: {request.seeds}.",
        *["Cells: the median of their runs."] * (view.table.statistic == "median"),
        *[f"Trained parameters: of the model of {columns[0].name}."] * counted,
    ]


def _leads(view: TableView) -> list[RunSpec]:
    """The first run of each trained row."""
    column = scored_columns(view)[0].name
    return [view.matrix.of(row.row.name, column)[0] for row in view.rows if row.row.trained]


def _metrics(columns: Sequence[Score]) -> str:
    """By which metrics columns are scored: some name theirs ("MRPC F1"), most are accuracies."""
    known = [column for column in columns if column.metric in METRICS]
    own = [one for one in known if one.name.lower().endswith(f" {one.metric}")]
    said = [f"{one.name} by {METRICS[one.metric]}" for one in known if one not in own]
    others = "the others " * bool(said)
    if own:
        said.append(f"{others}by the metric that they name, or accuracy")
    elif len(known) < len(columns):
        said.append(f"{others}by accuracy")
    return "".join(f", {one}" for one in said)


def _capped(view: TableView) -> str:
    """How many rows of a task, as runs on texts draw them: "at most 4, 16 or 32 of each task's"."""
    row = next(row.row for row in view.rows if row.row.trained)
    runs = (view.matrix.of(row.name, column.name) for column in scored_columns(view))
    caps = {spec.task.train_rows or 0 for specs in runs for spec in specs}
    listed = either(f"{cap:,}" for cap in sorted(caps))
    return f"at most {listed} of each task's" if any(caps) else "each task's"


def _backbones(view: TableView) -> str:
    """The encoder, or what there are in place of one for all rows: MiniLM-L6, 6 layers; of a T5 as
    many in encoder and decoder.
    """
    several = {}
    for backbone in (spec.backbone for spec in _leads(view)):
        each = "" if backbone.family == "bert" else " each in encoder and decoder"
        several[backbone.id] = f"{backbone.name}, {backbone.layers} layers{each}"
    kind = "Encoder" if view.lead.backbone.family == "bert" else "Model"
    return f"{kind}: {either(several.values())}"


def _rows(view: TableView, columns: Sequence[Score]) -> str:
    """The rows behind the scores: by their split, where it is not one for all."""
    if view.request.server:
        return SERVER
    cap = view.request.settings.get("task.evaluation_rows") or view.lead.task.evaluation_rows
    most = f"at most {cap:,} " if cap else ""
    tested = [column.name for column in columns if column.split == "test"]
    if not tested:
        return f"{most}validation rows"
    if len(tested) == len(columns):
        return f"{most}test rows"
    return f"{most}test rows of {', '.join(tested)}, validation rows of the others"


def scored_columns(view: TableView) -> list[Score]:
    """The columns that are reproduced; all where none is."""
    return view.table.reproduced(view.request) or view.table.scores


def settings(view: TableView) -> str:
    """How the rows are trained: one sentence part for all rows that are trained alike.

    A sweep is that of one column, but for its epochs, where a task has its own; another row's
    setting may differ by column.
    """
    columns = scored_columns(view)
    alike = []
    for row in (one.row for one in view.rows if one.row.trained):
        runs = [view.matrix.of(row.name, column.name) for column in columns]
        own = _own_epochs(runs) if row.swept else None
        specs = runs[0] if row.swept else [spec for some in runs for spec in some]
        alike.append((setting(specs, row.select, own), row.name))
    found = grouped(alike)
    if len(found) == 1:
        return next(iter(found))
    return "; ".join(f"{', '.join(names)}: {said}" for said, names in found.items())


def _own_epochs(runs: Sequence[Sequence[RunSpec]]) -> str | None:
    """From which to which, where no column's are swept and columns differ; else None."""
    of_column = [{spec.recipe.epochs for spec in specs} for specs in runs]
    every = set().union(*of_column)
    if len(every) == 1 or any(len(epochs) > 1 for epochs in of_column):
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
    wide = f"size {either(sizes)}, " if len(set(sizes)) > 1 else ""
    long = f"epochs {own_epochs}" if own_epochs else _counted(epochs, "epoch")
    if specs[0].recipe.look_steps is not None:
        long = either(training_length(spec) for spec in specs)
    return (
        f"{swept}{deep}{wide}{long}, batch {either(batches)}, rate {either(rates)}, "
        f"{either(precisions)}"
    )


def _counted(values: Sequence[object], noun: str) -> str:
    """1 epoch; 3 epochs; 1 or 3 epochs."""
    return f"{either(values)} {noun}{'s' * (set(values) != {1})}"
