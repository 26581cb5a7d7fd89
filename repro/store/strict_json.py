"""JSON as the standard has it: no NaN, no infinity, one spelling for one value."""

from __future__ import annotations

import json
import math
from typing import Any

from repro.spec import canonical_json


def json_bytes(value: Any) -> bytes:
    """Canonical JSON with a newline at its end. Raises ValueError for NaN and infinity."""
    return f"{canonical_json(value)}\n".encode()


def parse_json(data: bytes) -> Any:
    """Strict JSON: what Python's parser takes beyond finite numbers is a ValueError."""
    return json.loads(data, parse_constant=_finite, parse_float=_finite)


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is not a finite number")
    return number
