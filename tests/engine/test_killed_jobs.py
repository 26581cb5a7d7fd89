"""kill -9 at any moment, then the same command again: the bytes of a run that nobody killed."""

from __future__ import annotations

import contextlib
import json
import os
import random
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from drive_jobs import wanted
from in_process import InProcess
from tiny_folder import write_tiny_bert

from repro.engine.dispatch import Dispatcher
from repro.engine.jobs import Execution, make_job, sweep_jobs, unfinished_jobs, write_job
from repro.engine.loaded import Loaded
from repro.engine.plan import jobs_for
from repro.engine.worker import execute
from repro.spec import run_key
from repro.store import Store

Event = dict[str, Any]
PROJECT = Path(__file__).parents[2]
DRIVER = PROJECT / "tests" / "drive_jobs.py"
COMPARED = ("history.jsonl", "result.json", "predictions.json", "adapter.safetensors")
MOST_SECONDS = 120.0
"""For a process that should end by itself; reached only where something hangs."""


class Driver:
    """`drive_jobs.py` in a session of its own, and what it prints."""

    def __init__(self, root: Path, model: Path, which: str, workers: int = 1) -> None:
        self.process = subprocess.Popen(
            [sys.executable, DRIVER, root, model, which, "local", str(workers)],
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
            env={**os.environ, "PYTHONPATH": str(PROJECT)},
        )

    def events(self) -> Iterator[Event]:
        """Every event until the driver ends."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            yield json.loads(line)

    def wait_for(self, wanted: Callable[[Event], bool]) -> Event:
        """The first event that is `wanted`."""
        return next(event for event in self.events() if wanted(event))

    def workers(self) -> list[int]:
        """The process ids of its children: one, or none between two jobs."""
        pid = self.process.pid
        children = Path(f"/proc/{pid}/task/{pid}/children")
        return [int(child) for child in children.read_text().split()]

    def worker(self) -> int:
        """The process id of its one child."""
        (child,) = self.workers()
        return child

    def kill_tree(self) -> None:
        """Kills driver and worker at once, and waits for both to be gone."""
        workers = [os.pidfd_open(pid) for pid in self.workers()]
        os.killpg(self.process.pid, signal.SIGKILL)
        self.close()
        for worker in workers:
            wait_until_gone(worker)

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()


def wait_until_gone(descriptor: int) -> None:
    """Waits for the end of the process behind a pidfd, whoever's child it is."""
    ended, _, _ = select.select([descriptor], [], [], MOST_SECONDS)
    os.close(descriptor)
    assert ended, "the process lives on"


def is_at(kind: str, **fields: object) -> Callable[[Event], bool]:
    def matches(event: Event) -> bool:
        return event["event"] == kind and all(event.get(n) == v for n, v in fields.items())

    return matches


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_bert(tmp_path_factory.mktemp("models") / "tiny")


def finish(root: Path, model: Path, which: str) -> None:
    """Trains in this process what is left to train."""
    store, specs = Store(root), wanted(str(model), which)
    execution = Execution(
        threads=1, checkpoint_steps=1, keep_weights=True,
        folders={specs[0].backbone.revision or "": str(model)},
    )  # fmt: skip
    missing = [spec for spec in specs if store.state(run_key(spec)) != "done"]
    outcomes = Dispatcher(InProcess()).run(jobs_for(missing, store), store, execution)
    assert {outcome.kind for outcome in outcomes} <= {None}


def contents(root: Path, model: Path, which: str) -> dict[str, bytes]:
    """The compared files of every run."""
    keys = [run_key(spec) for spec in wanted(str(model), which)]
    return {
        f"{key}/{name}": (root / key[:2] / key / name).read_bytes()
        for key in keys
        for name in COMPARED
    }


