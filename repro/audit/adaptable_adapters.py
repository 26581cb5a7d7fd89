"""The printed numbers of Adaptable Adapters."""

from __future__ import annotations

import math

from repro.audit.finding import Finding
from repro.audit.means import Averaged, averages
from repro.audit.numbers import Tables, at, number, reading, rows, slug, unit
from repro.audit.possible import (
    deviation_of_items,
    impossible,
    of_runs,
    share_of_constant,
)
from repro.papers.published import Cells, Published
from repro.spec.glue import GLUE
from repro.spec.tasks import GlueName

PAPER = "adaptable_adapters"
TASKS = ("MNLI", "QQP", "QNLI", "SST-2", "CoLA", "STS-B", "MRPC", "RTE", "WNLI")
BLOCK, RUNS = "Low-data-100 / ", 5
FOCUSED = tuple(f"{BLOCK}AA-focused^{kind}" for kind in ("spec", "uni", "sim"))
BASELINE = f"{BLOCK}Baseline"
LAYERS, STEP, CHOSEN = "number of adapter layers", 0.01, "QQP"
"""Metric of counted layers; digits of deviations; the task that AA-focused^uni is chosen on."""
ACCURACIES: dict[str, tuple[GlueName, str]] = {
    "MNLI": ("mnli", "validation_matched"), "QNLI": ("qnli", "validation"),
    "SST-2": ("sst2", "validation"), "RTE": ("rte", "validation"), "WNLI": ("wnli", "validation"),
}  # fmt: skip
"""Columns of accuracy, and the official rows that they are of."""


def check(tables: Tables) -> list[Finding]:
    """Averages and gains, impossible accuracies, constant answers, text against table."""
    cells = tables["AA22-T2"]
    return [
        *averages(PAPER, "Avg of Table 2", "adaptable-average", averaged(cells)),
        *_gain(cells),
        *_items(cells),
        *_deviations(cells),
        *_layers(cells),
        *_repeated(cells),
        *_constant(cells),
        *_every_task(cells),
        *_last_layers(cells, tables["AA22-T3"]),
        *_counts(tables["AA22-text"]),
    ]


def averaged(cells: Cells) -> list[Averaged]:
    """Nine columns and Avg."""
    return [
        Averaged(row, average, parts)
        for row in rows(cells)
        if (average := at(cells, row, "Avg"))
        and len(parts := tuple(c for task in TASKS if (c := at(cells, row, task)))) == len(TASKS)
    ]


def _gain(cells: Cells) -> list[Finding]:
    """The gain that the text states, from the two averages."""
    said = at(cells, f"{BLOCK}AA-focused^uni minus Baseline", "Avg")
    focused, baseline = at(cells, FOCUSED[1], "Avg"), at(cells, BASELINE, "Avg")
    if said is None or focused is None or baseline is None:
        return []
    exact = number(focused) - number(baseline)
    if reading(said, exact) != "off":
        return []
    text = f"The gain of AA-focused^uni is stated as {said.text}; the averages give {exact:.2f}."
    return [
        Finding("adaptable-gain", PAPER, "error", text, f"{focused.text} - {baseline.text}",
                said.source)
    ]  # fmt: skip


def _accuracies(cells: Cells) -> list[tuple[Published, int]]:
    """Scores that are accuracies, and the number of items that they are of."""
    return [
        (cell, GLUE[task].rows[split])
        for cell in cells.values()
        if cell.metric.startswith("accuracy") and cell.column in ACCURACIES
        for task, split in [ACCURACIES[cell.column]]
    ]


def _items(cells: Cells) -> list[Finding]:
    """Mean accuracies of five runs on the official development rows."""
    found = []
    for cell, items in _accuracies(cells):
        row = cell.row.removeprefix(BLOCK)
        name = slug(f"adaptable {row} {cell.column}")
        found += impossible(PAPER, name, f"{row}, {cell.column}", cell, items, cell.n or RUNS)
    return found


