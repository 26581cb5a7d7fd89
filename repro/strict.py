"""Numbers and JSON of files that a person wrote, read as they stand or not at all."""

from __future__ import annotations

import math
import re
from typing import Any

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def number_of(text: str) -> float | None:
    """The finite number that `text` is in ASCII digits; None for any other text.

    Python's own `float` also reads "8_7.1", "inf", "nan" and digits of other scripts.
    """
    if _NUMBER.fullmatch(text) is None:
        return None
    value = float(text)
    return value if math.isfinite(value) else None


def is_misread(text: str) -> bool:
    """Whether Python's `float` takes a text that is no number here ("1_0", "inf", "３")."""
    try:
        float(text)
    except ValueError:
        return False
    return number_of(text.strip()) is None


def unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An `object_pairs_hook` of `json.loads`: raises ValueError for a key that stands twice."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key '{twice}' stands twice")
    return found


def no_constant(text: str) -> float:
    """A `parse_constant` of `json.loads`: raises ValueError for NaN and infinity."""
    raise ValueError(f"{text} is not a finite number")
