"""The printed numbers of Adaptable Adapters."""

from __future__ import annotations

from repro.audit.finding import Finding
from repro.audit.means import Averaged, averages
from repro.audit.numbers import Tables, at, number, reading, rows, unit
from repro.audit.possible import impossible, share_of_constant
from repro.papers.published import Cells, Published
from repro.spec.glue import GLUE

PAPER = "adaptable_adapters"
TASKS = ("MNLI", "QQP", "QNLI", "SST-2", "CoLA", "STS-B", "MRPC", "RTE", "WNLI")
BLOCK, RUNS = "Low-data-100 / ", 5
FOCUSED = tuple(f"{BLOCK}AA-focused^{kind}" for kind in ("spec", "uni", "sim"))
BASELINE = f"{BLOCK}Baseline"
ACCURACIES = {
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


def _items(cells: Cells) -> list[Finding]:
    """Mean accuracies of five runs on the official development rows."""
    found = []
    for cell in cells.values():
        if cell.column in ACCURACIES and cell.metric.startswith("accuracy"):
            task, split = ACCURACIES[cell.column]
            items = next(facts.rows[split] for name, facts in GLUE.items() if name == task)
            row = cell.row.removeprefix(BLOCK)
            slug = f"adaptable-{row}-{cell.column}".lower().replace("^", "-")
            name = f"{row}, {cell.column}"
            found += impossible(PAPER, slug, name, cell, items, cell.n or RUNS)
    return found


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
    """Parameters of adapters in the text: with or without biases."""
    sizes = {"BERT-base": (768, 48, 12), "BERT-large": (1024, 64, 24)}
    found: list[tuple[Published, int, int]] = []
    for name, (d, m, layers) in sizes.items():
        for cell in text.values():
            if cell.metric == "parameters" and cell.row.startswith(name) and cell.value:
                times = layers if "all" in cell.row else 1
                bare, biased = times * 2 * d * m, times * (2 * d * m + d + m)
                if _rounds(cell, bare) and not _rounds(cell, biased):
                    found.append((cell, bare, biased))
    if not found:
        return []
    said = "; ".join(f"{c.row}: {bare:,}, with biases {with_:,}, printed {c.text}"
                     for c, bare, with_ in found)  # fmt: skip
    text_ = "The parameter counts of the text leave out the biases."
    return [Finding("adaptable-counts-without-biases", PAPER, "note", text_, said,
                    found[0][0].source)]  # fmt: skip


def _rounds(cell: Published, count: int) -> bool:
    """Whether a count in k or M is this one, to its digits."""
    scale = 1e6 if "M" in cell.text else 1e3
    return round(count / scale, cell.decimals) == round(number(cell) / scale, cell.decimals)
