"""The key of a run: SHA-256 over canonical JSON of everything that can change its numbers."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from repro.spec.fields import LATER, MARK, Spec
from repro.spec.tasks import GlueTask, SquadTask, TaggingTask, TextTask, TextToText
from repro.spec.types import RunSpec

SCHEMA = 1
"""Bumped when the meaning or the shape of the identity document changes."""

REVISIONS: dict[str, int] = {
    "task/squad2": 1,
    "task/generated": 1,
    "task/glue": 1,
    "task/generated-glue": 1,
    "task/texts": 1,
    "task/generated-texts": 1,
    "task/conll2003": 1,
    "task/generated-conll2003": 1,
    "task/text-to-text": 1,
    "task/generated-text-to-text": 1,
    "recipe": 1,
}
"""Bumped by hand when a change in the code of that part changes numbers; a method has its own."""
REVISED: tuple[tuple[str, int, Callable[[RunSpec], bool]], ...] = (
    # the first step of a warm-up has rate 0
    ("recipe", 2, lambda spec: spec.recipe.warmup > 0),
    # rows are drawn as the released code of Adaptable Adapters draws them
    ("task/glue", 2, lambda spec: getattr(spec.task, "development", None) is not None),
    # rows are drawn as the released code of HyperFormer draws them
    (
        "task/text-to-text",
        2,
        lambda spec: isinstance(spec.task, TextToText) and spec.task.train_rows is not None,
    ),
)
"""A part's later revision where it changes the numbers of some runs only; others keep theirs."""
CODE: dict[type[Spec], tuple[str, str]] = {
    SquadTask: ("task/squad2", "task/generated"),
    GlueTask: ("task/glue", "task/generated-glue"),
    TextTask: ("task/texts", "task/generated-texts"),
    TaggingTask: ("task/conll2003", "task/generated-conll2003"),
    TextToText: ("task/text-to-text", "task/generated-text-to-text"),
}
"""Kind of task -> the parts that read it and, where it is made from a seed, make it."""
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
    task, generator = CODE[type(spec.task)]
    parts = [task, "recipe"]
    if spec.task.source == "generated":
        parts.append(generator)
    found: dict[str, int | str] = {part: REVISIONS[part] for part in parts}
    found[f"method/{spec.method.kind}"] = spec.method.revision
    return found | {part: later for part, later, changes in REVISED if changes(spec)}


def identity_document(spec: RunSpec) -> dict[str, Any]:
    """What is hashed; stored beside the result so that a key can be checked and explained."""
    return {"schema": SCHEMA, "revisions": revisions(spec), "spec": identity_fields(spec)}


def run_key(spec: RunSpec) -> str:
    """The run's name in the store: 64 hexadecimal digits."""
    return hashlib.sha256(canonical_json(identity_document(spec)).encode()).hexdigest()


def flatten(document: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """('recipe.epochs', 5), ... for every leaf of plain data, in sorted order."""
    if isinstance(document, dict):
        for name in sorted(document):
            yield from flatten(document[name], f"{prefix}.{name}" if prefix else name)
    else:
        yield prefix, document
