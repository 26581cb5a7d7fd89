"""The rows of a task of one or two texts: read or made, then capped, divided or cut.

A set that is published without splits (those of Houlsby et al.) is cut 80/10/10 by the task's split
seed, to the published sizes where it has the published number of rows.
"""

from __future__ import annotations

from collections.abc import Mapping

from repro.errors import MissingData
from repro.spec import GlueTask, TextTask
from repro.spec.contents import ALL
from repro.spec.facts import KNOWN, Facts
from repro.spec.tasks import SentenceTask
from repro.tasks.checks import bad_row, check_labels
from repro.tasks.draws import drawn, ranked
from repro.tasks.rows import place_of
from repro.tasks.sentences.development import divided
from repro.tasks.sentences.rows import Row, generated_rows, read_rows

LEAST_JOINED = 15
"""Rows of which a tenth, rounded, is two: the fewest that can be validated or tested on."""


def task_rows(task: SentenceTask) -> dict[str, list[Row]]:
    """The rows of "train" and of every scored split, capped, in file order; or `divided`.

    Raises MissingData where they cannot be had, are damaged, are too few, or are not those of
    `task.revision`.
    """
    if task.source == "generated":
        found = generated_rows(task.name, task.revision)
    else:
        found = read_rows(task.name, task.revision, task.splits(task.name))
    if isinstance(task, TextTask) and ALL in found:
        found = cut(found[ALL], KNOWN[task.name], task.split_seed)
    if isinstance(task, GlueTask) and task.development is not None:
        return divided(found, task)
    return capped(found, task)


def capped(found: Mapping[str, list[Row]], task: SentenceTask) -> dict[str, list[Row]]:
    """Of every split at most the task's cap, drawn by its subset seed, in their order."""
    kept = {}
    for split, rows in found.items():
        count = task.train_rows if split == "train" else task.evaluation_rows
        if count is not None and count < len(rows):
            ids = drawn((str(row.idx) for row in rows), count, task.subset_seed)
            kept[split] = [row for row in rows if str(row.idx) in ids]
        else:
            kept[split] = rows
    return kept


def cut(rows: list[Row], facts: Facts, seed: int) -> dict[str, list[Row]]:
    """80/10/10 of a set without splits, or the published sizes where it has the published rows.

    `seed` ranks the rows, each by its own number: the first are validated on, the next are tested
    on, and the others are trained on. Raises MissingData for a part that is too small to use.
    """
    place = place_of(facts)
    if len(rows) < LEAST_JOINED:
        problem = f"{len(rows)} rows are too few to cut (at least {LEAST_JOINED})"
        raise bad_row(facts, place, problem)
    sizes = facts.rows
    if len(rows) != sum(sizes.values()):
        tenth = round(len(rows) / 10)
        sizes = {"validation": tenth, "test": tenth}
    order = ranked((str(row.idx) for row in rows), seed, "split")
    tested_from, trained_from = sizes["validation"], sizes["validation"] + sizes["test"]
    side = dict.fromkeys(order[:tested_from], "validation")
    side |= dict.fromkeys(order[tested_from:trained_from], "test")
    found: dict[str, list[Row]] = {split: [] for split in facts.rows}
    for row in rows:
        found[side.get(str(row.idx), "train")].append(row)
    for split, part in found.items():
        check_labels([row.label for row in part], facts, place, f"{split} ")
    return found


def submission_rows(name: str) -> dict[str, list[Row]]:
    """The rows of every test split by their idx, for a submission; "ax" is the diagnostic set.

    Row n of a split has the idx n, which the server knows it by, whatever the order of the file.
    Raises MissingData where they cannot be had, are damaged, are not as many as published, or are
    not numbered from 0 without a gap.
    """
    facts = KNOWN[name]
    splits = [split for split in facts.rows if split.startswith("test")]
    found = read_rows(name, None, splits)
    return {split: _by_idx(rows, facts, split) for split, rows in found.items()}


def _by_idx(rows: list[Row], facts: Facts, split: str) -> list[Row]:
    """The rows sorted by idx; raises MissingData unless these are 0, 1, ... without a gap."""
    ordered = sorted(rows, key=lambda row: row.idx)
    for number, row in enumerate(ordered):
        if row.idx != number:
            raise MissingData(
                f"{place_of(facts, split=split)} lacks the idx {number}. The GLUE server knows the "
                f"{len(rows):,} test rows of {facts.title} by their idx, from 0 to "
                f"{len(rows) - 1:,}. Replace the file by the published one."
            )
    return ordered
