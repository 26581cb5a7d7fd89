"""The rows of a task of one or two texts: read or made, then capped, divided or cut.

A set that is published without splits (those of Houlsby et al.) is cut 80/10/10 by the task's split
seed, to the published sizes where it has the published number of rows.

Training and development rows are drawn by a seed as the released code of Adaptable Adapters does
it: it shuffles the training rows by the run's seed, takes the first n and divides them, so that 100
rows become 75 to train on and 25 that select the epoch. Its shuffle is that of `datasets`, which
after `set_seed(seed)` is numpy's `default_rng(seed).permutation`. The official validation rows (of
MNLI the matched ones) are test rows, the same for every seed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from repro.errors import MissingData, ReproError
from repro.spec import GlueTask, TextTask
from repro.spec.contents import ALL
from repro.spec.facts import KNOWN, Facts
from repro.spec.tasks import SentenceTask, trained_of
from repro.tasks.checks import bad_row, check_labels
from repro.tasks.draws import FIXED_SEED, capped, fewer, ranked
from repro.tasks.rows import generated, load, place_of

if TYPE_CHECKING:
    from datasets import Dataset

DEVELOPMENT = "development"
LEAST_JOINED = 15
"""Rows of which a tenth, rounded, is two: the fewest that can be validated or tested on."""


@dataclass(frozen=True, slots=True)
class Row:
    """One or two texts and what is to be said of them. `label` is a float of a similarity."""

    idx: int
    texts: tuple[str, ...]
    label: int | float


def rows_of(facts: Facts, found: Dataset) -> list[Row]:
    """The rows of a split, in their order."""
    columns = found[:]
    texts = zip(*(columns[name] for name in facts.texts), strict=True)
    return list(map(Row, columns["idx"], texts, columns[facts.label]))


def read_rows(name: str, revision: str | None, splits: Sequence[str] = ()) -> dict[str, list[Row]]:
    """The rows of a set's splits, whole; raises what `load` raises."""
    facts, found = KNOWN[name], load(name, revision, splits)
    return {split: rows_of(facts, rows) for split, rows in found.items()}


def generated_rows(name: str, revision: str | None) -> dict[str, list[Row]]:
    """The rows of a set of `repro.tasks.generated`; raises what `generated` raises."""
    facts = KNOWN[name.removeprefix("text-to-text/")]
    return {split: rows_of(facts, rows) for split, rows in generated(name, revision).items()}


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
    return capped(found, task, task.subset_seed)


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


def divided(found: dict[str, list[Row]], task: GlueTask) -> dict[str, list[Row]]:
    """The rows of "train", "development" and the official split; `found` holds whole splits.

    Training and development rows stand in the order that the task's subset seed shuffles them to,
    so that fewer rows are a prefix of more. At most `evaluation_rows` scored rows are kept, by a
    rank that does not know the seed, in their order. Where rows are drawn from the official split,
    a rank of the same kind gives half of it (rounded down) to draw from, and the other half is
    scored: no seed can draw a row that another one is scored on. Raises ReproError (MissingData,
    where the official split is too small) where the rows do not suffice.
    """
    import numpy as np

    official = KNOWN[task.name].evaluation[0]
    scored, pool = found[official], found.get("train", [])
    if task.drawn_from == "validation":
        pool = fewer(scored, len(scored) // 2, FIXED_SEED, "pool")
        ids = {row.idx for row in pool}
        scored = [row for row in scored if row.idx not in ids]
        if task.train_rows is not None and task.train_rows > len(pool):
            raise MissingData(
                f"{task.train_rows:,} rows of {KNOWN[task.name].title} cannot be drawn from its "
                f"validation set: {len(pool):,} may be drawn, the others are scored. Add its "
                "training rows, or draw fewer (--train-rows)."
            )
    order = np.random.default_rng(task.subset_seed).permutation(len(pool))
    drawn = [pool[place] for place in order][: task.train_rows]
    count = trained_of(len(drawn), task.development or 0)
    if not 0 < count < len(drawn):
        raise ReproError(
            f"{len(drawn)} rows of {KNOWN[task.name].title} cannot be divided into training and "
            f"development rows ({task.development:g} of them): draw more rows (--train-rows)."
        )
    return {
        "train": drawn[:count],
        DEVELOPMENT: drawn[count:],
        official: fewer(scored, task.evaluation_rows, FIXED_SEED, "scored"),
    }


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
