"""The dispatcher and the claims with hundreds of made-up workers that are killed, on a clock of
their own: no process starts, and nothing is trained.
"""

from __future__ import annotations

import heapq
import os
import random
import threading
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from math import inf
from types import SimpleNamespace

import pytest
from run_samples import run_spec
from store_samples import files_of, result_of, spec_of

from repro.engine import dispatch
from repro.engine.dispatch import Dispatcher, Ended, Listener, Outcome
from repro.engine.jobs import Execution, Job, is_stored, make_job
from repro.engine.progress import JobFailure
from repro.engine.worker import Exit
from repro.methods.untrained import AblatedSpans
from repro.spec import RunSpec, run_key
from repro.store import Store, render
from repro.store.claims import EXPIRY_SECONDS, ClaimLost, Held, Lease, lock_path

WORKERS, JOBS, CHAINED = 250, 750, 125
BUSY = JobFailure(kind="error", message="CUDA error: unknown", trace="", passing=True)


class Died(Exception):
    """The dispatcher's process is gone, and with it those that it started."""


class Cluster:
    """Workers that take a claim, train for a while of the made-up clock and end in some way."""

    slots = WORKERS
    at_ctrl_c = ""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.now = 0.0
        self.ends: list[tuple[float, int, Job, int]] = []
        self.claims: dict[str, Held] = {}
        self.trained: Counter[str] = Counter()
        self.killed: Counter[str] = Counter()
        self.most = 0
        self.dies_at = -1
        self.drawn = random.Random(7)

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def follows(self, job: Job) -> bool:
        return False

    def start(self, job: Job, store: Store) -> None:
        held = Held(store.root / "claims")
        assert all(held.take(key) for key in job.keys), "two workers at one run"
        assert not any(self.trained[key] for key in job.keys), "trained already"
        assert all(self.trained[key] for key in job.parents), "before its parent"
        self.claims[job.id] = held
        self.most = max(self.most, len(self.claims))
        code = Exit.DONE.value
        if self.killed[job.id] < 3:  # a fourth kill in a row is a failure
            code = self.drawn.choices([code, -9, Exit.PREEMPTED, Exit.ERROR], [70, 15, 10, 5])[0]
        self.killed[job.id] += code in (-9, Exit.ERROR)
        seconds = self.drawn.expovariate(1 / 600)
        heapq.heappush(self.ends, (self.now + seconds, len(self.trained), job, code))

    def wait(self, hear: Listener, seconds: float | None) -> list[Ended]:
        if sum(self.trained.values()) == self.dies_at:
            raise Died
        if not self.ends or (seconds is not None and self.now + seconds < self.ends[0][0]):
            assert seconds is not None, "waits for nothing"
            self.now += seconds
            return []
        self.now, _, job, code = heapq.heappop(self.ends)
        self.claims.pop(job.id).release()
        if code == Exit.DONE:
            self.trained.update(job.keys)
        return [Ended(job, code, BUSY if code == Exit.ERROR else None)]

    def stop(self) -> None:
        raise AssertionError("nobody stops it")

    def lose_the_dispatcher(self) -> None:
        """Its workers end with it, and what they have not stored is lost."""
        for held in self.claims.values():
            held.release()
        self.claims.clear()
        self.ends.clear()
        self.dies_at = -1


