"""The printed numbers of ResAdapters."""

from __future__ import annotations

from repro.audit.finding import Finding
from repro.audit.mixture import Mixed, common_share
from repro.audit.numbers import SLACK, Tables, at, number, rows, unit
from repro.papers.published import Cells

PAPER = "resadapters"
TABLES = ("RA-T1", "RA-T2")
SETS = {"official development set": (5_945, 11_873), "CS224n development set": (3_168, 6_078)}
"""Questions without an answer, and all, of the two sets that are in use (SQuAD 2.0; CS224n)."""


def check(tables: Tables) -> list[Finding]:
    """The mixture of ALL, F1 and EM, the share of parameters."""
    return [*_mixture(tables), *_order(tables), *_share(tables)]


def _mixture(tables: Tables) -> list[Finding]:
    """ALL = p NoAns + (1 - p) HasAns: one p is the share of unanswerable questions scored."""
    found = [
        Mixed(f"{table}, {row}, {metric}", whole, no, has)
        for table in TABLES
        for row in rows(tables[table])
        for metric in ("EM", "F1")
        if (whole := at(tables[table], row, "ALL", metric))
        and (no := at(tables[table], row, "NoAns", metric))
        and (has := at(tables[table], row, "HasAns", metric))
    ]
    low, high, misfits = common_share(found)
    named = [name for name, (no, all_) in SETS.items() if low - SLACK <= no / all_ <= high + SLACK]
    others = "; ".join(f"{name}: {no:,} of {n:,} = {no / n:.2%}" for name, (no, n) in SETS.items())
    source = found[0].whole.source
    findings = []
    if "official development set" not in named:
        findings.append(
            Finding(
                "resadapters-evaluation-mix", PAPER, "doubt",
                "The scores are not of the official development set, but of one with "
                f"{(low + high) / 2:.2%} of its questions unanswerable"
                f"{': the ' + named[0] if named else ''}.",
                f"ALL = p x NoAns + (1 - p) x HasAns holds for {len(found) - len(misfits)} of "
                f"{len(found)} scores with p from {low:.2%} to {high:.2%}; {others}", source,
            )
        )  # fmt: skip
    for mixed in misfits:
        p = (low + high) / 2
        expected = p * number(mixed.first) + (1 - p) * number(mixed.second)
        findings.append(
            Finding(
                f"resadapters-mix-{_slug(mixed.name)}", PAPER, "error",
                f"{mixed.name}: ALL, NoAns and HasAns do not fit each other.",
                f"{p:.4f} x {mixed.first.text} + {1 - p:.4f} x {mixed.second.text} = "
                f"{expected:.2f}, printed {mixed.whole.text}", mixed.whole.source,
            )
        )  # fmt: skip
    return findings


def _order(tables: Tables) -> list[Finding]:
    """F1 is never below exact match, and equals it where there is no answer to overlap with."""
    findings = []
    for table in TABLES:
        for row, group in ((r, g) for r in rows(tables[table]) for g in ("ALL", "NoAns", "HasAns")):
            em, f1 = (at(tables[table], row, group, metric) for metric in ("EM", "F1"))
            if em is None or f1 is None:
                continue
            said, slug = f"EM {em.text}, F1 {f1.text}", _slug(f"{table} {row} {group}")
            if number(f1) < number(em):
                text = f"{table}, {row}, {group}: F1 is below exact match, which it contains."
                findings.append(
                    Finding(f"resadapters-f1-{slug}", PAPER, "error", text, said, f1.source)
                )
            elif group == "NoAns" and number(f1) != number(em):
                text = f"{table}, {row}: without an answer F1 and exact match are the same."
                findings.append(
                    Finding(f"resadapters-noans-{slug}", PAPER, "error", text, said, f1.source)
                )
    return findings + _bounds(tables)


def _bounds(tables: Tables) -> list[Finding]:
    return [
        Finding(
            f"resadapters-bounds-{_slug(f'{table} {cell.row} {cell.column} {cell.metric[:2]}')}",
            PAPER, "error", f"{table}, {cell.row}, {cell.column}: no percentage.", cell.text,
            cell.source,
        )
        for table in TABLES
        for cell in tables[table].values()
        if not 0 <= number(cell) <= 100
    ]  # fmt: skip


def _share(tables: Tables) -> list[Finding]:
    """The share of BERT's parameters that the text prints, from the two counts beside it."""
    text: Cells = tables["RA-text"]
    ours = at(text, "trained parameters, With Attention models", "")
    bert = at(text, "trained parameters, BERT full fine-tuning", "")
    share = at(text, "adapter share of BERT parameters", "")
    if ours is None or bert is None or share is None:
        return []
    exact = 100 * number(ours) / number(bert)
    if abs(exact - number(share)) <= unit(share) / 2:
        return []
    return [
        Finding(
            "resadapters-parameter-share", PAPER, "doubt",
            f"{share.text} of BERT's parameters is {exact:.1f} % by the counts in the text.",
            f"{number(ours):,.0f} / {number(bert):,.0f} = {exact:.2f} %", share.source,
        )
    ]  # fmt: skip


def _slug(text: str) -> str:
    return "-".join("".join(c if c.isalnum() else " " for c in text.lower()).split())