def _deviations(cells: Cells) -> list[Finding]:
    """Whether squares were divided by the runs, or by one less, in printed deviations."""
    found = []
    for column in ACCURACIES:
        known = [(c, n) for c, n in _accuracies(cells) if c.column == column and c.sd is not None]
        fits = [
            sum(deviation_of_items(cell, items, RUNS, divisor, STEP) for cell, items in known)
            for divisor in (RUNS, RUNS - 1)
        ]
        if not known or fits[0] != len(known) or fits[1] == len(known):
            continue
        cell, items = known[0]
        wider = math.sqrt(RUNS / (RUNS - 1))
        found.append(
            Finding(
                f"adaptable-deviations-{slug(column)}", PAPER, "note",
                f"Deviations are of the {RUNS} runs themselves (squares divided by {RUNS}): an "
                f"estimate for further runs is {wider:.2f} times as large.",
                f"{column}, {items} items: dividing by {RUNS} gives {fits[0]} of {len(known)} "
                f"printed deviations, by {RUNS - 1} gives {fits[1]}", cell.source,
            )
        )  # fmt: skip
    return found


def _layers(cells: Cells) -> list[Finding]:
    """Mean numbers of layers of five runs; and the task whose architecture all others use."""
    found = []
    for cell in cells.values():
        if cell.metric == LAYERS and not of_runs(cell, cell.n or RUNS):
            text = f"{cell.row.removeprefix(BLOCK)}, {cell.column}: no {RUNS} runs keep "
            text += f"{cell.text} layers on average."
            said = f"{cell.text} x {RUNS} = {number(cell) * RUNS:.1f}, no whole number"
            name = f"adaptable-layers-{slug(cell.column)}-impossible"
            found.append(Finding(name, PAPER, "doubt", text, said, cell.source))
    kept = {task: c for task in TASKS if (c := at(cells, f"{BLOCK}|AA-focused^spec|", task))}
    fewest = [t for t, cell in kept.items() if number(cell) == min(map(number, kept.values()))]
    if CHOSEN in fewest and len(fewest) > 1:
        text = f"{CHOSEN} is said to keep the fewest layers, but is not alone."
        said = ", ".join(f"{task} {kept[task].text}" for task in fewest)
        source = f"{kept[CHOSEN].source}; section 5"
        found.append(Finding("adaptable-fewest-layers", PAPER, "note", text, said, source))
    return found


def _repeated(cells: Cells) -> list[Finding]:
    """Two models with the same mean and the same deviation on one task."""
    of_value: dict[tuple[str, float, float], list[Published]] = {}
    for cell in cells.values():
        if cell.sd and cell.metric != LAYERS and cell.column in TASKS:
            of_value.setdefault((cell.column, number(cell), cell.sd), []).append(cell)
    found = []
    for (task, _, sd), same in of_value.items():
        if len(same) < 2 or _same_layers(cells, task, same):
            continue
        names = " and ".join(cell.row.removeprefix(BLOCK) for cell in same)
        text = f"{names} have the same mean and the same deviation on {task}."
        said = f"both {same[0].text} +/- {sd:.2f}"
        name = f"adaptable-repeated-{slug(task)}"
        found.append(Finding(name, PAPER, "doubt", text, said, same[0].source))
    return found


def _same_layers(cells: Cells, task: str, same: list[Published]) -> bool:
    """Whether these are one architecture: the chosen task's, which is also that of all tasks."""
    return task == CHOSEN and {cell.row for cell in same} <= set(FOCUSED[:2])


