"""Training and development rows drawn by a seed: the split rule of Adaptable Adapters.

The released code shuffles the training rows by the run's seed, takes the first n and divides them:
100 rows become 75 to train on and 25 that select the epoch. Its shuffle is that of `datasets`,
which after `set_seed(seed)` is numpy's `default_rng(seed).permutation`. The official validation
rows (of MNLI the matched ones) are test rows, the same for every seed.
"""

from __future__ import annotations

from collections.abc import Sequence

from repro.errors import MissingData, ReproError
from repro.spec import GlueTask
from repro.spec.glue import GLUE
from repro.spec.tasks import trained_of
from repro.tasks.draws import ranked
from repro.tasks.sentences.rows import Row

DEVELOPMENT = "development"
FIXED_SEED = 0
"""Ranks what is to be the same for every run: which rows may be drawn, and which are scored."""


def divided(found: dict[str, list[Row]], task: GlueTask) -> dict[str, list[Row]]:
    """The rows of "train", "development" and the official split; `found` holds whole splits.

    Training and development rows stand in the order that the task's subset seed shuffles them to,
    so that fewer rows are a prefix of more. At most `evaluation_rows` scored rows are kept, by a
    rank that does not know the seed, in their order. Where rows are drawn from the official split,
    a rank of the same kind gives half of it (rounded down) to draw from, and the other half is
    scored: no seed can draw a row that another one is scored on. Raises ReproError (MissingData,
    where the official split is too small) where the rows do not suffice.
    """
    official = GLUE[task.name].evaluation[0]
    scored, pool = found[official], found.get("train", [])
    if task.drawn_from == "validation":
        by_rank = _ranked(scored, FIXED_SEED, "pool")
        half = len(by_rank) // 2
        pool, scored = _in_order(by_rank[:half], scored), _in_order(by_rank[half:], scored)
        _check_pool(pool, task)
    drawn = shuffled(pool, task.subset_seed)[: task.train_rows]
    count = trained_of(len(drawn), task.development or 0)
    if not 0 < count < len(drawn):
        raise ReproError(
            f"{len(drawn)} rows of {GLUE[task.name].title} cannot be divided into training and "
            f"development rows ({task.development:g} of them): draw more rows (--train-rows)."
        )
    kept = _ranked(scored, FIXED_SEED, "scored")[: task.evaluation_rows]
    return {
        "train": drawn[:count],
        DEVELOPMENT: drawn[count:],
        official: _in_order(kept, scored),
    }


def shuffled(rows: Sequence[Row], seed: int) -> list[Row]:
    """The rows in the order of `datasets.Dataset.shuffle(seed=seed)`."""
    import numpy as np

    return [rows[place] for place in np.random.default_rng(seed).permutation(len(rows))]


def _ranked(rows: Sequence[Row], seed: int, purpose: str) -> list[Row]:
    by_id = {str(row.idx): row for row in rows}
    return [by_id[id] for id in ranked(by_id, seed, purpose)]


def _in_order(kept: Sequence[Row], rows: Sequence[Row]) -> list[Row]:
    """Those of the rows that are kept, as they stand in their file."""
    ids = {row.idx for row in kept}
    return [row for row in rows if row.idx in ids]


def _check_pool(pool: Sequence[Row], task: GlueTask) -> None:
    if task.train_rows is not None and task.train_rows > len(pool):
        raise MissingData(
            f"{task.train_rows:,} rows of {GLUE[task.name].title} cannot be drawn from its "
            f"validation set: {len(pool):,} may be drawn, the others are scored. Add its training "
            "rows, or draw fewer (--train-rows)."
        )
