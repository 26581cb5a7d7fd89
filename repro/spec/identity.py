"""The key of a run: SHA-256 over canonical JSON of everything that can change its numbers."""

from __future__ import annotations

import hashlib
import json
import weakref
from collections.abc import Callable, Iterator
from functools import cache, wraps
from typing import Any, TypeVar

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
S, R = TypeVar("S", bound=BaseModel), TypeVar("R")


_CANONICAL = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
)


def canonical_json(value: Any) -> str:
    """One spelling for one value: sorted keys, no spaces, ASCII; NaN and infinity are refused."""
    return _CANONICAL.encode(value)


def remembered(function: Callable[[S], R]) -> Callable[[S], R]:
    """The function of a spec, or of a part of one, called once for each object: these never change,
    and all runs of a plan that differ in their seed alone share their parts.
    """
    known: dict[int, tuple[weakref.ref[S], R]] = {}

    @wraps(function)
    def found(spec: S) -> R:
        place = id(spec)
        one = known.get(place)
        if one is not None and one[0]() is spec:
            return one[1]
        value = function(spec)
        known[place] = weakref.ref(spec, lambda _: known.pop(place, None)), value
        return value

    return found


def identity_fields(value: Any) -> Any:
    """`value` as plain data, without the fields declared as details."""
    if isinstance(value, BaseModel):
        return {
            name: held if type(held) in PLAIN else identity_fields(held)
            for name, held in _identity(value)
        }
    if isinstance(value, dict):
        return {key: identity_fields(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [identity_fields(item) for item in value]
    return value


def _identity(value: BaseModel) -> Iterator[tuple[str, Any]]:
    """The fields that are part of the identity, sorted by name; a later one is left out where it
    has its default.
    """
    held = value.__dict__
    for name, later in _marked(type(value)):
        if later is None or held[name] != later.default:
            yield name, held[name]


@remembered
def identity_json(part: BaseModel) -> str:
    """The canonical JSON of a part's `identity_fields`."""
    return canonical_json(identity_fields(part))


@cache
def _marked(kind: type[BaseModel]) -> tuple[tuple[str, FieldInfo | None], ...]:
    """The names of these fields; that of a later one with its declaration."""
    marks = {name: field.json_schema_extra for name, field in sorted(kind.model_fields.items())}
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

    SHA-256 of the canonical JSON of `identity_document`, put together from that of its parts, and
    remembered as long as the spec, which never changes, lives and the revisions are the same.
    """
    code = SCHEMA, spec.method.revision, *REVISIONS.values(), *spec.task.code.values()
    known = _KEYS.get(id(spec))
    if known is not None and known[0]() is spec and known[1] == code:
        return known[2]
    key = hashlib.sha256(document_json(spec).encode()).hexdigest()
    place = id(spec)
    _KEYS[place] = weakref.ref(spec, lambda _: _KEYS.pop(place, None)), code, key
    return key


_KEYS: dict[int, tuple[weakref.ref[RunSpec], tuple[int | str, ...], str]] = {}


def document_json(spec: RunSpec) -> str:
    """The canonical JSON of `identity_document`."""
    code = _code_json(SCHEMA, tuple(revisions(spec).items()))
    fields = ",".join([f'"{name}":{_json(held)}' for name, held in _identity(spec)])
    return f'{code},"spec":{{{fields}}}}}'


def _json(held: Any) -> str:
    """The canonical JSON of a field of a run."""
    if isinstance(held, BaseModel):
        return identity_json(held)
    return str(held) if type(held) is int else canonical_json(held)


@cache
def _code_json(schema: int, code: tuple[tuple[str, int | str], ...]) -> str:
    """The beginning of an identity document: what it says of the code."""
    return canonical_json({"revisions": dict(code), "schema": schema}).removesuffix("}")


def flatten(document: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """('recipe.epochs', 5), ... for every leaf of plain data, in sorted order."""
    if isinstance(document, dict):
        for name in sorted(document):
            yield from flatten(document[name], f"{prefix}.{name}" if prefix else name)
    else:
        yield prefix, document
