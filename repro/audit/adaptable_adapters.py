"""The printed numbers of Adaptable Adapters."""

from __future__ import annotations

import math
from collections.abc import Iterator

from repro.audit.numbers import (
    Cell,
    Finding,
    Numbers,
    at,
    cells_of,
    deviation_of_items,
    of_items,
    of_runs,
    of_table,
    reading,
    share_of_constant,
    slug,
    unit,
)
from repro.papers.adaptable_adapters.tables import TASKS
from repro.spec.glue import GLUE

BLOCK, RUNS = "Low-data-100 / ", 5
FOCUSED = tuple(f"{BLOCK}AA-focused^{kind}" for kind in ("spec", "uni", "sim"))
BASELINE = f"{BLOCK}Baseline"
LAYERS, STEP, CHOSEN = "number of adapter layers", 0.01, "QQP"
"""Metric of counted layers; digits of deviations; the task that AA-focused^uni is chosen on."""
COUNTED = {
    "BERT-base pfeiffer adapter layer": (768, 48, 1),
    "BERT-base all adapter layers": (768, 48, 12),
    "BERT-large adapter layer": (1024, 64, 1),
    "BERT-large all adapter layers": (1024, 64, 24),
}
"""Rows of the text with a number of parameters -> hidden size, bottleneck, layers."""


def check(numbers: Numbers) -> list[Finding]:
    """Impossible accuracies, constant answers, text against table."""
    cells = of_table(numbers, "AA22-T2")
    return [
        *_items(cells),
        *_deviations(cells),
        *_layers(cells),
        *_repeated(cells),
        *_constant(cells),
        *_every_task(cells),
        *_last_layers(cells, of_table(numbers, "AA22-T3")),
        *_counts(of_table(numbers, "AA22-text")),
    ]


def _accuracies(cells: Numbers) -> list[tuple[Cell, int]]:
    """Scores that are accuracies, and the number of official rows that they are of."""
    scores = cells[cells["metric"].str.startswith("accuracy") & cells["column"].isin(TASKS)]
    facts = ((cell, GLUE[TASKS[cell.column]]) for cell in cells_of(scores))
    return [(cell, known.rows[known.evaluation[0]]) for cell, known in facts]


def _items(cells: Numbers) -> Iterator[Finding]:
    """Mean accuracies of five runs on the official development rows."""
    for cell, items in _accuracies(cells):
        row = cell.row.removeprefix(BLOCK)
        name = slug(f"adaptable {row} {cell.column}")
        runs = cell.n or RUNS
        if of_items(cell, items, runs):
            continue
        k = cell.value * items * runs / 100
        text = f"{row}, {cell.column}: no whole number of {items} items gives {cell.printed} %."
        near = " and ".join(
            f"{whole} give {100 * whole / items / runs:.3f}"
            for whole in (math.floor(k), math.ceil(k))
        )
        of = f"{items} items" + f" x {runs} runs" * (runs > 1)
        said = f"{cell.printed} % of {of} is {k:.2f}; {near}"
        yield Finding(f"{name}-impossible", "doubt", text, said, cell.source)


def _deviations(cells: Numbers) -> Iterator[Finding]:
    """Whether squares were divided by the runs, or by one less, in printed deviations."""
    for column, own in cells.dropna(subset="sd").groupby("column", sort=False):
        known = _accuracies(own)
        fits = [
            sum(deviation_of_items(cell, items, RUNS, divisor, STEP) for cell, items in known)
            for divisor in (RUNS, RUNS - 1)
        ]
        if not known or fits[0] != len(known) or fits[1] == len(known):
            continue
        cell, items = known[0]
        wider = math.sqrt(RUNS / (RUNS - 1))
        yield Finding(
            f"adaptable-deviations-{slug(cell.column)}", "note",
            f"Deviations are of the {RUNS} runs themselves (squares divided by {RUNS}): an "
            f"estimate for further runs is {wider:.2f} times as large.",
            f"{column}, {items} items: dividing by {RUNS} gives {fits[0]} of {len(known)} "
            f"printed deviations, by {RUNS - 1} gives {fits[1]}", cell.source)  # fmt: skip


def _layers(cells: Numbers) -> Iterator[Finding]:
    """Mean numbers of layers of five runs; and the task whose architecture all others use."""
    for cell in cells_of(cells[cells["metric"] == LAYERS]):
        if not of_runs(cell, cell.n or RUNS):
            text = f"{cell.row.removeprefix(BLOCK)}, {cell.column}: no {RUNS} runs keep "
            text += f"{cell.printed} layers on average."
            said = f"{cell.printed} x {RUNS} = {cell.value * RUNS:.1f}, no whole number"
            name = f"adaptable-layers-{slug(cell.column)}-impossible"
            yield Finding(name, "doubt", text, said, cell.source)
    kept = {task: c for task in TASKS if (c := at(cells, f"{BLOCK}|AA-focused^spec|", task))}
    least = min((cell.value for cell in kept.values()), default=0.0)
    fewest = [task for task, cell in kept.items() if cell.value == least]
    if CHOSEN in fewest and len(fewest) > 1:
        text = f"{CHOSEN} is said to keep the fewest layers, but is not alone."
        said = ", ".join(f"{task} {kept[task].printed}" for task in fewest)
        source = f"{kept[CHOSEN].source}; section 5"
        yield Finding("adaptable-fewest-layers", "note", text, said, source)