@pytest.fixture
def cluster(store: Store, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    made = Cluster(store)
    monkeypatch.setattr(dispatch, "time", SimpleNamespace(monotonic=lambda: made.now))
    monkeypatch.setattr(dispatch, "write_job", lambda *_: store.root)
    monkeypatch.setattr(dispatch, "read_failure", lambda folder: None)
    monkeypatch.setattr(
        dispatch, "is_stored", lambda store, job, *_: all(made.trained[key] for key in job.keys)
    )
    monkeypatch.setattr(
        dispatch, "lacking",
        lambda spec, store: [key for key in spec.parents.values() if not made.trained[key]],
    )  # fmt: skip
    return made


def jobs(count: int = JOBS) -> list[Job]:
    """The last ones are made from the first."""
    found = []
    for number in range(count):
        parent = number - (count - CHAINED)
        parents = {"p": f"{parent:064x}"} if parent >= 0 else {}
        spec = run_spec().model_copy(update={"parents": parents})
        keys = (f"{number:064x}",)
        found.append(Job(f"job {number}", (spec,), keys, frozenset(parents.values())))
    return found


def run(cluster: Cluster, wanted: Sequence[Job]) -> list[Outcome]:
    return Dispatcher(cluster).run(wanted, cluster.store, Execution())


def test_hundreds_of_workers_that_are_killed_train_every_run_exactly_once(cluster: Cluster) -> None:
    outcomes = run(cluster, jobs())
    assert [outcome.kind for outcome in outcomes] == [None] * JOBS
    assert {cluster.trained[key] for job in jobs() for key in job.keys} == {1}
    assert cluster.most == WORKERS
    assert cluster.killed.total() > JOBS / 10
    assert not list((cluster.store.root / "claims").glob("*.lock"))


def test_a_dispatcher_that_dies_twice_is_continued_and_every_run_is_trained_once(
    cluster: Cluster,
) -> None:
    wanted = jobs(300)
    cluster.slots = 30
    for cluster.dies_at in (100, 200):
        with pytest.raises(Died):
            run(cluster, wanted)
        cluster.lose_the_dispatcher()
    outcomes = run(cluster, wanted)
    assert [outcome.kind for outcome in outcomes] == [None] * len(wanted)
    assert {cluster.trained[key] for job in wanted for key in job.keys} == {1}


class Turns:
    """The clock of several commands: that whose next event comes first has its turn."""

    def __init__(self, commands: int) -> None:
        self.now = 0.0
        self.left = commands
        self.waiting: list[tuple[float, int]] = []
        self.changed = threading.Condition()

    def until(self, time: float) -> None:
        mine = (time, threading.get_ident())
        with self.changed:
            self.waiting.append(mine)
            self.changed.notify_all()
            self.changed.wait_for(
                lambda: len(self.waiting) == self.left and min(self.waiting) == mine
            )
            self.waiting.remove(mine)
            self.now = max(self.now, time)

    def end(self) -> None:
        with self.changed:
            self.left -= 1
            self.changed.notify_all()


class Command:
    """One of several commands that train the same runs in one real store.

    Its workers start for a while, and meet those of the other then. Some do not renew their claims,
    as if their machine had been suspended, so that the other's take these over; a half of those
    that lost a claim find out only after they have stored what they trained.
    """

    at_ctrl_c = ""

    def __init__(self, store: Store, turns: Turns, seed: int, slots: int) -> None:
        self.slots = slots
        self.store, self.turns, self.drawn = store, turns, random.Random(seed)
        self.events: list[tuple[float, int, Job, int | None]] = []
        self.held: dict[str, Held] = {}
        self.killed: Counter[str] = Counter()
        self.stored: list[str] = []

    def __enter__(self) -> Command:
        return self

    def __exit__(self, *_: object) -> None:
        self.turns.end()

    def follows(self, job: Job) -> bool:
        return False

    def start(self, job: Job, store: Store) -> None:
        self._after(10, job, None)

    def _after(self, mean: float, job: Job, code: int | None) -> None:
        time = self.turns.now + self.drawn.expovariate(1 / mean)
        heapq.heappush(self.events, (time, self.drawn.getrandbits(60), job, code))

    def wait(self, hear: Listener, seconds: float | None) -> list[Ended]:
        last = inf if seconds is None else self.turns.now + seconds
        while True:
            due = self.events[0][0] if self.events else inf
            assert min(due, last) < inf, "waits for nothing"
            self.turns.until(min(due, last))
            if last < due:
                return []
            _, _, job, code = heapq.heappop(self.events)
            code = self._began(job) if code is None else self._ended(job, code)
            if code is not None:
                return [Ended(job, code, BUSY if code == Exit.ERROR else None)]

    def _began(self, job: Job) -> int | None:
        """What ends the worker at once, if anything does."""
        held = Held(self.store.root / "claims")
        if not all(held.take(key) for key in job.keys):
            return Exit.CLAIMED_ELSEWHERE
        if is_stored(self.store, job):
            held.release()
            return Exit.ALREADY_DONE
        assert all(self.store.read(key) for key in job.parents), "before its parent"
        self.held[job.id] = held
        if self.drawn.random() < 0.1:
            suspend(held, job)
        code = Exit.DONE.value
        if self.killed[job.id] < 3:
            code = self.drawn.choices([code, -9, Exit.PREEMPTED, Exit.ERROR], [70, 15, 10, 5])[0]
        self.killed[job.id] += code in (-9, Exit.ERROR)
        self._after(600, job, code)
        return None

    def _ended(self, job: Job, code: int) -> int:
        held = self.held.pop(job.id)
        if code == Exit.DONE:
            try:
                if self.drawn.random() < 0.5:
                    held.check(job.keys)
            except ClaimLost:
                return Exit.CLAIMED_ELSEWHERE
            self._store(job.keys[0], job.lead)
        held.release()
        return code

    def _store(self, key: str, spec: RunSpec) -> None:
        parents = {role: self.store.read(parent) for role, parent in spec.parents.items()}
        digests = {role: run.digest for role, run in parents.items() if run is not None}
        result = result_of(key).model_copy(update={"parents": digests})
        small = {"result.json": render(result), "adapter.safetensors": b"weights"}
        self.store.write(key, spec, files_of(key) | small)
        self.stored.append(key)

    def stop(self) -> None:
        raise AssertionError("nobody stops it")


def suspend(held: Held, job: Job) -> None:
    """Makes the claim that of another machine, which did not renew it."""
    for key in job.keys:
        path = lock_path(held.folder, key)
        lease = Lease.model_validate_json(path.read_bytes())
        path.write_text(lease.model_copy(update={"machine": "another"}).model_dump_json())
        old = path.stat().st_mtime - 2 * EXPIRY_SECONDS
        os.utime(path, (old, old))


@pytest.mark.parametrize("workers", [100, pytest.param(1_000, marks=pytest.mark.slow)])
def test_two_commands_on_one_store_store_every_run_once(
    store: Store, workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half of the workers each. A run that both trained has the result of the first; that of the
    second is equal, or the store would have said that it differs.
    """
    alone = [spec_of(seed) for seed in range(workers)]
    made = [
        spec.model_copy(update={"method": AblatedSpans(), "parents": {"trained": run_key(spec)}})
        for spec in alone[: workers // 5]
    ]
    wanted = [make_job([spec]) for spec in (*alone, *made)]
    turns, said = Turns(2), list[str]()
    monkeypatch.setattr(dispatch, "time", SimpleNamespace(monotonic=lambda: turns.now))
    monkeypatch.setattr(dispatch, "write_job", lambda *_: store.root)
    commands = [
        Command(Store(store.root, said.append), turns, seed, workers // 2) for seed in range(2)
    ]

    def run(command: Command) -> list[Outcome]:
        return Dispatcher(command).run(wanted, command.store, Execution())

    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(run, commands))
    for outcomes in found:
        assert {outcome.kind for outcome in outcomes} <= {None, "running"}
    keys = [key for job in wanted for key in job.keys]
    assert sorted(store.keys()) == sorted(keys)
    trained = Counter(commands[0].stored) + Counter(commands[1].stored)
    assert trained.keys() == set(keys)
    assert 0 < trained.total() - len(keys) < len(keys) / 10
    assert said == []
    assert not list((store.root / "quarantine").glob("*"))
