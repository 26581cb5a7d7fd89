"""Why a run cannot be trained: a parent of it failed. Derived from the parents, never stored."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from pydantic import ValidationError

from repro.spec import RunSpec
from repro.spec.types import WITH_WEIGHTS
from repro.store.result import Failure
from repro.store.store import Store
from repro.words import run_name


def serves(store: Store, role: str, key: str) -> bool:
    """Whether the parent `key` has what a child needs: in some roles its weights, too."""
    if role in WITH_WEIGHTS:
        return store.is_whole(key, weights=True)
    return store.read(key) is not None


def lacking(spec: RunSpec, store: Store) -> list[str]:
    """Keys of the parents that `spec` still waits for."""
    return [key for role, key in sorted(spec.parents.items()) if not serves(store, role, key)]


def blocker(spec: RunSpec, store: Store, known: Mapping[str, RunSpec] | None = None) -> str | None:
    """The failure of a parent for want of which `spec` cannot be trained, in a clause.

    A parent's own parents are looked at as far as `known` (key -> spec) holds it.
    """
    for key in lacking(spec, store):
        failure = store.failure(key)
        if failure is not None:
            return _clause(failure)
        parent = (known or {}).get(key)
        further = blocker(parent, store, known) if parent is not None else None
        if further is not None:
            return further
    return None


def _clause(failure: Failure) -> str:
    name = failure.key[:12]
    with suppress(ValidationError):  # of another version of the project
        name = f"{run_name(RunSpec.model_validate(failure.spec))} ({name})"
    return f"its parent {name} failed ({failure.kind}): {' '.join(failure.message.split())}"