def _constant(cells: Cells) -> list[Finding]:
    """Five runs that all score the same, and what a constant answer would score."""
    same = [c for c in cells.values() if c.column == "MRPC" and c.sd == 0]
    if not same:
        return []
    items = GLUE["mrpc"].rows["validation"]
    share = share_of_constant(number(same[0]) / 100)
    positive = round(share * items)
    score = 100 * (positive / items + 2 * positive / (items + positive)) / 2
    f1 = number(same[0]) / (200 - number(same[0]))
    if reading(same[0], score) != "rounded":
        return []
    names = ", ".join(cell.row.removeprefix(BLOCK) for cell in same)
    return [
        Finding(
            "adaptable-mrpc-constant", PAPER, "doubt",
            f"MRPC is {same[0].text} with deviation 0 in {len(same)} rows ({names}): all runs "
            "answer 'paraphrase', and the score is the mean of accuracy and F1.",
            f"p = {positive}/{items} = {positive / items:.4f} gives "
            f"({100 * positive / items:.2f} + {200 * positive / (items + positive):.2f}) / 2 = "
            f"{score:.2f}; as F1 alone it would "
            f"need p = {f1:.3f}", same[0].source,
        )
    ]  # fmt: skip


def _every_task(cells: Cells) -> list[Finding]:
    """The text: focused architectures are ahead of the baseline in all tasks."""
    lower = []
    for row in FOCUSED:
        for task in TASKS:
            ours, theirs = at(cells, row, task), at(cells, BASELINE, task)
            if ours is not None and theirs is not None and number(ours) < number(theirs):
                lower.append(f"{task} {row.removeprefix(BLOCK)} {ours.text} against {theirs.text}")
    if not lower:
        return []
    source = next(iter(cells.values())).source
    return [
        Finding(
            "adaptable-all-tasks", PAPER, "error",
            "The text says that all AA-focused architectures outperform the baseline in all tasks; "
            f"in Table 2 at 100 rows {len(lower)} of {len(FOCUSED) * len(TASKS)} scores are lower.",
            "; ".join(lower), f"{source}; section 5",
        )
    ]  # fmt: skip


def _last_layers(cells: Cells, thirteen: Cells) -> list[Finding]:
    """Table 3's last 13 layers are AA-focused^sim, of some setting."""
    sim = at(cells, FOCUSED[2], "Avg")
    table = at(thirteen, "last n=13 adapter layers", "Avg (overall)")
    if sim is None or table is None or abs(number(sim) - number(table)) <= unit(sim):
        return []
    text = (
        "Table 3's average with the last 13 layers is not that of AA-focused^sim at 100 rows, the "
        "same model: its data setting is another, and is not stated."
    )
    said = f"{table.text} against {sim.text}"
    return [Finding("adaptable-last-13", PAPER, "doubt", text, said, table.source)]


def _counts(text: Cells) -> list[Finding]:
    """Parameters of adapters in the text: with biases, without, or neither."""
    sizes = {"BERT-base": (768, 48, 12), "BERT-large": (1024, 64, 24)}
    found, bare_only = [], []
    for name, (d, m, layers) in sizes.items():
        for cell in text.values():
            if cell.metric != "parameters" or not cell.row.startswith(name) or cell.value is None:
                continue
            times = layers if "all" in cell.row else 1
            bare, biased = times * 2 * d * m, times * (2 * d * m + d + m)
            said = f"{cell.row}: {bare:,}, with biases {biased:,}, printed {cell.text}"
            fits = _rounds(cell, bare), _rounds(cell, biased)
            if fits == (True, False):
                bare_only.append((said, cell.source))
            elif fits == (False, False):
                text_ = f"{cell.row} is printed with {cell.text} parameters, not those of its maps."
                slugged = f"adaptable-count-{slug(cell.row)}"
                found.append(Finding(slugged, PAPER, "error", text_, said, cell.source))
    if bare_only:
        text_ = "The parameter counts of the text leave out the biases."
        said = "; ".join(said for said, _ in bare_only)
        name = "adaptable-counts-without-biases"
        found.append(Finding(name, PAPER, "note", text_, said, bare_only[0][1]))
    return found


def _rounds(cell: Published, count: int) -> bool:
    """Whether a count in k or M is this one, to its digits."""
    scale = 1e6 if number(cell) >= 1e6 else 1e3
    return round(count / scale, cell.decimals) == round(number(cell) / scale, cell.decimals)
