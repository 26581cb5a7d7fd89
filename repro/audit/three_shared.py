"""The printed numbers of the 3-shared report."""

from __future__ import annotations

import math
import re
import statistics

from repro.audit.finding import Finding
from repro.audit.means import Averaged, averages
from repro.audit.numbers import Tables, at, number, rows
from repro.papers.published import Cells
from repro.spec.backbones import BERT_BASE, KNOWN
from repro.spec.counts import adapter_parameters

PAPER = "three_shared"
GLUE = ("CoLA", "SST-2", "MRPC", "STS-B", "QQP", "MNLI(m)", "MNLI(mm)", "QNLI", "RTE")
SIZE = 64
FEW = 2
"""Tasks that should not carry a gain on average."""


def check(tables: Tables) -> list[Finding]:
    """Averages, parameter counts, and the grid of ablated layers."""
    return [
        *averages(PAPER, "Total of Table 2", "three-shared-total", glue_rows(tables["SR20-T2"])),
        *averages(PAPER, "Average of Table 3", "three-shared-average", further(tables["SR20-T3"])),
        *_gain(tables["SR20-T3"]),
        *_counts(tables["SR20-T1"]),
        *_grid(tables["SR20-F8"]),
    ]


def glue_rows(cells: Cells) -> list[Averaged]:
    """Table 2: nine columns and the Total."""
    return [
        Averaged(row, total, parts)
        for row in rows(cells)
        if (total := at(cells, row, "Total"))
        and len(parts := tuple(c for name in GLUE if (c := at(cells, row, name)))) == len(GLUE)
    ]


def further(cells: Cells) -> list[Averaged]:
    """Table 3, whose rows are tasks."""
    columns = dict.fromkeys(column for _, column, _ in cells)
    return [
        Averaged(
            column,
            average,
            tuple(c for (row, n, _), c in cells.items() if n == column and row != "Average"),
        )
        for column in columns
        if (average := at(cells, "Average", column))
    ]


def _gain(cells: Cells) -> list[Finding]:
    """Table 3: how many of its tasks the gain over fine-tuning rests on."""
    tuned, ours = "BERT-base (full fine-tuning)", "Ours (not shared)"
    gains = {
        row: number(b) - number(a)
        for row in rows(cells)
        if row != "Average" and (a := at(cells, row, tuned)) and (b := at(cells, row, ours))
    }
    total, carried = math.fsum(gains.values()), []
    for row in sorted(gains, key=lambda row: -gains[row]):
        if total <= 0:
            break
        carried.append(row)
        total -= gains[row]
    rest = len(gains) - len(carried)
    if total > 0 or not rest or len(carried) > FEW:
        return []
    said = ", ".join(f"{row} {gains[row]:+.1f}" for row in carried)
    return [
        Finding(
            "three-shared-gain-of-few", PAPER, "doubt",
            f"The gain of Table 3 rests on {len(carried)} of {len(gains)} tasks: on the others "
            "together the adapters are not ahead.",
            f"({math.fsum(gains.values()):+.1f}) / {len(gains)} = "
            f"{statistics.fmean(gains.values()):+.2f} on average; {said}; the other {rest}: "
            f"({total:+.1f}) / {rest} = {total / rest:+.2f}", next(iter(cells.values())).source,
        )
    ]  # fmt: skip


def _counts(cells: Cells) -> list[Finding]:
    """Table 1's parameters, from the shapes of the modules."""
    base = KNOWN[BERT_BASE]
    d, adapter = base.hidden_size, adapter_parameters(SIZE, base.hidden_size)
    norms, head = base.layers * 2 * 2 * d, d * d + d
    expected = {
        "Houlsby": (base.layers * adapter, f"12 x (2 x 64 x 768 + 64 + 768) = 12 x {adapter:,}"),
        "Ours (not shared)": (
            base.layers * 2 * adapter + norms + head,
            f"24 x {adapter:,} + {norms:,} of the layer norms + {head:,} of the first classifier",
        ),
        "Ours (3-shared)": (base.layers // 3 * adapter, f"4 x {adapter:,}"),
    }
    found = []
    for cell in cells.values():
        if cell.row not in expected or cell.metric != "parameters" or cell.value is None:
            continue
        count, said = expected[cell.row]
        if number(cell) != count:
            text = f"{cell.row} is printed with {cell.text} parameters; its modules have {count:,}."
            slug = f"three-shared-count-{cell.row.split()[-1].strip('()').lower()}"
            found.append(Finding(slug, PAPER, "error", text, said, cell.source))
    return found


def _grid(cells: Cells) -> list[Finding]:
    """Figure 8: what loses more, a span of layers or one that lies within it."""
    drops = {}
    for cell in cells.values():
        spans = re.findall(r"ablated layer (\d+)", f"{cell.row} {cell.column}")
        if len(spans) == 2 and cell.value is not None:
            drops[int(spans[0]), int(spans[1])] = number(cell)
    if not drops:
        return []
    widest = max(drops, key=lambda span: span[1] - span[0])
    inner = {span: drop for span, drop in drops.items() if span != widest}
    worst = max(inner, key=lambda span: inner[span])
    if drops[widest] >= inner[worst]:
        return []
    source = next(iter(cells.values())).source
    return [
        Finding(
            "three-shared-all-layers", PAPER, "doubt",
            "Without the adapters of all layers the score drops less than without those of layers "
            f"{worst[0]} to {worst[1]}.",
            f"drop of {widest[0]} to {widest[1]}: {drops[widest]:.3f}; "
            f"of {worst[0]} to {worst[1]}: {inner[worst]:.3f}", source,
        )
    ]  # fmt: skip
