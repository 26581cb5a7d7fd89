"""How a cap's rows are drawn where no paper's code says how.

The papers' own draws stand with their splits: `sentences/rows.py` and `text_to_text/rows.py`. A
draw here ranks every row by SHA-256 of (subset seed, row id), so whether a row is kept does not
depend on the rows around it, and a smaller cap keeps a part of what a larger one keeps.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Literal, Protocol, TypeVar

from repro.spec import Task

Pool = Literal["train", "validation"]
"""The split that a task's training rows are drawn from."""
FIXED_SEED = 0
"""Ranks what is to be the same for every run: which rows may be drawn, and which are scored."""


class Numbered(Protocol):
    """A row with a number of its own."""

    @property
    def idx(self) -> int:
        """Identifies the row in its data set."""


R = TypeVar("R", bound=Numbered)


def drawn(ids: Iterable[str], count: int, seed: int) -> set[str]:
    """So many of the ids, drawn by `seed`."""
    return set(ranked(ids, seed)[:count])


def ranked(ids: Iterable[str], seed: int, purpose: str = "subset") -> list[str]:
    """The ids in an order drawn by `seed`, another one for every purpose."""
    return sorted(ids, key=lambda id: hashlib.sha256(f"{purpose}\n{seed}\n{id}".encode()).digest())


def fewer(rows: list[R], cap: int | None, seed: int, purpose: str = "subset") -> list[R]:
    """At most `cap` of the rows, drawn by `seed`, in their order."""
    if cap is None or cap >= len(rows):
        return rows
    ids = set(ranked((str(row.idx) for row in rows), seed, purpose)[:cap])
    return [row for row in rows if str(row.idx) in ids]


def capped(found: Mapping[str, list[R]], task: Task, seed: int) -> dict[str, list[R]]:
    """Of every split at most the task's cap, drawn by `seed`, in their order."""
    return {
        split: fewer(rows, task.train_rows if split == "train" else task.evaluation_rows, seed)
        for split, rows in found.items()
    }
