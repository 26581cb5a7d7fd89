"""The printed numbers of ResAdapters."""

from __future__ import annotations

from typing import Literal

from repro.audit.finding import Finding
from repro.audit.mixture import Mixed, common_share
from repro.audit.numbers import SLACK, Tables, at, number, reading, rows, slug, unit
from repro.papers.published import Cells
from repro.spec.backbones import BERT_BASE, KNOWN
from repro.spec.counts import stack_parameters
from repro.spec.types import PipelinedCells

PAPER = "resadapters"
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


def check(tables: Tables) -> list[Finding]:
    """The mixture of ALL, what no answer scores, F1 and EM, parameters."""
    found = mixtures(tables)
    low, high, misfits = common_share(found)
    return [
        *_evaluated(found, low, high, len(misfits)),
        *[_misfit(mixed, (low + high) / 2) for mixed in misfits],
        *_null(found, (low + high) / 2),
        *_order(tables),
        *_share(tables["RA-text"]),
        *_counts(tables["RA-text"]),
    ]


def mixtures(tables: Tables) -> list[Mixed]:
    """ALL = p NoAns + (1 - p) HasAns, for exact match and F1 of every row."""
    return [
        Mixed(f"{table}, {row}, {metric}", whole, no, has)
        for table in TABLES
        for row in rows(tables[table])
        for metric in ("EM", "F1")
        if (whole := at(tables[table], row, "ALL", metric))
        and (no := at(tables[table], row, "NoAns", metric))
        and (has := at(tables[table], row, "HasAns", metric))
    ]


def _evaluated(found: list[Mixed], low: float, high: float, misfits: int) -> list[Finding]:
    """The p that fits is the share of unanswerable questions in what was scored."""
    named = [name for name, (no, all_) in SETS.items() if low - SLACK <= no / all_ <= high + SLACK]
    if OFFICIAL in named:
        return []
    others = "; ".join(f"{name}: {no:,} of {n:,} = {no / n:.2%}" for name, (no, n) in SETS.items())
    return [
        Finding(
            "resadapters-evaluation-mix", PAPER, "doubt",
            "The scores are not of the official development set, but of one with "
            f"{(low + high) / 2:.2%} of its questions unanswerable"
            f"{': the ' + named[0] if named else ''}.",
            f"ALL = p x NoAns + (1 - p) x HasAns holds for {len(found) - misfits} of "
            f"{len(found)} scores with p from {low:.2%} to {high:.2%}; {others}",
            found[0].whole.source,
        )
    ]  # fmt: skip


def _misfit(mixed: Mixed, p: float) -> Finding:
    """A score that the common share does not give, and what HasAns would have to be."""
    expected = p * number(mixed.first) + (1 - p) * number(mixed.second)
    needed = (number(mixed.whole) - p * number(mixed.first)) / (1 - p)
    return Finding(
        f"resadapters-mix-{slug(mixed.name)}", PAPER, "error",
        f"{mixed.name}: ALL, NoAns and HasAns do not fit each other.",
        f"{p:.4f} x {mixed.first.text} + {1 - p:.4f} x {mixed.second.text} = {expected:.2f}, "
        f"printed {mixed.whole.text}; HasAns would have to be {needed:.1f}", mixed.whole.source,
    )  # fmt: skip


def _null(found: list[Mixed], p: float) -> list[Finding]:
    """A model that answers nothing scores p on all questions."""
    below, said = 0, []
    for table in TABLES:
        scores = [mixed.whole for mixed in found if mixed.name.startswith(table)]
        lower = [cell for cell in scores if number(cell) + unit(cell) / 2 < 100 * p]
        below += len(lower)
        highest = max((cell for cell in lower), key=number, default=None)
        if highest is not None:
            said.append(f"{table}: {len(lower)} of {len(scores)}, at most {highest.text}")
    if not below:
        return []
    text = (
        f"{below} of {len(found)} scores on all questions are below {100 * p:.1f}, which a model "
        "scores that answers none of them."
    )
    return [
        Finding("resadapters-below-no-answer", PAPER, "doubt", text, "; ".join(said),
                found[0].whole.source)
    ]  # fmt: skip


