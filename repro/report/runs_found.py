"""Runs looked up in the store, each once, and why one has no number."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from repro.methods.adaptable_adapters import LastLayers
from repro.spec import RunSpec, run_key
from repro.spec.identity import flatten, identity_fields
from repro.store.blocked import blocker
from repro.store.entry import StoredRun
from repro.store.result import FailureKind
from repro.store.store import Store

CAUSES: dict[FailureKind, str] = {
    "diverged": "diverged",
    "out-of-memory": "ran out of memory",
    "killed": "killed",
}
"""Failures that may depend on the result that the run would have had."""


@dataclass(frozen=True, slots=True)
class Found:
    """A run that is wanted, and its result if there is one."""

    spec: RunSpec
    key: str
    run: StoredRun | None


class Lookup:
    """Reads each run of a store once: a table shows the same run in many cells."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._runs: dict[str, StoredRun | None] = {}

    def find(self, specs: Sequence[RunSpec]) -> list[Found]:
        found = []
        for spec in specs:
            key = run_key(spec)
            if key not in self._runs:
                self._runs[key] = self.store.read(key, asked=spec)
            found.append(Found(spec, key, self._runs[key]))
        return found

    def diverged(self, key: str) -> bool:
        failure = self.store.failure(key)
        return failure is not None and failure.kind == "diverged"

    def missing(self, rest: Sequence[Found], of: int, why: Callable[[Sequence[Found]], str]) -> str:
        """Which of `of` seeds have no number, by their causes; "" if none is missing.

        "2 of 5 seeds diverged; 1 of 5 seeds missing: not run".
        """
        causes: Counter[str] = Counter()
        for one in rest:
            failure = self.store.failure(one.key) if one.run is None else None
            cause = CAUSES.get(failure.kind) if failure is not None else None
            causes[cause or f"missing: {why([one])}"] += 1
        return "; ".join(f"{count} of {of} seeds {cause}" for cause, count in causes.items())

    def why(self, found: Sequence[Found], epoch: int | None, collapse: str) -> str:
        """Why these runs give no number; "" for none of them. `collapse`: a constant answer."""
        absent = [one.spec for one in found if one.run is None]
        if absent:
            return why_missing(self.store, absent)
        runs = [one.run for one in found if one.run is not None]
        if epoch is not None and runs and epoch > runs[0].spec.recipe.epochs:
            return f"the run has {runs[0].spec.recipe.epochs} epochs"
        if any(run.result.collapsed for run in runs):
            return f"undefined, as the run {collapse}"
        return "not scored" if runs else ""


def kept_epoch(run: StoredRun) -> int:
    """The epoch whose weights the run kept, or those of the run that it only scores."""
    if isinstance(run.spec.method, LastLayers):
        return run.last_epoch
    selected = run.result.selected_epoch
    return run.spec.recipe.epochs if selected is None else selected


def varying(chosen: RunSpec, among: Sequence[RunSpec]) -> dict[str, Any]:
    """The fields in which these runs differ, and their values in the chosen one."""
    settings = [dict(flatten(identity_fields(spec))) for spec in among]
    own = dict(flatten(identity_fields(chosen)))
    return {
        name: value
        for name, value in own.items()
        if any(setting.get(name) != value for setting in settings)
    }


def why_missing(store: Store, specs: Sequence[RunSpec]) -> str:
    """Why these runs have no result: one failed, its parent did, is running, or was never run."""
    keys = [run_key(spec) for spec in specs]
    states = {store.state(key) for key in keys}
    for spec in specs:
        why = blocker(spec, store)
        if why is not None:
            return f"blocked: {why}"
    if "failed" in states:
        failure = next(f for key in keys if (f := store.failure(key)) is not None)
        return f"failed ({failure.kind}): {' '.join(failure.message.split())}"
    return "running" if "running" in states else "not run"
