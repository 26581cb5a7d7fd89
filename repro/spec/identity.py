"""The key of a run: SHA-256 over canonical JSON of everything that can change its numbers."""

from __future__ import annotations

import hashlib
import json
import weakref
from collections.abc import Iterator
from functools import cache
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from repro.spec.fields import LATER, MARK
from repro.spec.types import RunSpec

SCHEMA = 1
"""Bumped when the meaning or the shape of the identity document changes."""

REVISIONS: dict[str, int] = {"recipe": 1}
"""Bumped by hand when a change in the code of that part changes numbers. A method and a kind of
task have their own."""
PLAIN = (str, int, float, bool, type(None))


_CANONICAL = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
)


def canonical_json(value: Any) -> str:
    """One spelling for one value: sorted keys, no spaces, ASCII; NaN and infinity are refused."""
    return _CANONICAL.encode(value)


def identity_fields(value: Any) -> Any:
    """`value` as plain data, without the fields declared as details."""
    if isinstance(value, BaseModel):
        held = value.__dict__
        return {
            name: held[name] if type(held[name]) in PLAIN else identity_fields(held[name])
            for name, later in _marked(type(value))
            if later is None or held[name] != later.default
        }
    if isinstance(value, dict):
        return {key: identity_fields(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [identity_fields(item) for item in value]
    return value


@cache
def _marked(kind: type[BaseModel]) -> tuple[tuple[str, FieldInfo | None], ...]:
    """The fields that are part of the identity; a later one, which is left out where it has its
    default, with its declaration.
    """
    marks = {name: field.json_schema_extra for name, field in kind.model_fields.items()}
    return tuple(
        (name, kind.model_fields[name] if own[LATER] else None)
        for name, own in marks.items()
        if isinstance(own, dict) and own[MARK]
    )


def revisions(spec: RunSpec) -> dict[str, int | str]:
    """The revision numbers of the code parts that this run depends on."""
    reading, making = spec.task.code
    found: dict[str, int | str] = {reading: spec.task.code_revision(), **REVISIONS}
    if spec.task.source == "generated":
        found[making] = spec.task.code[making]
    if spec.recipe.warmup > 0:  # the first step of a warm-up has rate 0
        found["recipe"] = 2
    return found | {f"method/{spec.method.kind}": spec.method.revision}


def identity_document(spec: RunSpec) -> dict[str, Any]:
    """What is hashed; stored beside the result so that a key can be checked and explained."""
    return {"schema": SCHEMA, "revisions": revisions(spec), "spec": identity_fields(spec)}


def run_key(spec: RunSpec) -> str:
    """The run's name in the store: 64 hexadecimal digits.

    A plan asks for each key several times, so it is remembered as long as the spec, which never
    changes, lives and the revisions are the same.
    """
    known = _KEYS.get(id(spec))
    code = (SCHEMA, revisions(spec))
    if known is not None and known[0]() is spec and known[1] == code:
        return known[2]
    key = hashlib.sha256(canonical_json(identity_document(spec)).encode()).hexdigest()
    place = id(spec)
    _KEYS[place] = weakref.ref(spec, lambda _: _KEYS.pop(place, None)), code, key
    return key


_KEYS: dict[int, tuple[weakref.ref[RunSpec], tuple[int, dict[str, int | str]], str]] = {}


def flatten(document: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """('recipe.epochs', 5), ... for every leaf of plain data, in sorted order."""
    if isinstance(document, dict):
        for name in sorted(document):
            yield from flatten(document[name], f"{prefix}.{name}" if prefix else name)
    else:
        yield prefix, document
