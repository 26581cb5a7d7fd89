"""The printed numbers of HyperFormer."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence

from repro.audit.numbers import (
    Averaged,
    Finding,
    Numbers,
    at,
    averaged,
    cells_of,
    item_counts,
    of_table,
    reading,
    unit,
)
from repro.methods.t5 import t5_norms
from repro.papers.hyperformer.runs import table_runs
from repro.papers.hyperformer.setting import DAGGER, HYPER, PLUS, SEED, SINGLE, SIZES
from repro.papers.hyperformer.tables import PRINTED, row_of
from repro.papers.matrix import tasks_of
from repro.papers.request import Request
from repro.spec import RunSpec

MODELS = {"adapters": SINGLE, "dagger": DAGGER, "hyperformer": HYPER, "hyperformer++": PLUS}


def check(numbers: Numbers) -> list[Finding]:
    """What the average is of, parameters from module shapes, item counts, table against table."""
    cells = of_table(numbers, "HF21-T1")
    known = averaged(cells[~cells["column"].str.startswith("#")], "Avg")
    return [
        *_rule(known),
        *_shares(cells),
        *_totals(cells),
        *_items(cells),
        *_ablation(cells, of_table(numbers, "HF21-T4")),
    ]


def _rule(known: Sequence[Averaged]) -> Iterator[Finding]:
    """Both metrics of a task count, or tasks count once: which of the two gives every row."""
    by_number, by_task = (
        sum(reading(one.average, rule(one)) == "rounded" for one in known)
        for rule in (lambda one: one.mean, _by_task)
    )
    if by_task >= by_number:
        return
    one = known[-1]
    yield Finding(
        "hyperformer-eleven-numbers", "note",
        f"Avg is the mean of {len(one.parts)} printed numbers, not of {len(PRINTED)} tasks: both "
        "metrics of MRPC, QQP and STS-B count.",
        f"{one.row}: {one.sum}, printed {one.average.printed}; over tasks {_by_task(one):.2f}. "
        f"So in {by_number} of {len(known)} rows, over tasks in {by_task}", one.average.source,
    )  # fmt: skip


def _by_task(one: Averaged) -> float:
    of_task: dict[str, list[float]] = {}
    for part in one.parts:
        of_task.setdefault(part.column, []).append(part.value)
    return statistics.fmean(statistics.fmean(values) for values in of_task.values())


def _counted(released: bool = False) -> Iterator[tuple[str, str, RunSpec]]:
    """Kind of model, row of Table 1, and the run whose modules are counted; T5 itself left out."""
    request = Request("Hyperformer-1", "paper", 1, as_released=released)
    for size in SIZES:
        for kind, model in MODELS.items():
            run = table_runs(model, size, "cola", request).run(SEED)
            yield f"{kind}-{size}".lower(), row_of(model, size), run


def _share(run: RunSpec) -> float:
    """Trained parameters a task, in percent of T5."""
    return 100 * run.trained_parameters() / len(tasks_of(run)) / run.backbone.parameters


def _shares(cells: Numbers) -> Iterator[Finding]:
    """Trained parameters a task; those of HyperFormer also as its released configuration has it."""
    for name, row, run in _counted():
        cell, exact = at(cells, row, "#Trained params / per task"), _share(run)
        if cell is None or reading(cell, exact) == "rounded":
            continue
        text = f"{row} trains {exact:.3f} % a task by its modules, printed {cell.printed}."
        said = f"{run.trained_parameters():,} / {len(tasks_of(run))} / {run.backbone.parameters:,}"
        said += f" = {exact:.3f} %"
        yield Finding(f"hyperformer-share-{name}", "error", text, said, cell.source)
    cell = at(cells, "Multi-task / HYPERFORMER_BASE", "#Trained params / per task")
    paper, released = (
        next(run for name, _, run in _counted(which) if name == "hyperformer-base")
        for which in (False, True)
    )
    if cell is None or reading(cell, _share(paper)) != "rounded":
        return
    if reading(cell, _share(released)) == "off":
        yield Finding(
            "hyperformer-released-configuration", "doubt",
            "The printed HyperFormer has a hypernetwork for every layer and place; the "
            "released configuration shares them and is another model.",
            f"own hypernetworks {paper.trained_parameters():,} = {_share(paper):.2f} %, shared "
            f"{released.trained_parameters():,} = {_share(released):.2f} %, printed {cell.printed}",
            cell.source)  # fmt: skip


def _totals(cells: Numbers) -> Iterator[Finding]:
    """All tasks' parameters in T5s; its own layer norms, which train, are not added."""
    short = []
    for _, row, run in _counted():
        cell = at(cells, row, "#Total params")
        added = run.trained_parameters() - t5_norms(run.backbone)
        exact = 1 + added / run.backbone.parameters
        if cell is not None and len(tasks_of(run)) > 1 and reading(cell, exact) != "rounded":
            short.append((cell, exact))
    if not short:
        return
    said = "; ".join(f"{cell.row}: {exact:.3f}, printed {cell.printed}" for cell, exact in short)
    text = "Printed totals of parameters are below what the modules give, rounded."
    yield Finding("hyperformer-totals-low", "note", text, said, short[0][0].source)


def _items(cells: Numbers) -> Iterator[Finding]:
    """How many items the accuracies of the halved development sets can be of."""
    for task, whole in (("RTE", 277), ("MRPC", 408)):
        column = [c for c in cells_of(cells) if (c.column, c.metric) == (task, "accuracy")]
        half = range(whole // 2 - 1, whole // 2 + 2)
        fits = item_counts(column, range(50, whole + 1))
        if not column or whole in fits:
            continue
        inside = [items for items in half if items in fits]
        told = f"{inside[0]}, about half of them" if inside else "other numbers of items"
        text = f"Accuracies of {task} are not of its {whole} development rows, but of {told}."
        said = f"with up to {whole} items all {len(column)} accuracies can be had of {fits}"
        slug = f"hyperformer-items-{task.lower()}"
        yield Finding(slug, "note", text, said, column[0].source)


def _ablation(cells: Numbers, ablation: Numbers) -> Iterator[Finding]:
    """The ablation's whole model is that of Table 1."""
    whole = at(ablation, "HYPERFORMER_SMALL", "GLUE")
    average = at(cells, "Multi-task / HYPERFORMER_SMALL", "Avg")
    if whole is None or average is None or abs(whole.value - average.value) < unit(whole) / 2:
        return
    text = "The whole model of the ablation scores another average than in Table 1."
    said = f"{whole.printed} against {average.printed}"
    yield Finding("hyperformer-ablation-start", "error", text, said, whole.source)
