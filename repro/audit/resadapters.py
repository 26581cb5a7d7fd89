"""The printed numbers of ResAdapters."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from repro.audit.numbers import (
    SLACK,
    Finding,
    Mixed,
    Numbers,
    at,
    cells_of,
    common_share,
    of_table,
    reading,
    slug,
    unit,
)
from repro.methods.resadapters import PipelinedCells
from repro.spec.backbones import BERT_BASE, KNOWN

TABLES = ("RA-T1", "RA-T2")
OFFICIAL = "official development set"
SETS = {OFFICIAL: (5_945, 11_873), "CS224n development set": (3_168, 6_078)}
"""Questions without an answer, and all, of the two sets that are in use (SQuAD 2.0; CS224n)."""
BERT = "trained parameters, BERT full fine-tuning"
COUNTS: dict[Literal["relu", "attention"], str] = {
    "relu": "trained parameters, Non Linear models",
    "attention": "trained parameters, With Attention models",
}
"""The middle of a cell -> where the text counts such models."""
BOTTLENECK, LENGTH = 200, 384
"""Width of a cell and positions of a window in the released notebook."""


def check(numbers: Numbers) -> list[Finding]:
    """The mixture of ALL, what no answer scores, F1 and EM, parameters."""
    scores = numbers[numbers["table"].isin(TABLES)]
    text, found = of_table(numbers, "RA-text"), mixtures(scores)
    low, high, misfits = common_share(found)
    return [
        *_evaluated(found, low, high, len(misfits)),
        *[_misfit(mixed, (low + high) / 2) for mixed in misfits],
        *_null(found, (low + high) / 2),
        *_order(scores),
        *_share(text),
        *_counts(text),
    ]


def mixtures(scores: Numbers) -> list[Mixed]:
    """ALL = p NoAns + (1 - p) HasAns, for exact match and F1 of every row."""
    found = []
    metric = scores["metric"].str.slice(0, 2)  # EM or F1
    for names, own in scores.groupby(["table", "row", metric], sort=False):
        of = {cell.column: cell for cell in cells_of(own)}
        if {"ALL", "NoAns", "HasAns"} <= set(of):
            found.append(Mixed(", ".join(names), of["ALL"], of["NoAns"], of["HasAns"]))
    return found


def _evaluated(found: list[Mixed], low: float, high: float, misfits: int) -> Iterator[Finding]:
    """The p that fits is the share of unanswerable questions in what was scored."""
    named = [name for name, (no, all_) in SETS.items() if low - SLACK <= no / all_ <= high + SLACK]
    if OFFICIAL in named:
        return
    others = "; ".join(f"{name}: {no:,} of {n:,} = {no / n:.2%}" for name, (no, n) in SETS.items())
    yield Finding(
        "resadapters-evaluation-mix", "doubt",
        "The scores are not of the official development set, but of one with "
        f"{(low + high) / 2:.2%} of its questions unanswerable"
        f"{': the ' + named[0] if named else ''}.",
        f"ALL = p x NoAns + (1 - p) x HasAns holds for {len(found) - misfits} of "
        f"{len(found)} scores with p from {low:.2%} to {high:.2%}; {others}",
        found[0].whole.source,
    )  # fmt: skip


def _misfit(mixed: Mixed, p: float) -> Finding:
    """A score that the common share does not give, and what HasAns would have to be."""
    expected = p * mixed.first.value + (1 - p) * mixed.second.value
    needed = (mixed.whole.value - p * mixed.first.value) / (1 - p)
    return Finding(
        f"resadapters-mix-{slug(mixed.name)}", "error",
        f"{mixed.name}: ALL, NoAns and HasAns do not fit each other.",
        f"{p:.4f} x {mixed.first.printed} + {1 - p:.4f} x {mixed.second.printed} = {expected:.2f}, "
        f"printed {mixed.whole.printed}; HasAns would have to be {needed:.1f}", mixed.whole.source,
    )  # fmt: skip


def _null(found: list[Mixed], p: float) -> Iterator[Finding]:
    """A model that answers nothing scores p on all questions."""
    below, said = 0, []
    for table in TABLES:
        scores = [mixed.whole for mixed in found if mixed.name.startswith(table)]
        lower = [cell for cell in scores if cell.value + unit(cell) / 2 < 100 * p]
        below += len(lower)
        highest = max(lower, key=lambda cell: cell.value, default=None)
        if highest is not None:
            said.append(f"{table}: {len(lower)} of {len(scores)}, at most {highest.printed}")
    if not below:
        return
    text = (
        f"{below} of {len(found)} scores on all questions are below {100 * p:.1f}, which a model "
        "scores that answers none of them."
    )
    yield Finding("resadapters-below-no-answer", "doubt", text, "; ".join(said),
            found[0].whole.source)  # fmt: skip


def _order(scores: Numbers) -> Iterator[Finding]:
    """F1 is never below exact match, and equals it where there is no answer to overlap with; both
    are percentages.
    """
    for (table, row, group), own in scores.groupby(["table", "row", "column"], sort=False):
        place, of = f"{table} {row} {group}", {cell.metric[:2]: cell for cell in cells_of(own)}
        for metric, cell in of.items():
            if not 0 <= cell.value <= 100:
                says = f"{table}, {row}, {group}: no percentage."
                name = f"resadapters-bounds-{slug(f'{place} {metric}')}"
                yield Finding(name, "error", says, cell.printed, cell.source)
        if set(of) != {"EM", "F1"}:
            continue
        em, f1 = of["EM"], of["F1"]
        said = f"EM {em.printed}, F1 {f1.printed}"
        if f1.value < em.value:
            says = f"{table}, {row}, {group}: F1 is below exact match, which it contains."
            yield Finding(f"resadapters-f1-{slug(place)}", "error", says, said, f1.source)
        elif group == "NoAns" and f1.value != em.value:
            says = f"{table}, {row}: without an answer F1 and exact match are the same."
            yield Finding(f"resadapters-noans-{slug(place)}", "error", says, said, f1.source)


def _share(text: Numbers) -> Iterator[Finding]:
    """The share of BERT's parameters that the text prints, from the two counts beside it."""
    ours, bert = at(text, COUNTS["attention"]), at(text, BERT)
    share = at(text, "adapter share of BERT parameters")
    if ours is None or bert is None or share is None:
        return
    exact = 100 * ours.value / bert.value
    if reading(share, exact) == "rounded":
        return
    yield Finding(
        "resadapters-parameter-share", "doubt",
        f"{share.printed} of BERT's parameters is {exact:.1f} % by the counts in the text.",
        f"{ours.value:,.0f} / {bert.value:,.0f} = {exact:.2f} %", share.source,
    )  # fmt: skip


