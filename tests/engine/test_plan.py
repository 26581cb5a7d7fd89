"""Which runs a request needs, how they stand, and which jobs train the missing ones."""

from __future__ import annotations

from typing import Any

import pytest
from fake_results import request, runs_of, store_all, store_result
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from run_samples import run_spec

from repro.engine.cost import ASSUMED, estimate, estimates, modelled
from repro.engine.jobs import Execution, Job, make_job, unfinished_jobs, write_job
from repro.engine.plan import Plan, disk_needed, make_plan, with_times
from repro.methods.fine_tuning import FullFineTuning
from repro.papers.request import Request
from repro.spec import run_key
from repro.spec.types import TRAINED
from repro.store import Store

SPEED = ASSUMED["cpu"]
MB = 1_000_000


def plan(store: Store, *asked: Request, retry: bool = True) -> Plan:
    return make_plan(asked, store, SPEED, retry_failed=retry)


def test_two_tables_share_the_resnext_and_the_always_null_run(store: Store) -> None:
    for scale in ("smoke", "reduced"):
        found = plan(store, request(scale=scale), request("ResAdapters-2", scale=scale))
        shared = [run for run in found.runs if len(run.tables) == 2]
        assert len(found.runs) == 8  # six rows and ResAdapters-2's probe and full fine-tuning
        assert {run.tables for run in shared} == {("ResAdapters-1", "ResAdapters-2")}
        kinds = sorted(
            (run.spec.method.kind, getattr(run.spec.method, "wiring", "")) for run in shared
        )
        assert kinds == [("always-null", ""), ("pipelined-cells", "resnext")]


def test_at_the_papers_scale_the_tables_train_on_other_rows(store: Store) -> None:
    found = plan(store, request(scale="paper"), request("ResAdapters-2", scale="paper"))
    assert all(len(run.tables) == 1 for run in found.runs)


def test_a_shared_run_is_in_one_job(store: Store) -> None:
    found = plan(store, request(), request("ResAdapters-2"))
    trained = [key for job in found.jobs for key in job.keys]
    assert len(trained) == len(set(trained)) == 8
    assert sorted(len(job.specs) for job in found.jobs) == [1, 7]  # fine-tuning is alone


def test_every_state_is_told(store: Store) -> None:
    specs = runs_of(request())
    keys = [run_key(spec) for spec in specs]
    store_result(store, specs[0])
    store.record_failure(keys[1], specs[1], "error", "it broke", "log")
    with store.claim([keys[2]]):
        found = plan(store, request())
    assert [run.state for run in found.runs] == ["done", "failed", "running"] + ["missing"] * 3
    assert [run.failure.message if run.failure else None for run in found.runs][:2] == [
        None,
        "it broke",
    ]
    assert len(found.missing) == 5


def test_a_result_stored_beside_an_old_failure_is_done(store: Store) -> None:
    """A process killed between the two leaves both."""
    spec = runs_of(request())[0]
    store_result(store, spec)
    store.record_failure(run_key(spec), spec, "killed", "before", "log")
    run = plan(store, request()).runs[0]
    assert (run.state, run.failure) == ("done", None)


def test_a_diverged_run_is_tried_again_only_when_asked(store: Store) -> None:
    spec, other = runs_of(request())[:2]
    store.record_failure(run_key(spec), spec, "diverged", "not finite", "log")
    store.record_failure(run_key(other), other, "error", "it broke", "log")
    trained = {key for job in plan(store, request(), retry=False).jobs for key in job.keys}
    assert run_key(spec) not in trained
    assert run_key(other) in trained
    again = {key for job in plan(store, request(), retry=True).jobs for key in job.keys}
    assert run_key(spec) in again


def test_a_full_store_plans_no_job(store: Store) -> None:
    store_all(store, request())
    found = plan(store, request())
    assert (found.jobs, found.missing, found.estimate().seconds) == ((), [], 0)


def test_seeds_are_jobs_of_their_own(store: Store) -> None:
    found = plan(store, request(seeds=3))
    assert len(found.runs) == 18
    assert [job.lead.seed for job in found.jobs] == [0, 1, 2]
    assert all(len(job.specs) == 6 for job in found.jobs)


def test_a_job_that_was_cut_short_is_planned_as_it_was(store: Store) -> None:
    specs = runs_of(request())
    cut = make_job(specs[::-1][:3])
    write_job(store, cut, Execution())
    jobs = plan(store, request()).jobs
    assert cut in jobs
    assert sorted(key for job in jobs for key in job.keys) == sorted(map(run_key, specs))


