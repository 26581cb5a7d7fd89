"""The dispatcher and the claims with hundreds of made-up workers that are killed, on a clock of
their own: no process starts, and nothing is trained.
"""

from __future__ import annotations

import heapq
import random
from collections import Counter
from collections.abc import Sequence
from types import SimpleNamespace

import pytest
from run_samples import run_spec

from repro.engine import dispatch
from repro.engine.dispatch import Dispatcher, Ended, Listener, Outcome
from repro.engine.jobs import Execution, Job
from repro.engine.progress import JobFailure
from repro.engine.worker import Exit
from repro.store import Store
from repro.store.claims import Held

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
        found.append(Job(f"job {number}", (spec,), (f"{number:064x}",)))
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
