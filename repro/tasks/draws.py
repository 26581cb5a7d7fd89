"""How a cap's rows are drawn where no paper's code says how, and what generated sets share.

The papers' own draws stand with their splits: `glue/development.py`, `text_to_text/division.py`. A
draw here ranks every row by SHA-256 of (subset seed, row id), so whether a row is kept does not
depend on the rows around it, and a smaller cap keeps a part of what a larger one keeps.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from typing import Literal

from repro.errors import ReproError

Pool = Literal["train", "validation"]
"""The split that a task's training rows are drawn from."""
FORM = re.compile(r"seed=(\d+),train=(\d+),validation=(\d+)", re.ASCII)


def drawn(ids: Iterable[str], count: int, seed: int) -> set[str]:
    """So many of the ids, drawn by `seed`."""
    return set(ranked(ids, seed)[:count])


def ranked(ids: Iterable[str], seed: int, purpose: str = "subset") -> list[str]:
    """The ids in an order drawn by `seed`, another one for every purpose."""
    return sorted(ids, key=lambda id: hashlib.sha256(f"{purpose}\n{seed}\n{id}".encode()).digest())


def generated_sizes(revision: str, example: str) -> tuple[int, int, int]:
    """Seed, training rows and validation rows that the revision of a generated set names.

    Raises ReproError, which shows `example`, for a revision of another form.
    """
    found = FORM.fullmatch(revision)
    if found is None:
        raise ReproError(
            f"'{revision}' is no generated set; write it like {example} (numbers only)."
        )
    seed, train, validation = (int(number) for number in found.groups())
    return seed, train, validation


def own(names: Sequence[str], split: str) -> list[str]:
    """Three quarters of the names for training, the rest for validation."""
    return [name for i, name in enumerate(names) if (i % 4 == 3) == (split == "validation")]