def test_a_job_whose_runs_are_all_stored_is_not_unfinished(store: Store) -> None:
    """A kill between the last result and the removal of the work folder leaves it behind."""
    specs = runs_of(request())[:2]
    write_job(store, make_job(specs), Execution())
    store_result(store, specs[0])
    assert len(unfinished_jobs(store)) == 1
    store_result(store, specs[1])
    assert unfinished_jobs(store) == []


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=15)
@given(st.sets(st.integers(0, 7)), st.sets(st.integers(0, 7)), st.integers(1, 2))
def test_every_missing_run_is_in_exactly_one_job(
    store: Store, stored: set[int], cut: set[int], seeds: int
) -> None:
    """Whatever is stored and whichever job was cut short before."""
    fresh = Store(store.root / f"{len(list(store.root.glob('*')))}")
    both = [request(seeds=seeds), request("ResAdapters-2", seeds=seeds)]
    specs = [run.spec for run in plan(fresh, *both).runs]
    frozen = [s for s in specs if s.seed == 0 and not isinstance(s.method, FullFineTuning)]
    for number in stored:
        store_result(fresh, specs[number])
    members = [frozen[number] for number in sorted(cut) if number < len(frozen)]
    if members:
        write_job(fresh, make_job(members), Execution())
    found = plan(fresh, *both)
    trained = [key for job in found.jobs for key in job.keys]
    assert len(trained) == len(set(trained))
    assert {run.key for run in found.missing} <= set(trained)
    for job in found.jobs:
        assert len({(s.seed, s.recipe.batch_size, s.backbone.id) for s in job.specs}) == 1


def test_stored_runs_of_its_kind_tell_what_a_job_takes(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two of three seeds took 1.5 and 2.5 times what the model says: the third takes twice as long,
    between 0.8 x 1.5 and 1.25 x 2.5 times.
    """
    asked = request(seeds=3)
    jobs = plan(store, asked).jobs
    for job, factor in zip(jobs[:2], (1.5, 2.5), strict=True):
        seconds = factor * modelled(job, SPEED)
        for spec in job.specs:
            store_result(store, spec, seconds=seconds, members=job.keys)
    (left,) = plan(store, asked).jobs
    for cpu, times in (("a made-up CPU", (2.0, 1.2, 3.125)), ("another", (1.0, 0.25, 4.0))):
        monkeypatch.setattr("repro.engine.plan.cpu_name", lambda cpu=cpu: cpu)
        found = estimate(left, with_times(plan(store, asked), store, "cpu").speed)
        model = modelled(left, SPEED)
        expected = [time * model + SPEED.job for time in times]
        assert [found.seconds, found.low, found.high] == pytest.approx(expected)


@pytest.mark.parametrize("id", ["AA-2", "Hyperformer-2", "ResAdapters-2"])
def test_jobs_that_are_estimated_together_have_the_estimate_of_each_alone(
    store: Store, id: str
) -> None:
    jobs = plan(store, request(id, scale="smoke", seeds=3)).jobs
    assert estimates(jobs, SPEED) == {job.id: estimate(job, SPEED) for job in jobs}


def test_the_disk_that_is_needed_is_what_is_kept_and_what_is_at_work(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By hand, for runs of a million parameters: 100 MB, 1 MB a run, 4 MB of weights where they are
    kept, 32 MB for each run that is trained at once.
    """
    monkeypatch.setattr("repro.spec.RunSpec.trained_parameters", lambda spec: MB)

    def needed(*jobs: Job, **more: Any) -> int:
        return disk_needed(Plan((), jobs, SPEED), **more)

    small = [make_job([run_spec(recipe__learning_rate=float(n))]) for n in (1, 2)]
    tuned = make_job([run_spec(FullFineTuning())])
    assert needed() == 100 * MB
    assert needed(*small) == (100 + 2 * 5 + 32) * MB
    assert needed(*small, workers=2) == (100 + 2 * 5 + 64) * MB
    assert needed(tuned) == (100 + 1 + 32) * MB  # its weights are not kept
    assert needed(tuned, execution=Execution(keep_weights=True)) == (100 + 5 + 32) * MB
    child = make_job([run_spec(parents={TRAINED: run_key(tuned.lead)})])
    assert needed(tuned, child) == (100 + 5 + 5 + 32) * MB  # but for a child