def _repeated(cells: Numbers) -> Iterator[Finding]:
    """Two models with the same mean and the same deviation on one task."""
    scores = cells[(cells["sd"] > 0) & (cells["metric"] != LAYERS) & cells["column"].isin(TASKS)]
    scores = scores[scores.duplicated(["column", "value", "sd"], keep=False)]
    for _, own in scores.groupby(["column", "value", "sd"], sort=False):
        same = cells_of(own)
        task, sd = same[0].column, same[0].sd
        # The architecture that is chosen on one task is also that of all tasks.
        if task == CHOSEN and {cell.row for cell in same} <= set(FOCUSED[:2]):
            continue
        names = " and ".join(cell.row.removeprefix(BLOCK) for cell in same)
        text = f"{names} have the same mean and the same deviation on {task}."
        said = f"both {same[0].printed} +/- {sd:.2f}"
        name = f"adaptable-repeated-{slug(task)}"
        yield Finding(name, "doubt", text, said, same[0].source)


def _constant(cells: Numbers) -> Iterator[Finding]:
    """Five runs that all score the same, and what a constant answer would score."""
    same = cells_of(cells[(cells["column"] == "MRPC") & (cells["sd"] == 0)])
    if not same:
        return
    items = GLUE["mrpc"].rows["validation"]
    share = share_of_constant(same[0].value / 100)
    positive = round(share * items)
    score = 100 * (positive / items + 2 * positive / (items + positive)) / 2
    f1 = same[0].value / (200 - same[0].value)
    if reading(same[0], score) != "rounded":
        return
    names = ", ".join(cell.row.removeprefix(BLOCK) for cell in same)
    yield Finding(
        "adaptable-mrpc-constant", "doubt",
        f"MRPC is {same[0].printed} with deviation 0 in {len(same)} rows ({names}): all runs "
        "answer 'paraphrase', and the score is the mean of accuracy and F1.",
        f"p = {positive}/{items} = {positive / items:.4f} gives "
        f"({100 * positive / items:.2f} + {200 * positive / (items + positive):.2f}) / 2 = "
        f"{score:.2f}; as F1 alone it would "
        f"need p = {f1:.3f}", same[0].source,
    )  # fmt: skip


def _every_task(cells: Numbers) -> Iterator[Finding]:
    """The text: focused architectures are ahead of the baseline in all tasks."""
    lower = []
    scores = cells[cells["column"].isin(TASKS)]
    baseline = {cell.column: cell for cell in cells_of(scores[scores["row"] == BASELINE])}
    for ours in cells_of(scores[scores["row"].isin(FOCUSED)]):
        theirs = baseline.get(ours.column)
        if theirs is not None and ours.value < theirs.value:
            name = f"{ours.column} {ours.row.removeprefix(BLOCK)}"
            lower.append(f"{name} {ours.printed} against {theirs.printed}")
    if not lower:
        return
    source = cells["source"].iloc[0]
    yield Finding(
        "adaptable-all-tasks", "error",
        "The text says that all AA-focused architectures outperform the baseline in all tasks; "
        f"in Table 2 at 100 rows {len(lower)} of {len(FOCUSED) * len(TASKS)} scores are lower.",
        "; ".join(lower), f"{source}; section 5",
    )  # fmt: skip


def _last_layers(cells: Numbers, thirteen: Numbers) -> Iterator[Finding]:
    """Table 3's last 13 layers are AA-focused^sim, of some setting."""
    sim = at(cells, FOCUSED[2], "Avg")
    table = at(thirteen, "last n=13 adapter layers", "Avg (overall)")
    if sim is None or table is None or abs(sim.value - table.value) <= unit(sim):
        return
    text = (
        "Table 3's average with the last 13 layers is not that of AA-focused^sim at 100 rows, the "
        "same model: its data setting is another, and is not stated."
    )
    said = f"{table.printed} against {sim.printed}"
    yield Finding("adaptable-last-13", "doubt", text, said, table.source)


def _counts(text: Numbers) -> Iterator[Finding]:
    """Parameters of adapters in the text: with biases, without, or neither."""
    bare_only = []
    for cell in cells_of(text[text["row"].isin(COUNTED)]):
        d, m, layers = COUNTED[cell.row]
        bare, biased = layers * 2 * d * m, layers * (2 * d * m + d + m)
        said = f"{cell.row}: {bare:,}, with biases {biased:,}, printed {cell.printed}"
        fits = _rounds(cell, bare), _rounds(cell, biased)
        if fits == (True, False):
            bare_only.append((said, cell.source))
        elif fits == (False, False):
            text_ = f"{cell.row} is printed with {cell.printed} parameters, not those of its maps."
            name = f"adaptable-count-{slug(cell.row)}"
            yield Finding(name, "error", text_, said, cell.source)
    if bare_only:
        text_ = "The parameter counts of the text leave out the biases."
        said = "; ".join(said for said, _ in bare_only)
        name = "adaptable-counts-without-biases"
        yield Finding(name, "note", text_, said, bare_only[0][1])


def _rounds(cell: Cell, count: int) -> bool:
    """Whether a count in k or M is this one, to its digits."""
    scale = 1e6 if cell.value >= 1e6 else 1e3
    return round(count / scale, cell.decimals) == round(cell.value / scale, cell.decimals)
