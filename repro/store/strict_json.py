"""JSON as the standard has it: no NaN, no infinity, one spelling for one value."""

from __future__ import annotations

import json
import math
from typing import Any

from repro.spec import canonical_json
from repro.strict import unique_keys


def json_bytes(value: Any) -> bytes:
    """Canonical JSON with a newline at its end. Raises ValueError for NaN and infinity."""
    return f"{canonical_json(value)}\n".encode()


def parse_json(data: bytes, *, unique: bool = False) -> Any:
    """Strict JSON: what Python's parser takes beyond finite numbers is a ValueError.

    `unique`: a key that stands twice in an object is one, too.
    """
    hook = unique_keys if unique else None
    return json.loads(data, parse_constant=_finite, parse_float=_finite, object_pairs_hook=hook)


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is not a finite number")
    return number
