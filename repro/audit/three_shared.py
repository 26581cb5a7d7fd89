"""The printed numbers of the 3-shared report."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator

from repro.audit.numbers import Finding, Numbers, cells_of, of_table
from repro.methods.inside import adapter_parameters
from repro.papers.three_shared.tables import SPANS
from repro.spec.backbones import BERT_BASE, KNOWN

SIZE = 64
FEW = 2
"""Tasks that should not carry a gain on average."""


def check(numbers: Numbers) -> list[Finding]:
    """The gain, parameter counts, and the grid of ablated layers."""
    one, three, grid = (of_table(numbers, f"SR20-{name}") for name in ("T1", "T3", "F8"))
    return [*_gain(three), *_counts(one), *_grid(grid)]


def _gain(cells: Numbers) -> Iterator[Finding]:
    """Table 3: how many of its tasks the gain over fine-tuning rests on."""
    wide = cells[cells["row"] != "Average"].pivot(index="row", columns="column", values="value")
    gain = (wide["Ours (not shared)"] - wide["BERT-base (full fine-tuning)"]).dropna()
    gains = gain.sort_values(ascending=False, kind="stable").to_dict()
    total, carried = math.fsum(gains.values()), []
    for row in gains:
        if total <= 0:
            break
        carried.append(row)
        total -= gains[row]
    rest = len(gains) - len(carried)
    if total > 0 or not rest or len(carried) > FEW:
        return
    said = ", ".join(f"{row} {gains[row]:+.1f}" for row in carried)
    yield Finding(
        "three-shared-gain-of-few", "doubt",
        f"The gain of Table 3 rests on {len(carried)} of {len(gains)} tasks: on the others "
        "together the adapters are not ahead.",
        f"({math.fsum(gains.values()):+.1f}) / {len(gains)} = "
        f"{statistics.fmean(gains.values()):+.2f} on average; {said}; the other {rest}: "
        f"({total:+.1f}) / {rest} = {total / rest:+.2f}", cells["source"].iloc[0],
    )  # fmt: skip


def _counts(cells: Numbers) -> Iterator[Finding]:
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
    for cell in cells_of(cells):
        if cell.row not in expected or cell.metric != "parameters":
            continue
        count, said = expected[cell.row]
        if cell.value != count:
            text = (
                f"{cell.row} is printed with {cell.printed} parameters; its modules have {count:,}."
            )
            slug = f"three-shared-count-{cell.row.split()[-1].strip('()').lower()}"
            yield Finding(slug, "error", text, said, cell.source)


def _grid(cells: Numbers) -> Iterator[Finding]:
    """Figure 8: what loses more, a span of layers or one that lies within it."""
    drops = {SPANS[cell.row, cell.column]: cell.value for cell in cells_of(cells) if cell.column}
    if not drops:
        return
    widest = max(drops, key=lambda span: span[1] - span[0])
    inner = {span: drop for span, drop in drops.items() if span != widest}
    worst = max(inner, key=lambda span: inner[span])
    if drops[widest] >= inner[worst]:
        return
    source = cells["source"].iloc[0]
    yield Finding(
        "three-shared-all-layers", "doubt",
        "Without the adapters of all layers the score drops less than without those of layers "
        f"{worst[0]} to {worst[1]}.",
        f"drop of {widest[0]} to {widest[1]}: {drops[widest]:.3f}; "
        f"of {worst[0]} to {worst[1]}: {inner[worst]:.3f}", source,
    )  # fmt: skip
