"""The executor of Slurm against a real Slurm; most workers are stand-ins (`fake_worker.py`)."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from clusters import LARGEST_ARRAY, Scenario, Slurm, attempts, command, jobs_of, wait_until

from repro.engine.dispatch import BACKOFF, Dispatcher, Ended, Outcome
from repro.engine.jobs import Execution, Job, write_job
from repro.engine.slurm import Profile, SlurmExecutor, _status
from repro.engine.worker import Exit
from repro.errors import ReproError
from repro.store import Store

pytestmark = pytest.mark.usefixtures("slurm_cluster", "look_often")


def run(store: Store, *jobs: Job, profile: Profile | None = None) -> list[Outcome]:
    executor = SlurmExecutor(store.root, profile or Profile())
    return Dispatcher(executor).run(jobs, store, Execution())


def kinds(outcomes: list[Outcome]) -> dict[str, str | None]:
    return {outcome.job.id: outcome.kind for outcome in outcomes}


def started(store: Store, *jobs: Job) -> SlurmExecutor:
    """An executor that has submitted these jobs, as a command that is killed leaves them."""
    executor = SlurmExecutor(store.root, Profile()).__enter__()
    for job in jobs:
        write_job(store, job, Execution())
        executor.start(job, store)
    assert executor.wait(lambda job, event: None, 0.0) == []
    return executor


def ends(executor: SlurmExecutor, count: int) -> list[Ended]:
    found: list[Ended] = []
    while len(found) < count:
        found += executor.wait(lambda job, event: None, None)
    return found


def tasks() -> list[str]:
    """Ids of the tasks that wait or run."""
    return command("squeue", "--me", "--array", "--noheader", "-o", "%i").split()


def test_an_array_trains_all_jobs_with_a_throttle_and_the_set_up(
    store: Store, scenario: Scenario
) -> None:
    scenario()
    jobs = jobs_of(5)
    profile = Profile(throttle=1, setup="export OMP_NUM_THREADS=3", extra=["--nice=1"])
    assert kinds(run(store, *jobs, profile=profile)) == {job.id: None for job in jobs}
    rates = [rate for attempt in attempts(store) for rate in attempt["rates"]]
    assert rates == [1.0, 2.0, 3.0, 4.0, 5.0]  # one after the other, in their order
    assert not list((store.root / "work").iterdir())


def test_exit_codes_and_signals_come_back_as_they_are(store: Store, scenario: Scenario) -> None:
    scenario(exit=22, failed={"kind": "missing-data", "message": "Get it."})
    (outcome,) = run(store, *jobs_of(1))
    assert (outcome.kind, outcome.message) == ("missing-data", "Get it.")
    scenario(killed=99)
    (outcome,) = run(store, *jobs_of(1))
    assert outcome.kind == "killed"
    assert f"signal 9, {len(BACKOFF) + 1} times" in outcome.message
    assert len(attempts(store)) == 1 + len(BACKOFF) + 1


def test_a_cancelled_job_is_recorded_and_not_started_again(
    store: Store, scenario: Scenario
) -> None:
    scenario(until="released")
    job, other = jobs_of(2)
    executor = started(store, job, other)
    wait_until(lambda: len(attempts(store)) == 2)
    cancelled, goes_on = sorted(tasks())
    command("scancel", cancelled)
    (ended,) = ends(executor, 1)
    assert ended.job == job
    assert ended.failure is not None
    assert ended.failure.message == f"the Slurm job {cancelled} was cancelled"
    (store.root.parent / "released").touch()
    (ended,) = ends(executor, 1)
    assert (ended.job, ended.code) == (other, Exit.DONE)
    assert len(attempts(store)) == 2
    assert goes_on not in tasks()


def test_a_command_given_again_follows_the_jobs_of_one_that_was_killed(
    store: Store, scenario: Scenario
) -> None:
    """Those that run and those that wait for a node."""
    scenario(until="released")
    jobs = jobs_of(4)
    started(store, *jobs[:3])
    wait_until(lambda: len(attempts(store)) == 2)  # on two nodes
    again = SlurmExecutor(store.root, Profile())
    with again:
        assert [again.follows(job) for job in jobs] == [True, True, True, False]
    (store.root.parent / "released").touch()
    assert kinds(run(store, *jobs)) == {job.id: None for job in jobs}
    assert len(attempts(store)) == 4


def test_jobs_are_found_whatever_this_user_has_squeue_leave_out(
    store: Store, scenario: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Jobs that were not found were submitted a second time."""
    scenario(until="released")
    (job,) = jobs_of(1)
    executor = started(store, job)
    monkeypatch.setenv("SQUEUE_PARTITION", "other")
    with SlurmExecutor(store.root, Profile()) as again:
        assert again.follows(job)
    (store.root.parent / "released").touch()
    assert [ended.code for ended in ends(executor, 1)] == [Exit.DONE]


