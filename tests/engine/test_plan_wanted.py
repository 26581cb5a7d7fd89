"""A run is trained only if a wanted run, or a child to be trained, lacks it.

Random graphs of runs and random stores, held in memory; the rule is stated here a second time, as
what training the planned runs must lead to.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from run_samples import run_spec

from repro.engine.cost import ASSUMED
from repro.engine.plan import Plan, make_plan
from repro.papers.registry import ARTEFACTS
from repro.papers.request import Request
from repro.spec import RunSpec, run_key
from repro.store import Store
from repro.store.result import Failure, FailureKind

BASE = run_spec()
KINDS: list[FailureKind] = ["diverged", "error"]
RESULT, WEIGHTS = "architecture", "trained"
"""Roles of a parent: its result is enough, or its weights are needed, too."""


@dataclass
class Stored:
    """A result by its version, the versions of the parents it was made from, and its weights."""

    version: int
    parents: dict[str, int]
    weights: bool


class Memory(Store):
    """A store whose results are held in memory."""

    def __init__(self) -> None:
        super().__init__(Path("/nowhere"))
        self.results: dict[str, Stored] = {}
        self.failures: dict[str, Failure] = {}
        self.written = 0

    def read(self, key: str, *, verify: bool = False, asked: RunSpec | None = None) -> Any:
        found = self.results.get(key)
        stale = found is not None and any(
            (parent := self.read(name)) is not None and parent.version != version
            for name, version in found.parents.items()
        )
        return None if stale else found

    def is_whole(self, key: str, *, weights: bool = False) -> bool:
        found = self.read(key)
        return found is not None and (found.weights or not weights)

    def failure(self, key: str) -> Failure | None:
        return self.failures.get(key)

    def train(self, spec: RunSpec) -> None:
        """As a worker does."""
        self.written += 1
        parents = {key: self.results[key].version for key in spec.parents.values()}
        self.results[run_key(spec)] = Stored(self.written, parents, weights=True)
        self.failures.pop(run_key(spec), None)


@dataclass
class Case:
    specs: list[RunSpec]
    wanted: list[RunSpec]
    store: Memory

    def plan(self, *, retry: bool) -> Plan:
        wanted, runs = ({run_key(spec): spec for spec in of} for of in (self.wanted, self.specs))
        artefact: Any = SimpleNamespace(
            matrix=lambda request: SimpleNamespace(request=request, wanted=wanted, runs=runs)
        )
        with pytest.MonkeyPatch.context() as patch:
            patch.setitem(ARTEFACTS, "made up", artefact)
            asked = Request("made up", "smoke", 1)
            return make_plan([asked], self.store, ASSUMED["cpu"], retry_failed=retry)

    def lacking(self) -> list[RunSpec]:
        return [spec for spec in self.wanted if self.store.read(run_key(spec)) is None]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Up to six runs, each made from some of those before it; any of them stored or failed."""
    specs: list[RunSpec] = []
    store = Memory()
    for seed in range(draw(st.integers(1, 6))):
        parents = {
            role: run_key(specs[draw(st.integers(0, seed - 1))])
            for role in (RESULT, WEIGHTS)
            if seed and draw(st.booleans())
        }
        spec = BASE.model_copy(update={"seed": seed, "parents": parents})
        specs.append(spec)
        key, state = run_key(spec), draw(st.sampled_from(["stored", "scores", "none", *KINDS]))
        if state in ("stored", "scores"):
            made_from = {name: draw(st.integers(0, 1)) for name in parents.values()}
            version = draw(st.integers(0, 1))
            store.results[key] = Stored(version, made_from, weights=state == "stored")
        elif state != "none":
            store.failures[key] = Failure(
                key=key, spec={}, kind=state, message="It broke.", log="log"
            )
    store.written = 1
    return Case(specs, [spec for spec in specs if draw(st.booleans())], store)


def execute(plan: Plan, store: Memory) -> None:
    """As an executor does: a run waits for a parent that became stale meanwhile."""
    for job in plan.jobs:
        for spec in job.specs:
            if not unserved(spec, store):
                store.train(spec)


def unserved(spec: RunSpec, store: Memory) -> list[str]:
    """The parents that the run lacks."""
    served = {
        key: store.is_whole(key, weights=role == WEIGHTS) for role, key in spec.parents.items()
    }
    return [key for key, ready in served.items() if not ready]


@settings(max_examples=60, deadline=None)
@given(cases(), st.booleans())
def test_a_run_is_trained_only_for_a_wanted_run_without_a_result(case: Case, retry: bool) -> None:
    plan = case.plan(retry=retry)
    jobs = [spec for job in plan.jobs for spec in job.specs]
    lacking = case.lacking()

    def needed(spec: RunSpec) -> bool:
        children = [other for other in jobs if run_key(spec) in unserved(other, case.store)]
        return spec in lacking or any(needed(child) for child in children)

    assert all(needed(spec) for spec in jobs)
    if retry:
        assert all(spec in jobs for spec in lacking)
    for spec in jobs:
        trained = {run_key(other) for other in jobs}
        assert trained.issuperset(unserved(spec, case.store))


@settings(max_examples=60, deadline=None)
@given(cases())
def test_giving_the_command_again_ends_with_everything_wanted_stored(case: Case) -> None:
    """A parent that is trained anew has another result, so its stored children are made again."""
    for _ in case.specs:
        execute(case.plan(retry=True), case.store)
    assert case.lacking() == []
    last = case.plan(retry=True)
    assert (last.jobs, last.missing) == ((), [])


@settings(max_examples=60, deadline=None)
@given(cases())
def test_without_retry_nothing_is_trained_for_what_a_diverged_run_bars(case: Case) -> None:
    plan = case.plan(retry=False)
    by_key = {run_key(spec): spec for spec in case.specs}
    jobs = {key for job in plan.jobs for key in job.keys}

    def bars(key: str) -> bool:
        failure = case.store.failures.get(key)
        if case.store.read(key) is not None:
            return False
        diverged = failure is not None and failure.kind == "diverged"
        return diverged or any(bars(parent) for parent in by_key[key].parents.values())

    assert not any(bars(key) for key in jobs)
    for key in jobs - {run_key(spec) for spec in case.wanted}:
        assert any(key in by_key[child].parents.values() for child in jobs)
    open_ = {run_key(spec) for spec in case.lacking()}
    assert {key for key in open_ if not bars(key)} <= jobs


@settings(max_examples=60, deadline=None)
@given(cases())
def test_a_plan_counts_as_missing_exactly_what_is_wanted_or_will_be_needed(case: Case) -> None:
    plan = case.plan(retry=True)
    assert [run.key for run in plan.runs if run.state == "done"] == [
        run.key for run in plan.runs if run.key not in {k for job in plan.jobs for k in job.keys}
    ]
    assert {run_key(spec) for spec in case.wanted} <= {run.key for run in plan.runs}
    assert (not plan.missing) == (not case.lacking())
