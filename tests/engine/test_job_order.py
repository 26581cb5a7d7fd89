"""Parents come first, whatever the order in which runs are given and however they are joined."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from fake_results import store_result
from hypothesis import given
from hypothesis import strategies as st
from run_samples import run_spec

from repro.engine.dispatch import Dispatcher
from repro.engine.jobs import (
    Execution,
    Job,
    finishing_soonest,
    group_runs,
    in_order,
    make_job,
    makespan,
    write_job,
)
from repro.engine.local import LocalExecutor
from repro.engine.plan import Plan, jobs_for, make_plan
from repro.methods.adaptable_adapters import AdaptableAdapters, LastLayers
from repro.methods.linear_probe import LinearProbe
from repro.methods.untrained import AlwaysNull
from repro.papers.registry import ARTEFACTS
from repro.papers.request import Request
from repro.spec import GlueTask, RunSpec, run_key
from repro.spec.method import Method
from repro.store import Result, Store, render
from repro.store.result import FailureKind

METHODS: list[Method] = [LinearProbe(layer=2), AlwaysNull()]
TASK = GlueTask(name="cola", source="generated", revision="seed=0,train=8,validation=4")


def adaptable(seed: int = 0, **changes: Any) -> RunSpec:
    """A run with switches, or with what `changes` say."""
    fields = {"size": 4, "activation": "relu", "switch": "as-run"} | changes
    parents = fields.pop("parents", {})
    method = AdaptableAdapters.model_validate(fields)
    return run_spec(method, seed, task=TASK, parents=parents)


def child(parent: RunSpec, **changes: Any) -> RunSpec:
    """With adapters where `parent` selects some."""
    roles = {"architecture": run_key(parent)}
    return adaptable(layers="selected", switch="none", parents=roles, **changes)


@st.composite
def dags(draw: st.DrawFn) -> list[RunSpec]:
    """Runs that are made from others of the same list, in a random order."""
    specs: list[RunSpec] = []
    for number in range(draw(st.integers(1, 10))):
        chosen = draw(st.sets(st.integers(0, number - 1), max_size=2)) if number else set()
        parents = {f"role {n}": run_key(specs[n]) for n in sorted(chosen)}
        method: Method = draw(st.sampled_from(METHODS))
        rate = float(number + 1)
        seed = draw(st.integers(0, 1))
        specs.append(run_spec(method, seed, parents=parents, recipe__learning_rate=rate))
    return draw(st.permutations(specs))


def assert_ordered(jobs: list[Job]) -> None:
    held = {key for job in jobs for key in job.keys}
    before: set[str] = set()
    for job in jobs:
        assert job.parents & held <= before  # so none of them is in the job itself
        before |= set(job.keys)


@given(dags())
def test_a_job_never_comes_before_those_of_its_runs_parents(specs: list[RunSpec]) -> None:
    jobs = group_runs(specs)
    assert_ordered(jobs)
    assert sorted(k for job in jobs for k in job.keys) == sorted(map(run_key, specs))


@given(dags())
def test_jobs_are_put_in_order_from_any_order(specs: list[RunSpec]) -> None:
    assert_ordered(in_order([make_job([spec]) for spec in specs]))


def test_jobs_without_parents_keep_their_order() -> None:
    jobs = [make_job([run_spec(seed=seed)]) for seed in (3, 1, 2)]
    assert in_order(jobs) == jobs


def test_an_unfinished_job_of_children_waits_for_its_parent(store: Store) -> None:
    parent = adaptable()
    cut = make_job([child(parent)])
    write_job(store, cut, Execution())
    assert jobs_for([child(parent), parent], store) == [make_job([parent]), cut]


def test_children_of_the_same_parents_share_a_job_and_those_of_others_do_not() -> None:
    one, other = adaptable(0), adaptable(1)
    specs = [child(one), child(one, activation="rational"), child(other)]
    assert [job.specs for job in group_runs(specs)] == [tuple(specs[:2]), (specs[2],)]


def test_runs_that_only_score_a_parent_are_alone() -> None:
    roles = {"trained": run_key(adaptable(drops=2, switch="none"))}
    specs = [run_spec(LastLayers(kept=n), task=TASK, parents=roles) for n in (1, 2)]
    assert [job.specs for job in group_runs(specs)] == [(specs[0],), (specs[1],)]


def test_tables_are_completed_soonest_seed_by_seed_and_the_longest_job_first() -> None:
    """By hand: B lacks 3 + 3, A 10 + 10 + 1 + 1 and, with its child, 2 + 9; what both need is B's.

    The child's chain (11) is longer than the longest job (10) of the same task.
    """
    long, short, parent, other = (
        [run_spec(recipe__learning_rate=rate, seed=seed) for seed in (0, 1)]
        for rate in (1.0, 2.0, 3.0, 4.0)
    )
    chosen = run_spec(parents={"architecture": run_key(parent[0])})
    costs = {1.0: 10.0, 2.0: 1.0, 3.0: 2.0, 4.0: 3.0}
    seconds = {run_key(spec): costs[spec.recipe.learning_rate] for spec in (*long, *short, *parent)}
    seconds |= {run_key(spec): 3.0 for spec in other} | {run_key(chosen): 9.0}
    tables = {key: ["A"] for key in seconds} | {run_key(spec): ["A", "B"] for spec in other}
    specs = [parent[0], chosen, *short, *long, *other]  # parents first
    found = finishing_soonest(
        [make_job([spec]) for spec in specs], lambda job: seconds[job.keys[0]], tables
    )
    assert [job.lead for job in found] == [
        *other, parent[0], long[0], chosen, short[0], long[1], short[1]
    ]  # fmt: skip


def test_the_time_of_several_workers_counts_parents_and_turns() -> None:
    """By hand: one worker has the parent 0-4, a run 4-5, the child 5-10; the other 0-3, 3-5."""
    parent = adaptable()
    specs = [parent, *(run_spec(seed=seed) for seed in (1, 2, 3)), child(parent)]
    jobs = [make_job([spec]) for spec in specs]
    seconds = dict(zip((job.id for job in jobs), (4.0, 3.0, 2.0, 1.0, 5.0), strict=True))
    times = [makespan(jobs, lambda job: seconds[job.id], workers) for workers in (1, 2, 9)]
    assert times == [15.0, 10.0, 9.0]
    assert makespan([], lambda job: 1.0, 2) == 0.0


# -- how it stands, and what an executor makes of it ----------------------------------------------

Family = tuple[RunSpec, RunSpec, RunSpec]


@pytest.fixture
def family(monkeypatch: pytest.MonkeyPatch) -> Family:
    """A run, its child and its grandchild, which an artefact needs in the opposite order."""
    parent = adaptable()
    first = adaptable(layers="selected", parents={"architecture": run_key(parent)})
    second = child(first)
    runs = {run_key(spec): spec for spec in (second, first, parent)}
    artefact = SimpleNamespace(
        matrix=lambda request: SimpleNamespace(wanted=runs, runs=runs, request=request)
    )
    monkeypatch.setitem(ARTEFACTS, "family", artefact)
    return parent, first, second


def plan(store: Store, *, retry: bool = False) -> Plan:
    asked = Request(id="family", scale="smoke", seeds=1)
    return make_plan([asked], store, retry_failed=retry)


def fail(store: Store, spec: RunSpec, kind: FailureKind) -> None:
    store.record_failure(run_key(spec), spec, kind, "It broke.", "log")


def test_a_plan_has_the_parent_first(store: Store, family: Family) -> None:
    assert [job.specs for job in plan(store).jobs] == [(spec,) for spec in family]
    assert [job.parents for job in plan(store).jobs] == [
        set(),
        {run_key(family[0])},
        {run_key(family[1])},
    ]


def test_what_a_diverged_run_blocks_is_in_no_job_unless_it_is_tried_again(
    store: Store, family: Family
) -> None:
    fail(store, family[0], "diverged")
    second, first, parent = plan(store).runs
    assert [parent.state, first.state, second.state] == ["failed", "blocked", "blocked"]
    assert first.blocked is not None
    assert first.reason == second.reason == first.blocked
    assert f"({run_key(family[0])[:12]}) failed (diverged): It broke." in first.blocked
    assert plan(store).jobs == ()
    assert [job.specs for job in plan(store, retry=True).jobs] == [(spec,) for spec in family]


def test_what_another_failure_blocks_is_tried_again_with_its_parent(
    store: Store, family: Family
) -> None:
    fail(store, family[0], "error")
    assert [run.state for run in plan(store).runs] == ["blocked", "blocked", "failed"]
    assert [job.specs for job in plan(store).jobs] == [(spec,) for spec in family]


def test_nothing_is_blocked_once_the_parent_is_stored(store: Store, family: Family) -> None:
    parent, first, _ = family
    fail(store, parent, "error")
    store_result(store, parent)
    fail(store, first, "error")
    assert [run.state for run in plan(store).runs] == ["blocked", "failed", "done"]


def test_another_recipe_of_the_parent_makes_other_children(store: Store) -> None:
    """The old ones stay stored under their own keys."""
    old, new = adaptable(), adaptable(size=8)
    store_result(store, old)
    with_parent(store, child(old), old)
    assert run_key(child(old)) != run_key(child(new))
    assert store.state(run_key(child(new))) == "missing"
    store_result(store, new)
    assert store.state(run_key(child(old))) == "done"


def test_a_child_is_missing_once_any_of_its_parents_has_another_result(store: Store) -> None:
    trained, architecture = adaptable(drops=2, switch="none"), adaptable()
    roles = {"trained": run_key(trained), "architecture": run_key(architecture)}
    both = run_spec(LastLayers(kept="selected"), task=TASK, parents=roles)
    for changed in (trained, architecture):
        fresh = Store(store.root / run_key(changed)[:8])
        for parent in (trained, architecture):
            store_result(fresh, parent)
        with_parent(fresh, both, trained, architecture)
        assert fresh.state(run_key(both)) == "done"
        fresh.pack([run_key(both)], fresh.root / "anew" / "one.jsonl.xz", {})
        anew = Store(fresh.root / "anew")
        store_result(anew, changed, lambda spec, epoch, metric, group: 7.0)
        assert anew.state(run_key(both)) == "missing"


def with_parent(store: Store, spec: RunSpec, *parents: RunSpec) -> None:
    """Stores a run that was made from these results."""
    stored = {run_key(parent): store.read(run_key(parent)) for parent in parents}
    digests = {role: run.digest for role, key in spec.parents.items() if (run := stored[key])}
    result = Result(
        key=run_key(spec), parameters_trained=0, parameters_total=1, parents=digests, scores=[]
    )
    store.write(run_key(spec), spec, {"result.json": render(result)})


def outcomes(store: Store, *specs: RunSpec) -> list[str | None]:
    jobs = [make_job([spec]) for spec in specs]
    return [outcome.kind for outcome in Dispatcher(LocalExecutor()).run(jobs, store, Execution())]


def test_an_executor_starts_nothing_for_the_children_of_a_failed_run(
    store: Store, family: Family
) -> None:
    parent, first, second = family
    fail(store, parent, "error")
    jobs = [make_job([first]), make_job([second])]
    found = Dispatcher(LocalExecutor()).run(jobs, store, Execution())
    assert [outcome.kind for outcome in found] == ["blocked", "blocked"]
    assert all("It broke." in outcome.message for outcome in found)
    assert not (store.root / "work").exists()
    assert store.failure(run_key(first)) is None  # its parent's failure is none of its own
    assert store.state(run_key(first)) == "missing"


def test_an_executor_starts_nothing_for_the_children_of_a_run_in_training_elsewhere(
    store: Store, family: Family
) -> None:
    parent, first, second = family
    with store.claim([run_key(parent)]):
        assert outcomes(store, first, second) == ["running", "running"]
    assert store.failure(run_key(first)) is None