def _order(tables: Tables) -> list[Finding]:
    """F1 is never below exact match, and equals it where there is no answer to overlap with."""
    findings = []
    for table in TABLES:
        for row, group in ((r, g) for r in rows(tables[table]) for g in ("ALL", "NoAns", "HasAns")):
            em, f1 = (at(tables[table], row, group, metric) for metric in ("EM", "F1"))
            if em is None or f1 is None:
                continue
            said, name = f"EM {em.text}, F1 {f1.text}", slug(f"{table} {row} {group}")
            if number(f1) < number(em):
                text = f"{table}, {row}, {group}: F1 is below exact match, which it contains."
                findings.append(
                    Finding(f"resadapters-f1-{name}", PAPER, "error", text, said, f1.source)
                )
            elif group == "NoAns" and number(f1) != number(em):
                text = f"{table}, {row}: without an answer F1 and exact match are the same."
                findings.append(
                    Finding(f"resadapters-noans-{name}", PAPER, "error", text, said, f1.source)
                )
    return findings + _bounds(tables)


def _bounds(tables: Tables) -> list[Finding]:
    return [
        Finding(
            f"resadapters-bounds-{slug(f'{table} {cell.row} {cell.column} {cell.metric[:2]}')}",
            PAPER, "error", f"{table}, {cell.row}, {cell.column}: no percentage.", cell.text,
            cell.source,
        )
        for table in TABLES
        for cell in tables[table].values()
        if not 0 <= number(cell) <= 100
    ]  # fmt: skip


def _share(text: Cells) -> list[Finding]:
    """The share of BERT's parameters that the text prints, from the two counts beside it."""
    ours, bert = at(text, COUNTS["attention"], ""), at(text, BERT, "")
    share = at(text, "adapter share of BERT parameters", "")
    if ours is None or bert is None or share is None:
        return []
    exact = 100 * number(ours) / number(bert)
    if reading(share, exact) == "rounded":
        return []
    return [
        Finding(
            "resadapters-parameter-share", PAPER, "doubt",
            f"{share.text} of BERT's parameters is {exact:.1f} % by the counts in the text.",
            f"{number(ours):,.0f} / {number(bert):,.0f} = {exact:.2f} %", share.source,
        )
    ]  # fmt: skip


def _counts(text: Cells) -> list[Finding]:
    """Both counts of the text, in whole millions, against one or two stacks of released cells."""
    printed = {kind: cell for kind, name in COUNTS.items() if (cell := at(text, name, ""))}
    counted = {kind: _stack(kind) for kind in printed}
    for stacks in (1, 2):
        fits = [
            number(cell) // 1e6
            in (stacks * counted[kind] // 1e6, round(stacks * counted[kind] / 1e6))
            for kind, cell in printed.items()
        ]
        if all(fits):
            return []
    said = "; ".join(
        f"{kind}: one stack {counted[kind]:,}, two {2 * counted[kind]:,}, printed {cell.text}"
        for kind, cell in printed.items()
    )
    words = (
        "The printed parameter counts are those of neither one nor two stacks of released cells."
    )
    return [
        Finding("resadapters-parameter-counts", PAPER, "doubt", words, said,
                next(iter(printed.values())).source)
    ]  # fmt: skip


def _stack(kind: Literal["relu", "attention"]) -> int:
    """Parameters of a stack for start or end, as in the released notebook."""
    cell = PipelinedCells(
        wiring="plain", nonlinearity=kind, bottleneck=BOTTLENECK, norm_axis="position"
    )
    base = KNOWN[BERT_BASE]
    return stack_parameters(cell, base.layers, base.hidden_size, LENGTH)
