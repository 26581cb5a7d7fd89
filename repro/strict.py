"""Numbers and JSON of files that a person wrote, read as they stand or not at all."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
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


LIMITS = {"ge": "at least", "gt": "more than", "le": "at most", "lt": "less than"}
TYPES = {
    "int": "a whole number", "float": "a number", "finite": "a finite number",
    "bool": "true or false",
    "string": "text in quotes", "list": "a list", "tuple": "a list",
    "dict": "a table of names and values", "model": "a table, as [slurm] begins one",
}  # fmt: skip
"""Beginning of what pydantic calls a value of another type -> the type in words."""
SAID = {"missing": "missing", "json_invalid": "not JSON", "extra_forbidden": "not known"}
"""Errors that have nothing to do with a value."""
OF_ANOTHER_TYPE = ("type", "parsing", "float", "number")
"""How those names end: int_parsing, int_from_float, finite_number."""


def why_refused(problem: Mapping[str, Any]) -> str:
    """What was expected in place of a value, of one of pydantic's errors: "expected at least 2",
    "expected a whole number"; its own words for an error of another sort.
    """
    context, kind = problem.get("ctx", {}), problem["type"].split("_")
    for name, words in LIMITS.items():
        if name in context:
            return f"expected {words} {context[name]:g}"
    if problem["type"] == "literal_error":
        return f"expected {context['expected']}"
    if problem["type"] in SAID:
        return SAID[problem["type"]]
    known = TYPES.get(kind[0]) if kind[-1] in OF_ANOTHER_TYPE else None
    return f"expected {known}" if known else str(problem["msg"])
