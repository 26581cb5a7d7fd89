"""What becomes of a job whose worker is killed, breaks or runs out of memory.

The worker is a stand-in (`fake_worker.py`) whose end each test chooses.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from fake_results import store_result
from run_samples import cells, run_spec

from repro.engine.dispatch import BACKOFF, Dispatcher, Outcome
from repro.engine.jobs import Execution, Job, make_job
from repro.engine.local import LocalExecutor
from repro.errors import StoreError
from repro.methods.fine_tuning import FullFineTuning
from repro.spec import RunSpec, run_key
from repro.spec.method import Method
from repro.store import Store

Scenario = Callable[..., None]


def attempts(store: Store) -> list[dict[str, Any]]:
    path = store.root.parent / "attempts.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def members(count: int, method: Method | None = None) -> list[RunSpec]:
    """Runs of one job, told apart by their learning rates 1, 2, ..."""
    return [run_spec(method, recipe__learning_rate=float(n)) for n in range(1, count + 1)]


def run(store: Store, *jobs: Job, **execution: Any) -> list[Outcome]:
    return Dispatcher(LocalExecutor()).run(jobs, store, Execution(**execution))


def test_a_job_that_ends_well_leaves_no_work_folder(store: Store, scenario: Scenario) -> None:
    scenario()
    job = make_job(members(2))
    assert run(store, job) == [Outcome(job, None)]
    assert list((store.root / "work").iterdir()) == []


def test_a_killed_worker_is_started_again(store: Store, scenario: Scenario) -> None:
    scenario(killed=len(BACKOFF))
    job = make_job(members(2))
    assert run(store, job) == [Outcome(job, None)]
    assert len(attempts(store)) == len(BACKOFF) + 1


def test_a_worker_that_is_always_killed_is_recorded_and_keeps_its_checkpoint(
    store: Store, scenario: Scenario
) -> None:
    scenario(killed=99)
    job = make_job(members(2))
    (outcome,) = run(store, job)
    assert len(attempts(store)) == len(BACKOFF) + 1
    assert outcome.kind == "killed"
    for key in job.keys:
        failure = store.failure(key)
        assert failure is not None
        assert failure.kind == "killed"
        assert "signal 9, 4 times" in failure.message
    assert (store.work_dir(job.id) / "job.json").exists()


def test_an_error_after_a_kill_is_an_error(store: Store, scenario: Scenario) -> None:
    scenario(killed=1, exit=7)
    (outcome,) = run(store, make_job(members(1)))
    assert (outcome.kind, len(attempts(store))) == ("error", 2)


def test_one_broken_member_does_not_cost_the_others_their_results(
    store: Store, scenario: Scenario
) -> None:
    scenario(broken=[3.0])
    specs = members(4)
    outcomes = run(store, make_job(specs))
    failed = [spec for outcome in outcomes if outcome.kind for spec in outcome.job.specs]
    done = [spec for outcome in outcomes if not outcome.kind for spec in outcome.job.specs]
    assert failed == [specs[2]]
    assert sorted(map(run_key, done)) == sorted(run_key(specs[n]) for n in (0, 1, 3))
    failure = store.failure(run_key(specs[2]))
    assert failure is not None
    assert failure.message == "ZeroDivisionError: this member breaks"
    log = (store.root / failure.log).read_text()
    assert "Traceback" in log
    assert "fake_worker.py" in log


def test_a_failed_job_does_not_stop_the_next(store: Store, scenario: Scenario) -> None:
    scenario(broken=[1.0])
    bad, good = (make_job([spec]) for spec in members(2))
    assert [outcome.kind for outcome in run(store, bad, good)] == ["error", None]


def test_out_of_memory_halves_the_group_first(store: Store, scenario: Scenario) -> None:
    scenario(members=2)
    specs = members(5)
    outcomes = run(store, make_job(specs))
    assert all(outcome.kind is None for outcome in outcomes)
    assert [len(attempt["rates"]) for attempt in attempts(store)] == [5, 2, 3, 1, 2]
    assert {attempt["micro_batch"] for attempt in attempts(store)} == {4}  # the whole batch
    trained = [key for outcome in outcomes for key in outcome.job.keys]
    assert sorted(trained) == sorted(map(run_key, specs))


def test_out_of_memory_then_halves_the_micro_batch_of_full_fine_tuning(
    store: Store, scenario: Scenario
) -> None:
    scenario(windows=1)
    spec = run_spec(FullFineTuning(), recipe__batch_size=48)
    assert [outcome.kind for outcome in run(store, make_job([spec]))] == [None]
    assert [attempt["micro_batch"] for attempt in attempts(store)] == [48, 24, 12, 6, 3, 1]


def test_a_single_window_that_does_not_fit_fails_clearly(store: Store, scenario: Scenario) -> None:
    scenario(windows=0)
    spec = run_spec(FullFineTuning(), recipe__batch_size=2)
    (outcome,) = run(store, make_job([spec]))
    assert (outcome.kind, outcome.message) == ("out-of-memory", "CUDA out of memory.")
    failure = store.failure(run_key(spec))
    assert failure is not None
    assert failure.kind == "out-of-memory"


def test_methods_with_batch_statistics_are_never_split(store: Store, scenario: Scenario) -> None:
    scenario(windows=1)
    (outcome,) = run(store, make_job(members(1, cells())))
    assert outcome.kind == "out-of-memory"
    assert [attempt["micro_batch"] for attempt in attempts(store)] == [4]


def test_one_jobs_smaller_micro_batch_is_not_the_next_jobs(
    store: Store, scenario: Scenario
) -> None:
    scenario(windows=3)
    specs = [run_spec(FullFineTuning(), seed) for seed in (0, 1)]
    run(store, *(make_job([spec]) for spec in specs))
    assert [attempt["micro_batch"] for attempt in attempts(store)] == [4, 2, 4, 2]


def test_missing_data_is_a_failure_of_every_member_and_no_reason_to_split(
    store: Store, scenario: Scenario
) -> None:
    scenario(exit=22, failed={"kind": "missing-data", "message": "Put it there."})
    job = make_job(members(3))
    assert run(store, job) == [Outcome(job, "missing-data", "Put it there.")]
    assert len(attempts(store)) == 1
    assert all(store.state(key) == "failed" for key in job.keys)


def test_runs_that_another_process_trains_are_not_failures(
    store: Store, scenario: Scenario
) -> None:
    scenario(exit=11)
    job = make_job(members(2))
    (outcome,) = run(store, job)
    assert outcome.kind == "running"
    assert all(store.failure(key) is None for key in job.keys)


def test_a_store_that_cannot_be_written_ends_everything(store: Store, scenario: Scenario) -> None:
    scenario(exit=1, failed={"kind": "store", "message": "Cannot write x: the disk is full."})
    first, second = (make_job([spec]) for spec in members(2))
    with pytest.raises(StoreError, match="the disk is full"):
        run(store, first, second)
    assert len(attempts(store)) == 1
    assert (store.work_dir(first.id) / "job.json").exists()


def test_runs_stored_since_the_plan_are_not_trained_again(store: Store, scenario: Scenario) -> None:
    scenario()
    specs = members(2)
    for spec in specs:
        store_result(store, spec)
    job = make_job(specs)
    assert run(store, job) == [Outcome(job, None)]
    assert attempts(store) == []


def test_a_new_attempt_forgets_the_old_failure(store: Store, scenario: Scenario) -> None:
    scenario()
    spec = members(1)[0]
    store.record_failure(run_key(spec), spec, "error", "before", "log")
    run(store, make_job([spec]))
    assert store.failure(run_key(spec)) is None


def test_what_a_library_prints_is_no_event_and_goes_to_the_log(
    store: Store, scenario: Scenario
) -> None:
    scenario(say=["Downloading ...", "[1]", '{"no": "event"}', '{"event": "step"}'], exit=3)
    heard: list[dict[str, Any]] = []
    executor = Dispatcher(LocalExecutor(), lambda job, event: heard.append(event))
    job = make_job(members(1))
    executor.run([job], store, Execution())
    assert heard == [{"event": "step"}, {"event": "outcome", "kind": "error"}]
    failure = store.failure(job.keys[0])
    assert failure is not None
    assert "Downloading ..." in (store.root / failure.log).read_text()


def test_a_worker_that_says_nothing_is_named_by_its_exit_code(
    store: Store, scenario: Scenario
) -> None:
    scenario(exit=7)
    (outcome,) = run(store, make_job(members(1)))
    assert (outcome.kind, outcome.message) == ("error", "exit code 7")


def test_a_result_stored_before_the_failure_stays_a_result(
    store: Store, scenario: Scenario
) -> None:
    scenario(exit=22, failed={"kind": "missing-data", "message": "gone"})
    specs = members(2)
    store_result(store, specs[0])
    job = make_job(specs)
    run(store, job)
    assert [store.state(key) for key in job.keys] == ["done", "failed"]
    assert store.failure(job.keys[0]) is None