def _counts(text: Numbers) -> Iterator[Finding]:
    """Both counts of the text, in whole millions, against one or two stacks of released cells."""
    printed = {kind: cell for kind, name in COUNTS.items() if (cell := at(text, name))}
    counted = {kind: _stack(kind) for kind in printed}
    for stacks in (1, 2):
        fits = [
            cell.value // 1e6
            in (stacks * counted[kind] // 1e6, round(stacks * counted[kind] / 1e6))
            for kind, cell in printed.items()
        ]
        if all(fits):
            return
    said = "; ".join(
        f"{kind}: one stack {counted[kind]:,}, two {2 * counted[kind]:,}, printed {cell.printed}"
        for kind, cell in printed.items()
    )
    words = (
        "The printed parameter counts are those of neither one nor two stacks of released cells."
    )
    yield Finding("resadapters-parameter-counts", "doubt", words, said,
            next(iter(printed.values())).source)  # fmt: skip


def _stack(kind: Literal["relu", "attention"]) -> int:
    """Parameters of a stack for start or end, as in the released notebook."""
    cell = PipelinedCells(
        wiring="plain", nonlinearity=kind, bottleneck=BOTTLENECK, norm_axis="position"
    )
    base = KNOWN[BERT_BASE]
    return cell.stack_parameters(base.layers, base.hidden_size, LENGTH)
