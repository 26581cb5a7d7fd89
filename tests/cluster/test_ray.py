"""The executor of Ray against a real cluster; workers are stand-ins (`fake_worker.py`)."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
from clusters import Scenario, ancestors, attempts, jobs_of, wait_until

from repro.engine.dispatch import BACKOFF, Dispatcher, Ended, Outcome
from repro.engine.jobs import Execution, Job, write_job
from repro.engine.on_ray import Profile, RayExecutor
from repro.engine.worker import Exit
from repro.errors import ReproError
from repro.store import Store

pytestmark = pytest.mark.usefixtures("look_often")


def run(store: Store, profile: Profile, *jobs: Job) -> list[Outcome]:
    return Dispatcher(RayExecutor(store.root, profile)).run(jobs, store, Execution())


def started(store: Store, executor: RayExecutor, *jobs: Job) -> None:
    for job in jobs:
        write_job(store, job, Execution())
        executor.start(job, store)


def ends(executor: RayExecutor, count: int) -> list[Ended]:
    found: list[Ended] = []
    while len(found) < count:
        found += executor.wait(lambda job, event: None, None)
    return found


@pytest.fixture
def profile(ray_cluster: Any) -> Profile:
    return Profile(address=ray_cluster.address)


def test_two_nodes_train_all_jobs_side_by_side(
    store: Store, scenario: Scenario, profile: Profile
) -> None:
    scenario(until="attempts-2")
    jobs = jobs_of(4)
    with RayExecutor(store.root, profile) as executor:
        assert executor.slots == 4  # two that run, two that wait
        started(store, executor, *jobs)
        wait_until(lambda: len(attempts(store)) == 2)
        (store.root.parent / "attempts-2").touch()
        found = {ended.job.id: ended.code for ended in ends(executor, 4)}
    assert found == {job.id: Exit.DONE for job in jobs}


def test_exit_codes_and_signals_come_back_as_they_are(
    store: Store, scenario: Scenario, profile: Profile
) -> None:
    scenario(exit=22, failed={"kind": "missing-data", "message": "Get it."})
    (outcome,) = run(store, profile, *jobs_of(1))
    assert (outcome.kind, outcome.message) == ("missing-data", "Get it.")
    scenario(killed=99)
    (outcome,) = run(store, profile, *jobs_of(1))
    assert outcome.kind == "killed"
    assert f"signal 9, {len(BACKOFF) + 1} times" in outcome.message
    assert len(attempts(store)) == 1 + len(BACKOFF) + 1


def test_ctrl_c_has_workers_checkpoint_and_waits_for_them(
    store: Store, scenario: Scenario, profile: Profile
) -> None:
    scenario(stop=True)
    jobs = jobs_of(2)
    with RayExecutor(store.root, profile) as executor:
        started(store, executor, *jobs)
        wait_until(lambda: len(attempts(store)) == 2)
        executor.stop()
        for attempt in attempts(store):
            assert not Path(f"/proc/{attempt['process']}").exists()
    assert (store.root.parent / "asked").exists()


def test_workers_end_with_the_command_that_started_them(
    store: Store, scenario: Scenario, profile: Profile
) -> None:
    scenario(until="released")
    jobs = jobs_of(2)
    with RayExecutor(store.root, profile) as executor:
        started(store, executor, *jobs)
        wait_until(lambda: len(attempts(store)) == 2)
    wait_until(lambda: not any(Path(f"/proc/{one['process']}").exists() for one in attempts(store)))


def test_a_task_that_ray_loses_more_often_than_it_starts_it_anew_ended_as_by_a_signal(
    store: Store, scenario: Scenario, profile: Profile
) -> None:
    scenario(until="released")
    (job,) = jobs_of(1)
    with RayExecutor(store.root, profile.model_copy(update={"retries": 0})) as executor:
        started(store, executor, job)
        wait_until(lambda: len(attempts(store)) == 1)
        os.kill(ancestors(attempts(store)[0]["process"])[0], signal.SIGKILL)
        (ended,) = ends(executor, 1)
    assert (ended.code, ended.failure) == (-9, None)


def test_a_line_says_that_no_node_has_what_a_job_asks_for(
    store: Store, scenario: Scenario, ray_cluster: Any
) -> None:
    """Two nodes of one CPU each have two, but no task of two CPUs runs on them."""
    scenario()
    heard: list[dict[str, Any]] = []
    with RayExecutor(store.root, Profile(address=ray_cluster.address, cpus=2)) as executor:
        assert executor.slots == 1
        started(store, executor, *jobs_of(1))
        for _ in range(2):
            assert executor.wait(lambda job, event: heard.append(event), 0.1) == []
    (event,) = heard
    assert event["message"].startswith("No node of Ray has what a job asks for (CPU 2, GPU 0)")


def test_a_task_whose_machine_cannot_write_to_the_store_ends_the_command_with_one_sentence(
    store: Store, scenario: Scenario, profile: Profile
) -> None:
    """It was taken for a failure of its runs."""
    scenario()
    (job,) = jobs_of(1)
    write_job(store, job, Execution())
    (store.root / "work" / job.id / "log.txt").mkdir()
    with RayExecutor(store.root, profile) as executor:
        executor.start(job, store)
        (ended,) = ends(executor, 1)
    assert ended.code == Exit.STORE


def test_a_pause_before_a_further_try_is_waited_for(
    store: Store, scenario: Scenario, profile: Profile
) -> None:
    with RayExecutor(store.root, profile) as executor:
        assert executor.wait(lambda job, event: None, 0.0) == []


@pytest.mark.slow
def test_without_an_address_a_ray_of_this_machine_is_started(
    store: Store, scenario: Scenario
) -> None:
    pytest.importorskip("ray")
    scenario()
    (job,) = jobs_of(1)
    assert run(store, Profile(), job) == [Outcome(job, None)]


def test_where_ray_is_absent_or_not_reached_one_sentence_says_so(
    store: Store, scenario: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario()
    pytest.importorskip("ray")
    with pytest.raises(ReproError, match=r"^Ray cannot be reached at 127.0.0.1:1: .*--profile"):
        run(store, Profile(address="127.0.0.1:1"), *jobs_of(1))
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ReproError, match="pip install ray"):
        run(store, Profile(), *jobs_of(1))
    assert os.environ["RAY_USAGE_STATS_ENABLED"] == "0"


def test_a_job_whose_node_is_lost_is_trained_on_the_other_one(
    store: Store, scenario: Scenario, profile: Profile, ray_cluster: Any
) -> None:
    """The last test here: a node that joins after that one takes Ray half a minute."""
    scenario(until="released")
    (job,) = jobs_of(1)
    with RayExecutor(store.root, profile) as executor:
        started(store, executor, job)
        wait_until(lambda: len(attempts(store)) == 1)
        process = attempts(store)[0]["process"]
        above = ancestors(process)
        (node,) = (one for one in ray_cluster.worker_nodes if pid_of(one) in above)
        ray_cluster.remove_node(node, allow_graceful=False)
        wait_until(lambda: not Path(f"/proc/{process}").exists())
        (store.root.parent / "released").touch()
        (ended,) = ends(executor, 1)
    assert (ended.job, ended.code) == (job, Exit.DONE)
    assert len(attempts(store)) == 2


def pid_of(node: Any) -> int:
    return int(node.all_processes["raylet"][0].process.pid)