def test_more_jobs_than_an_array_may_have_are_submitted_as_others_end(
    store: Store, scenario: Scenario
) -> None:
    scenario()
    jobs = jobs_of(LARGEST_ARRAY + 1)
    assert kinds(run(store, *jobs)) == {job.id: None for job in jobs}
    assert len(attempts(store)) == len(jobs)


def test_no_more_jobs_are_in_slurm_than_the_profile_says(store: Store, scenario: Scenario) -> None:
    scenario()
    jobs = jobs_of(3)
    assert kinds(run(store, *jobs, profile=Profile(jobs=1))) == {job.id: None for job in jobs}
    assert len(list((store.root / "slurm").iterdir())) == 3


def program(folder: Path, name: str, lines: str) -> str:
    """Writes a program that stands in for one of Slurm's; returns its folder."""
    path = folder / "bin" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{lines}\n")
    path.chmod(0o755)
    return str(path.parent)


def test_a_pause_before_a_further_try_outlasts_a_controller_that_is_down(
    store: Store, scenario: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario()
    (job,) = jobs_of(1)
    with SlurmExecutor(store.root, Profile()) as executor, monkeypatch.context() as patch:
        patch.setenv("PATH", program(tmp_path, "squeue", "exit 1"), prepend=os.pathsep)
        assert executor.wait(lambda job, event: None, 0.3) == []
    assert kinds(run(store, job)) == {job.id: None}


def test_a_line_says_why_slurm_does_not_start_a_job(store: Store, scenario: Scenario) -> None:
    """The command waited for ever, and nobody knew for what."""
    scenario()
    (job,) = jobs_of(1)
    executor = SlurmExecutor(store.root, Profile(extra=["--hold"])).__enter__()
    write_job(store, job, Execution())
    executor.start(job, store)
    heard: list[dict[str, Any]] = []
    assert executor.wait(lambda job, event: heard.append(event), 2.0) == []
    (task,) = tasks()
    text = f"Slurm holds jobs back, {task} for one: JobHeldUser."
    assert heard == [{"event": "notice", "message": text}]
    command("scontrol", "release", task)
    assert [ended.code for ended in ends(executor, 1)] == [Exit.DONE]


def test_an_array_that_slurm_took_though_sbatch_timed_out_is_followed(
    store: Store, scenario: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its tasks lost the list of their jobs, and ended as if they had trained them."""
    scenario()
    error = "sbatch: error: Batch job submission failed: Socket timed out on send/recv operation"
    lines = f"{shutil.which('sbatch')} \"$@\" || exit\necho '{error}' >&2\nexit 1"
    monkeypatch.setenv("PATH", program(tmp_path, "sbatch", lines), prepend=os.pathsep)
    jobs = jobs_of(3)
    assert kinds(run(store, *jobs)) == {job.id: None for job in jobs}
    assert len(attempts(store)) == 3


@pytest.mark.slow
def test_jobs_wait_for_a_controller_that_is_down_and_are_submitted_when_it_is_back(
    store: Store, scenario: Scenario, slurm_cluster: Slurm
) -> None:
    scenario(until="released")
    running, new = jobs_of(2)
    executor = started(store, running)
    wait_until(lambda: len(attempts(store)) == 1)
    slurm_cluster.shut_down("slurmctld")
    write_job(store, new, Execution())
    executor.start(new, store)
    heard: list[dict[str, Any]] = []
    assert executor.wait(lambda job, event: heard.append(event), 1.0) == []
    assert [event["message"] for event in heard if event["event"] == "notice"] == [
        "Slurm does not answer: its controller is asked until it does."
    ]
    slurm_cluster.start("slurmctld")
    (store.root.parent / "released").touch()
    assert [ended.code for ended in ends(executor, 2)] == [Exit.DONE] * 2
    assert len(attempts(store)) == 2


def test_a_task_whose_machine_lacks_the_store_ends_the_command_with_one_sentence(
    store: Store, scenario: Scenario
) -> None:
    """It was taken for a failure of its runs."""
    scenario()
    (job,) = jobs_of(1)
    executor = SlurmExecutor(store.root, Profile(extra=["--hold"])).__enter__()
    write_job(store, job, Execution())
    executor.start(job, store)
    assert executor.wait(lambda job, event: None, 0.0) == []
    (store.root / "work").rename(store.root / "elsewhere")
    command("scontrol", "release", *tasks())
    (ended,) = ends(executor, 1)
    assert ended.code == Exit.STORE


def test_jobs_of_another_store_are_not_followed(
    store: Store, scenario: Scenario, tmp_path: Path
) -> None:
    scenario(until="released")
    (job,) = jobs_of(1)
    executor = started(store, job)
    with SlurmExecutor(tmp_path / "other", Profile()) as other:
        assert not other.follows(job)
    (store.root.parent / "released").touch()
    assert [ended.code for ended in ends(executor, 1)] == [Exit.DONE]


def test_a_job_near_its_time_limit_checkpoints_and_queues_itself_again(
    store: Store, scenario: Scenario
) -> None:
    scenario(stop=True)
    (job,) = jobs_of(1)
    executor = started(store, job)
    wait_until(lambda: len(attempts(store)) == 1)
    (task,) = tasks()
    command("scancel", "--signal=USR2", "--batch", task)  # what Slurm sends 120 s before the end
    wait_until(lambda: command("squeue", "-j", task, "-h", "-o", "%T").strip() == "PENDING")
    scenario()
    release(task)
    (ended,) = ends(executor, 1)
    assert (ended.job, ended.code) == (job, Exit.DONE)
    assert len(attempts(store)) == 2


@pytest.mark.slow
def test_a_job_that_does_not_end_before_its_time_limit_is_tried_again(
    store: Store, scenario: Scenario
) -> None:
    scenario(stop=False)  # asked to checkpoint, it does not
    (job,) = jobs_of(1)
    executor = SlurmExecutor(store.root, Profile(time="1")).__enter__()
    write_job(store, job, Execution())
    executor.start(job, store)
    (ended,) = ends(executor, 1)
    assert executor._known[job.id].state == "TIMEOUT"
    assert ended.code == -9
    assert (store.root.parent / "asked").exists()


def release(task: str) -> None:
    """Slurm starts a job that is queued again only after two minutes, unless asked; one that starts
    in the second in which it ended is refused by its node.
    """
    command("scontrol", "update", f"JobId={task}", "StartTime=now+2")
    wait_until(lambda: command("squeue", "-j", task, "-h", "-o", "%T").strip() != "PENDING")


@pytest.mark.slow
def test_a_job_whose_node_is_lost_is_trained_on_the_other_one(
    store: Store, scenario: Scenario, slurm_cluster: Slurm
) -> None:
    scenario(until="released")
    (job,) = jobs_of(1)
    executor = started(store, job)
    wait_until(lambda: len(attempts(store)) == 1)
    (task,) = tasks()
    node = command("squeue", "-h", "-j", task, "-o", "%N").strip()
    slurm_cluster.lose(node)
    wait_until(lambda: command("squeue", "-j", task, "-h", "-o", "%T").strip() == "PENDING")
    (store.root.parent / "released").touch()
    release(task)
    (ended,) = ends(executor, 1)
    assert (ended.job, ended.code) == (job, Exit.DONE)
    assert len(attempts(store)) == 2
    slurm_cluster.start(node)
    wait_until(lambda: command("sinfo", "--noheader", "-o", "%A").strip() == "0/2")


def test_what_slurm_refuses_is_one_sentence(store: Store, scenario: Scenario) -> None:
    scenario()
    with pytest.raises(ReproError, match=r"^Slurm refuses the jobs: .*partition.*--profile"):
        run(store, *jobs_of(1), profile=Profile(partition="absent"))
    assert not list((store.root / "slurm").iterdir())


def test_where_slurm_is_absent_one_sentence_says_so(
    store: Store, scenario: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario()
    monkeypatch.setenv("PATH", os.devnull)
    assert shutil.which("sbatch") is None
    with pytest.raises(ReproError, match="needs sbatch, which is not found here"):
        run(store, *jobs_of(1))


def test_profile_becomes_options_of_sbatch() -> None:
    profile = Profile(
        partition="gpu", account="nlp", time="4:00:00", gpus=2, gpu_type="a100", extra=["--mem=32G"]
    )
    assert profile.options() == [
        "--partition=gpu", "--account=nlp", "--time=4:00:00", "--gres=gpu:a100:2", "--mem=32G",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("printed", "code"),
    [("0", 0), ("5632", 22), ("9", -9), ("35072", -9), ("22:0", 22), ("0:9", -9)],
)
def test_status_that_squeue_prints_is_an_exit_code(printed: str, code: int) -> None:
    """As wait(2) gives it: 22 << 8; signal 9; 137 << 8, which a shell makes of signal 9."""
    assert _status(printed) == code


@pytest.mark.parametrize(
    ("accounting", "folder", "code"),
    [
        ("FAILED|22:0", True, 22),
        ("CANCELLED by 0|0:15", True, 1),
        ("TIMEOUT|0:0", True, -9),
        ("OUT_OF_MEMORY|0:125", True, 20),
        ("", True, -9),
        ("", False, 0),
    ],
)
def test_task_that_squeue_forgot_is_judged_by_accounting_or_by_what_the_worker_left(
    store: Store, scenario: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    accounting: str, folder: bool, code: int,
) -> None:  # fmt: skip
    scenario(until="released")
    (job,) = jobs_of(1)
    executor = started(store, job)
    wait_until(lambda: len(attempts(store)) == 1)
    for name, text in (("squeue", ""), ("sacct", accounting)):
        programs = program(tmp_path, name, f"echo '{text}'")
    if not folder:
        shutil.rmtree(store.work_dir(job.id))
    with monkeypatch.context() as patch:
        patch.setenv("PATH", programs, prepend=os.pathsep)
        (ended,) = ends(executor, 1)
    assert ended.code == code
    command("scancel", "--me")
    wait_until(lambda: not tasks())
