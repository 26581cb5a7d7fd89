"""The printed numbers of HyperFormer."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence

from repro.audit.numbers import (
    Averaged,
    Found,
    Numbers,
    at,
    averaged,
    averages,
    cells_of,
    item_counts,
    of_table,
    reading,
    unit,
)

TASKS = 8
SIZES = {"SMALL": (6, 512, 60_506_624, 16_384), "BASE": (12, 768, 222_903_552, 47_616)}
"""T5 v1.0: layers of a stack, hidden size, all parameters, those of the layer norms."""
REDUCTION, EMBEDDING, PROJECTED, MIDDLE = 32, 64, 512, 128
"""Released configuration: bottleneck h / 32, embedding t = 64, z of HyperFormer 512, MLP 128."""


def check(numbers: Numbers) -> list[Found]:
    """The average, parameter columns from module shapes, item counts, and table against table."""
    cells = of_table(numbers, "HF21-T1")
    known = averaged(cells[~cells["column"].str.startswith("#")], "Avg")
    return [
        *averages("Avg of Table 1", "hyperformer-average", known),
        *_rule(known),
        *_shares(cells),
        *_totals(cells),
        *_items(cells),
        *_ablation(cells, of_table(numbers, "HF21-T4")),
    ]


def _rule(known: Sequence[Averaged]) -> Iterator[Found]:
    """Both metrics of a task count, or tasks count once: which of the two gives every row."""
    by_number, by_task = (
        sum(reading(one.average, rule(one)) == "rounded" for one in known)
        for rule in (lambda one: one.mean, _by_task)
    )
    if by_task >= by_number:
        return
    one = known[-1]
    yield Found(
        "hyperformer-eleven-numbers", "note",
        f"Avg is the mean of {len(one.parts)} printed numbers, not of {TASKS} tasks: both "
        "metrics of MRPC, QQP and STS-B count.",
        f"{one.row}: {one.sum}, printed {one.average.printed}; over tasks {_by_task(one):.2f}. "
        f"So in {by_number} of {len(known)} rows, over tasks in {by_task}", one.average.source,
    )  # fmt: skip


def _by_task(one: Averaged) -> float:
    of_task: dict[str, list[float]] = {}
    for part in one.parts:
        of_task.setdefault(part.column, []).append(part.value)
    return statistics.fmean(statistics.fmean(values) for values in of_task.values())


def parameters(kind: str, size: str, shared: bool = False) -> int:
    """Trained parameters of "adapters", "dagger", "hyperformer", "hyperformer++" for "SMALL" or
    "BASE", from the shapes of the released modules. `shared`: HyperFormer as its released
    configuration has it, one set of generators a stack and place, told the layer by an embedding.
    """
    layers, h, _, norms = SIZES[size]
    d, t, slots = h // REDUCTION, EMBEDDING, 2 * 2 * layers
    adapter, norm = 2 * h * d + h + d, 2 * h
    generators = (t + 1) * (adapter + norm)  # a Linear with bias for each generated tensor
    match kind:
        case "adapters":
            return slots * (adapter + norm) + norms
        case "dagger":
            return slots * (TASKS * adapter + norm) + norms
        case "hyperformer":
            if shared:
                stack = 2 * generators + _projector(2 * t) + 2 * t + layers * t
                return 2 * stack + TASKS * t + norms
            return slots * generators + _projector(PROJECTED) + TASKS * PROJECTED + norms
        case _:
            stack = generators + _projector(3 * t) + 2 * t + (layers + 2) * t
            return 2 * stack + TASKS * t + norms


def _projector(width: int) -> int:
    """The MLP from an embedding, or several joined, to the one that the generators read."""
    return (width + 1) * MIDDLE + (MIDDLE + 1) * EMBEDDING


KINDS = {
    "Single-task / Adapters_{}": ("adapters", 1),
    "Multi-task / Adapters_{} dagger": ("dagger", TASKS),
    "Multi-task / HYPERFORMER_{}": ("hyperformer", TASKS),
    "Multi-task / HYPERFORMER++_{}": ("hyperformer++", TASKS),
}
"""Row -> model, and by how many tasks its parameters are shared."""


def _shares(cells: Numbers) -> Iterator[Found]:
    """Trained parameters a task, in percent of T5."""
    for size, (*_, whole, _) in SIZES.items():
        for pattern, (kind, tasks) in KINDS.items():
            cell = at(cells, pattern.format(size), "#Trained params / per task")
            if cell is None:
                continue
            count = parameters(kind, size)
            exact = 100 * count / tasks / whole
            if reading(cell, exact) == "rounded":
                continue
            text = f"{cell.row} trains {exact:.3f} % a task by its modules, printed {cell.printed}."
            said = f"{count:,} / {tasks} / {whole:,} = {exact:.3f} %"
            slug = f"hyperformer-share-{kind}-{size}".lower()
            yield Found(slug, "error", text, said, cell.source)
    cell = at(cells, "Multi-task / HYPERFORMER_BASE", "#Trained params / per task")
    if cell is not None:
        *_, whole, _ = SIZES["BASE"]
        counts = [parameters("hyperformer", "BASE", shared) for shared in (False, True)]
        paper, released = (100 * count / TASKS / whole for count in counts)
        if reading(cell, paper) == "rounded" and reading(cell, released) == "off":
            yield Found(
                "hyperformer-released-configuration", "doubt",
                "The printed HyperFormer has a hypernetwork for every layer and place; the "
                "released configuration shares them and is another model.",
                f"own hypernetworks {counts[0]:,} = {paper:.2f} %, shared {counts[1]:,} = "
                f"{released:.2f} %, printed {cell.printed}", cell.source)  # fmt: skip


def _totals(cells: Numbers) -> Iterator[Found]:
    """All tasks' parameters in T5s; its own layer norms, which train, are not added."""
    short = []
    for size, (*_, whole, norms) in SIZES.items():
        for pattern, (kind, tasks) in KINDS.items():
            cell = at(cells, pattern.format(size), "#Total params")
            if cell is None or tasks == 1:
                continue
            exact = 1 + (parameters(kind, size) - norms) / whole
            if reading(cell, exact) != "rounded":
                short.append((cell, exact))
    if not short:
        return
    said = "; ".join(f"{cell.row}: {exact:.3f}, printed {cell.printed}" for cell, exact in short)
    text = "Printed totals of parameters are below what the modules give, rounded."
    yield Found("hyperformer-totals-low", "note", text, said, short[0][0].source)


def _items(cells: Numbers) -> Iterator[Found]:
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
        yield Found(slug, "note", text, said, column[0].source)


def _ablation(cells: Numbers, ablation: Numbers) -> Iterator[Found]:
    """The ablation's whole model is that of Table 1."""
    whole = at(ablation, "HYPERFORMER_SMALL", "GLUE")
    average = at(cells, "Multi-task / HYPERFORMER_SMALL", "Avg")
    if whole is None or average is None or abs(whole.value - average.value) < unit(whole) / 2:
        return
    text = "The whole model of the ablation scores another average than in Table 1."
    said = f"{whole.printed} against {average.printed}"
    yield Found("hyperformer-ablation-start", "error", text, said, whole.source)