@pytest.fixture(scope="module")
def unbroken(model: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """What nobody killed left behind."""
    root = tmp_path_factory.mktemp("unbroken") / "store"
    finish(root, model, "frozen")
    return contents(root, model, "frozen")


def test_kills_of_worker_and_command_leave_the_bytes_of_an_unbroken_run(
    tmp_path: Path, model: Path, unbroken: dict[str, bytes]
) -> None:
    """Kills at every other kind of moment are cuts of a worker in `test_worker.py`."""
    root = tmp_path / "store"
    store = Store(root)
    keys = [run_key(spec) for spec in wanted(str(model), "frozen")]
    assert len(keys) == 7

    driver = Driver(root, model, "frozen")
    driver.wait_for(is_at("step", step=2))
    os.kill(driver.worker(), signal.SIGKILL)  # 1: only the worker; the driver starts another
    assert driver.wait_for(is_at("resumed"))["step"] >= 1
    driver.wait_for(is_at("step", step=5))
    worker = os.pidfd_open(driver.worker())
    os.kill(driver.worker(), signal.SIGSTOP)  # so that it cannot notice by itself
    driver.close()  # 2: only the driver; its worker dies with it
    wait_until_gone(worker)
    assert [list(job.keys) for job in unfinished_jobs(store)] == [keys]
    assert {store.state(key) for key in keys} == {"missing"}
    with store.claim(keys) as held:
        assert held == set(keys)

    driver = Driver(root, model, "frozen")
    driver.wait_for(is_at("stored"))
    driver.kill_tree()  # 3: everything, with some results stored
    assert "done" in {store.state(key) for key in keys}

    finish(root, model, "frozen")
    assert contents(root, model, "frozen") == unbroken
    assert not list((root / "quarantine").glob("*"))


def test_a_kill_between_parent_and_child_is_continued_with_the_child(
    tmp_path: Path, model: Path
) -> None:
    root = tmp_path / "store"
    child, parent = map(run_key, wanted(str(model), "family"))
    driver = Driver(root, model, "family")
    driver.wait_for(is_at("stored", run=parent))
    driver.wait_for(is_at("loading"))  # for the child
    driver.kill_tree()
    store = Store(root)
    assert [store.state(key) for key in (parent, child)] == ["done", "missing"]
    before = (root / parent[:2] / parent / "result.json").read_bytes()
    finish(root, model, "family")
    assert (root / parent[:2] / parent / "result.json").read_bytes() == before
    made, origin = store.read(child), store.read(parent)
    assert made is not None
    assert origin is not None
    assert made.result.parents == {"architecture": origin.digest}
    assert made.result.layers == origin.result.layers


@pytest.mark.slow
@pytest.mark.parametrize("which", ["frozen", "tuning"])
def test_ten_kills_at_random_moments(tmp_path: Path, model: Path, which: str) -> None:
    """Twenty in all: before the n-th event of a process, or while it writes a checkpoint."""
    draw = random.Random(which)
    finish(tmp_path / "unbroken", model, which)
    root, kills = tmp_path / "store", 0
    while kills < 10:
        driver = Driver(root, model, which)
        events = driver.events()
        heard = [event for _, event in zip(range(draw.randrange(1, 25)), events, strict=False)]
        if heard[-1]["event"] == "ended":  # begin again: a later kill is as good as the first
            driver.close()
            # nothing is left to do where the last kill came after the last result was stored
            assert heard[-1]["kinds"] in ([None], [])
            assert contents(root, model, which) == contents(tmp_path / "unbroken", model, which)
            root = tmp_path / f"store-{kills}"
            continue
        if draw.random() < 0.4:
            wait_for_a_write(root, driver)
        driver.kill_tree()
        kills += 1
    finish(root, model, which)
    assert contents(root, model, which) == contents(tmp_path / "unbroken", model, which)


def many(root: Path, model: Path) -> dict[str, bytes]:
    """What the results of twelve jobs hold, each stored once and with nothing set aside."""
    assert sorted(Store(root).keys()) == sorted(map(run_key, wanted(str(model), "many")))
    assert not list((root / "quarantine").glob("[!.]*/*"))
    sweep_jobs(Store(root))  # as every command does: a kill may come right after the last result
    assert not list((root / "work").iterdir())
    return contents(root, model, "many")


@pytest.fixture(scope="module")
def unbroken_many(model: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    root = tmp_path_factory.mktemp("many") / "store"
    finish(root, model, "many")
    return many(root, model)


@pytest.mark.slow
def test_thirty_kills_of_workers_and_ten_of_dispatchers_lose_nothing(
    tmp_path: Path, model: Path, unbroken_many: dict[str, bytes]
) -> None:
    """Two workers; a worker is killed at a random event of its own, every fourth time the command
    itself, which is then given again. Each round ends when all runs are stored.
    """
    draw = random.Random("kills")
    workers, dispatchers, rounds = 0, 0, 0
    while workers < 30 or dispatchers < 10:
        root = tmp_path / f"store-{rounds}"
        rounds += 1
        ended = False
        while not ended:
            driver = Driver(root, model, "many", workers=2)
            processes: dict[str, int] = {}
            left = draw.randrange(1, 20)
            for event in driver.events():
                ended = event["event"] == "ended"
                assert not ended or set(event["kinds"]) <= {None}
                if event["event"] == "loading":
                    processes[event["job"]] = event["process"]
                left -= 1
                if left > 0 or ended or event["job"] not in processes:
                    continue
                left = draw.randrange(1, 20)
                if draw.random() < 0.25:
                    dispatchers += 1
                    break
                with contextlib.suppress(ProcessLookupError):  # it has just ended by itself
                    os.kill(processes[event["job"]], signal.SIGKILL)
                    workers += 1
            killed = [os.pidfd_open(pid) for pid in driver.workers()] if not ended else []
            driver.close()
            for worker in killed:
                wait_until_gone(worker)
        assert many(root, model) == unbroken_many


@pytest.mark.slow
def test_two_commands_on_one_store_train_each_run_once(
    tmp_path: Path, model: Path, unbroken_many: dict[str, bytes]
) -> None:
    root = tmp_path / "store"
    drivers = [Driver(root, model, "many") for _ in range(2)]
    heard = [list(driver.events()) for driver in drivers]
    for driver, events in zip(drivers, heard, strict=True):
        driver.close()
        assert set(events[-1]["kinds"]) <= {None, "running"}
    finish(root, model, "many")  # what one left to the other when its parent was not stored yet
    stored = [e["run"] for events in heard for e in events if e["event"] == "stored"]
    assert len(stored) == len(set(stored))
    assert many(root, model) == unbroken_many


def wait_for_a_write(root: Path, driver: Driver) -> None:
    """Until a file in a work folder is half written, or the driver has ended."""
    while driver.process.poll() is None:
        for folder in (root / "work").glob("*"):
            if any(name.startswith(".tmp-") for name in os.listdir(folder)):
                return


def test_a_worker_of_another_scheduler_ends_at_its_signal_and_is_continued(
    tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`python -m repro worker`, started by hand: SIGUSR2, then the job is given to another."""
    heard: list[Event] = []
    _, parent = wanted(str(model), "family")
    store = Store(tmp_path / "store")
    execution = Execution(threads=1, folders={parent.backbone.revision or "": str(model)})
    job = make_job([parent])
    command = [sys.executable, "-m", "repro", "worker", job.id, "--store", str(store.root)]
    environment = {**os.environ, "PYTHONPATH": str(PROJECT)}

    write_job(store, job, execution)
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if json.loads(line)["event"] == "step":
                process.send_signal(signal.SIGUSR2)
                break
        rest = [json.loads(line) for line in process.stdout]
    assert process.returncode == rest[-1]["code"] == 30
    assert store.state(job.keys[0]) == "missing"
    assert (store.work_dir(job.id) / "checkpoint.safetensors").exists()

    monkeypatch.setattr("repro.engine.worker.report", heard.append)
    assert execute(store, store.work_dir(job.id), Loaded(store.cache)) == 0
    assert "resumed" in [event["event"] for event in heard]
    assert not store.work_dir(job.id).exists()
