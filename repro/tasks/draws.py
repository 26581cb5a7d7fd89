"""How a cap's rows are drawn where no paper's code says how.

The papers' own draws stand with their splits: `sentences/development.py` and
`text_to_text/division.py`. A draw here ranks every row by SHA-256 of (subset seed, row id), so
whether a row is kept does not depend on the rows around it, and a smaller cap keeps a part of what
a larger one keeps.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Literal

Pool = Literal["train", "validation"]
"""The split that a task's training rows are drawn from."""


def drawn(ids: Iterable[str], count: int, seed: int) -> set[str]:
    """So many of the ids, drawn by `seed`."""
    return set(ranked(ids, seed)[:count])


def ranked(ids: Iterable[str], seed: int, purpose: str = "subset") -> list[str]:
    """The ids in an order drawn by `seed`, another one for every purpose."""
    return sorted(ids, key=lambda id: hashlib.sha256(f"{purpose}\n{seed}\n{id}".encode()).digest())
