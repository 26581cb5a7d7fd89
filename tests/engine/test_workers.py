"""Several workers side by side on one machine: turns, threads, GPUs, and how all of them stop.

Workers are stand-ins (`fake_worker.py`).
"""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from run_samples import run_spec

from repro.engine import local
from repro.engine.cost import ASSUMED, Estimate, Speed
from repro.engine.devices import devices, lease
from repro.engine.dispatch import Dispatcher
from repro.engine.jobs import Execution, Job, make_job
from repro.engine.local import LocalExecutor, best_workers
from repro.errors import ReproError
from repro.store import Store

Scenario = Callable[..., None]


def attempts(store: Store) -> list[dict[str, Any]]:
    lines = (store.root.parent / "attempts.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def jobs(count: int) -> list[Job]:
    return [make_job([run_spec(recipe__learning_rate=float(n))]) for n in range(1, count + 1)]


def test_as_many_jobs_run_side_by_side_as_there_are_workers(
    store: Store, scenario: Scenario
) -> None:
    scenario(meet=3)  # none ends before all three have begun
    outcomes = Dispatcher(LocalExecutor(3)).run(jobs(3), store, Execution())
    assert [outcome.kind for outcome in outcomes] == [None] * 3
    assert len({attempt["process"] for attempt in attempts(store)}) == 3


def test_workers_live_on_and_divide_the_threads(
    store: Store, scenario: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario(meet=2)
    monkeypatch.setenv("OMP_NUM_THREADS", "9")
    Dispatcher(LocalExecutor(2)).run(jobs(6), store, Execution())
    assert len({attempt["process"] for attempt in attempts(store)}) == 2
    assert {attempt["OMP_NUM_THREADS"] for attempt in attempts(store)} == {"4"}


def test_a_crash_beside_others_costs_only_its_own_job(store: Store, scenario: Scenario) -> None:
    scenario(meet=2, broken=[2.0])
    found = jobs(5)
    outcomes = Dispatcher(LocalExecutor(2)).run(found, store, Execution())
    assert {outcome.job.id: outcome.kind for outcome in outcomes} == {
        job.id: "error" if job is found[1] else None for job in found
    }


def test_ctrl_c_lets_the_running_jobs_write_a_checkpoint(store: Store, scenario: Scenario) -> None:
    scenario(meet=2, stop=True)
    heard: list[tuple[str, Job]] = []

    def listen(job: Job, event: dict[str, Any]) -> None:
        heard.append((event["event"], job))
        if len(heard) == 2:  # both have begun
            raise KeyboardInterrupt

    found = jobs(3)
    with pytest.raises(KeyboardInterrupt):
        Dispatcher(LocalExecutor(2), listen).run(found, store, Execution())
    assert {job.id for kind, job in heard if kind == "stopping"} == {found[0].id, found[1].id}
    assert (store.root.parent / "asked").exists()
    assert all(store.failure(job.keys[0]) is None for job in found)
    assert not any(Path(f"/proc/{one['process']}").exists() for one in attempts(store))


def test_a_second_ctrl_c_ends_jobs_that_do_not_stop(store: Store, scenario: Scenario) -> None:
    scenario(stop=False)
    asked = store.root.parent / "asked"

    def again() -> None:
        while not asked.exists():
            time.sleep(0.002)
        os.kill(os.getpid(), signal.SIGINT)

    def listen(job: Job, event: dict[str, Any]) -> None:
        if event["event"] == "stopping":
            threading.Thread(target=again).start()
        else:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Dispatcher(LocalExecutor(), listen).run(jobs(1), store, Execution())
    (attempt,) = attempts(store)
    assert not Path(f"/proc/{attempt['process']}").exists()


# -- how many ------------------------------------------------------------------------------------


def of(seconds: float, memory: float) -> Estimate:
    return Estimate(seconds, memory, seconds, seconds)


@pytest.mark.parametrize(
    ("seconds", "memory", "count", "expected"),
    [
        (10.0, 1e8, 100, 16),  # one a thread
        (10.0, 1e8, 3, 3),  # no more than jobs
        (10.0, 1.4e9, 100, 6),  # 12 GB is half of the memory, and a worker needs 0.6 + 1.4 GB
        (1.0, 1e8, 40, 5),  # 40 s of work for workers that need 8 s to start
        (1.0, 1e8, 2, 1),
        (200.0, 1e8, 100, 1),  # not small: all threads for one
    ],
)
def test_the_default_is_one_worker_a_thread_for_small_jobs(
    seconds: float, memory: float, count: int, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "16")
    monkeypatch.setattr(os, "sysconf", {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 24e9 / 4096}.get)
    each = of(seconds, memory)
    monkeypatch.setattr(local, "estimates", lambda jobs, speed: {job.id: each for job in jobs})
    speed = Speed(1.0, 1.0, "a machine", True, start=8.0)
    assert best_workers(jobs(count), speed) == expected


def test_threads_that_are_asked_for_leave_room_for_fewer_workers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    each = of(60.0, 1.0)
    monkeypatch.setattr(local, "estimates", lambda jobs, speed: {job.id: each for job in jobs})
    assert best_workers(jobs(9), ASSUMED["cpu"], threads=2) == 1
    assert best_workers(jobs(9), ASSUMED["cpu"]) == 2
    assert best_workers([], ASSUMED["cpu"]) == 1


# -- GPUs ----------------------------------------------------------------------------------------


@pytest.fixture
def gpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Three GPUs that no other test has: 10, 2 and 30 GiB are free."""
    names = [f"GPU-{tmp_path}-{n}" for n in range(3)]
    lines = "".join(
        f"{name}, {n}, {free}\\n"
        for n, (name, free) in enumerate(zip(names, (10_240, 2_048, 30_720), strict=True))
    )
    program = tmp_path / "bin" / "nvidia-smi"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\nprintf '{lines}'\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    return names


def test_every_gpu_has_one_worker_and_no_job_meets_another_on_it(
    store: Store, scenario: Scenario, gpus: list[str]
) -> None:
    """Three GPUs, twelve jobs; a job fails where its GPU is in use."""
    scenario(meet=3, alone_on_gpu=True)
    outcomes = Dispatcher(LocalExecutor(gpus=devices())).run(jobs(12), store, Execution())
    assert [outcome.kind for outcome in outcomes] == [None] * 12
    found = attempts(store)
    by_process = {one["process"]: one["CUDA_VISIBLE_DEVICES"] for one in found}
    assert sorted(by_process.values()) == gpus
    assert len(found) == 12


def test_two_commands_never_share_a_gpu(gpus: list[str]) -> None:
    every = devices()
    with ExitStack() as first, ExitStack() as second:
        assert [one.id for one in lease(every[:2], first)] == gpus[:2]
        with LocalExecutor(gpus=every) as other:
            assert other.slots == 1
            with pytest.raises(ReproError, match=r"have all GPUs here \(3\)"):
                lease(every, second)
        assert [one.id for one in lease(every, second)] == gpus[2:]  # as the other has ended


def test_several_workers_a_gpu_where_they_are_asked_for(
    store: Store, scenario: Scenario, gpus: list[str]
) -> None:
    scenario(meet=5)
    Dispatcher(LocalExecutor(5, devices())).run(jobs(5), store, Execution())
    used = [one["CUDA_VISIBLE_DEVICES"] for one in attempts(store)]
    assert sorted(used) == sorted([*gpus, *gpus[:2]])


def test_a_job_goes_to_a_gpu_with_memory_for_it_and_a_line_says_where_there_is_none(
    store: Store, scenario: Scenario, gpus: list[str]
) -> None:
    scenario(meet=2)
    heard: list[str] = []

    def listen(job: Job, event: dict[str, Any]) -> None:
        heard.extend([event["message"]] if event["event"] == "notice" else [])

    executor = LocalExecutor(gpus=devices()[:2], needs=lambda job: 5e9)
    Dispatcher(executor, listen).run(jobs(2), store, Execution())
    assert {one["CUDA_VISIBLE_DEVICES"] for one in attempts(store)} == set(gpus[:2])
    assert heard == ["GPU 1 has 2.1 GB free; a job there needs about 5.0 GB."]


@pytest.mark.parametrize(
    ("visible", "expected"), [("2,0", [2, 0]), ("", []), ("MIG-7", ["MIG-7"]), (None, [0, 1, 2])]
)
def test_only_gpus_that_the_user_leaves_visible_are_used(
    gpus: list[str], visible: str | None, expected: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert [one.id for one in devices()] == [
        gpus[name] if isinstance(name, int) else name for name in expected
    ]
