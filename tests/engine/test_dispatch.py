"""What the dispatcher decides, with an executor whose ends each test scripts: no process starts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from fake_results import store_result
from run_samples import run_spec

from repro.engine import dispatch
from repro.engine.dispatch import ALIKE, BACKOFF, Dispatcher, Ended, Listener, Outcome
from repro.engine.jobs import FILE, Execution, Job, make_job, read_job, write_job
from repro.engine.progress import FAILURE, JobFailure
from repro.engine.worker import Exit
from repro.errors import StoreError
from repro.methods.fine_tuning import FullFineTuning
from repro.methods.linear_probe import LinearProbe
from repro.spec import RunSpec, run_key
from repro.store import Store

End = Ended | int | JobFailure
BUG = JobFailure(kind="error", message="KeyError: 'x'", trace="model.py:7 forward\nKeyError")


@dataclass
class Scripted:
    """An executor whose jobs end, the first started first, as `ends` says; done by default."""

    slots: int = 1
    ends: Callable[[Job, int], End] = lambda job, tries: Exit.DONE
    store: Store | None = None
    started: list[Job] = field(default_factory=list)
    executions: list[Execution] = field(default_factory=list)
    running: list[Job] = field(default_factory=list)
    side_by_side: int = 0
    waits: list[float | None] = field(default_factory=list)
    stopped: bool = False
    followed: bool = False
    at_ctrl_c: str = "stopping"

    def __enter__(self) -> Scripted:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def follows(self, job: Job) -> bool:
        return self.followed

    def start(self, job: Job, store: Store) -> None:
        self.store = store
        self.started.append(job)
        self.running.append(job)
        self.side_by_side = max(self.side_by_side, len(self.running))
        file = read_job(store.work_dir(job.id))
        assert file is not None
        self.executions.append(file.execution)

    def wait(self, hear: Listener, seconds: float | None) -> list[Ended]:
        self.waits.append(seconds)
        if not self.running:
            return []
        job = self.running.pop(0)
        end = self.ends(job, sum(one.id == job.id for one in self.started))
        if isinstance(end, JobFailure):
            return [Ended(job, Exit.ERROR, end)]
        if isinstance(end, Ended):
            return [end]
        if end == Exit.DONE:
            assert self.store is not None
            for spec in job.specs:
                store_result(self.store, spec)
        return [Ended(job, end)]

    def stop(self) -> None:
        self.stopped = True


def run(executor: Scripted, jobs: Sequence[Job], store: Store) -> list[Outcome]:
    return Dispatcher(executor).run(jobs, store, Execution())


def one(rate: float = 1.0, **changes: Any) -> Job:
    return make_job([run_spec(recipe__learning_rate=rate, **changes)])


def child(parent: RunSpec, rate: float = 1.0) -> Job:
    return one(rate, parents={"architecture": run_key(parent)})


def test_a_job_starts_once_its_parents_are_stored_while_others_still_run(store: Store) -> None:
    parent, long, later = one(1.0), one(2.0), one(4.0)
    made = child(parent.lead, 3.0)
    executor = Scripted(slots=2)
    outcomes = run(executor, [parent, made, long, later], store)
    assert executor.started == [parent, long, made, later]
    assert executor.side_by_side == 2
    assert [outcome.kind for outcome in outcomes] == [None] * 4


def test_children_of_a_failed_job_are_blocked_and_never_started(store: Store) -> None:
    parent = one(1.0)
    made = child(parent.lead)
    made_of_it = child(made.lead, 2.0)
    executor = Scripted(ends=lambda job, tries: JobFailure(kind="error", message="It broke."))
    outcomes = run(executor, [parent, made, made_of_it], store)
    assert [outcome.kind for outcome in outcomes] == ["error", "blocked", "blocked"]
    assert executor.started == [parent]


@pytest.mark.parametrize(
    "end",
    [
        -9,  # a signal, a lost node
        JobFailure(kind="error", message="CUDA error: unknown error", passing=True),
        JobFailure(kind="missing-data", message="503", passing=True),
    ],
)
def test_what_may_pass_is_tried_again_three_times_with_longer_and_longer_pauses(
    store: Store, end: End, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dispatch, "BACKOFF", (0.0, 50.0, 200.0))
    now = [1000.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    executor = Scripted(ends=lambda job, tries: end)
    plain = executor.wait

    def wait(hear: Listener, seconds: float | None) -> list[Ended]:
        now[0] += seconds or 0.0
        return plain(hear, seconds)

    monkeypatch.setattr(executor, "wait", wait)
    (outcome,) = run(executor, [one()], store)
    assert len(executor.started) == 4
    assert [seconds for seconds in executor.waits if seconds] == [50.0, 200.0]
    assert outcome.kind == ("killed" if end == -9 else end.kind)  # type: ignore[union-attr]
    assert store.state(outcome.job.keys[0]) == "failed"


def test_others_run_while_a_job_pauses(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatch, "BACKOFF", (3600.0,))
    first, second = one(1.0), one(2.0)
    executor = Scripted(ends=lambda job, tries: -9 if job is first else Exit.DONE)

    def listen(job: Job, event: dict[str, Any]) -> None:
        if job is second:
            raise KeyboardInterrupt  # else the test would wait for an hour

    with pytest.raises(KeyboardInterrupt):
        Dispatcher(executor, listen).run([first, second], store, Execution())
    assert executor.started == [first, second]
    assert executor.stopped


@pytest.mark.parametrize("kind", ["error", "missing-data", "missing-model"])
def test_what_would_end_the_same_way_is_not_tried_again(store: Store, kind: Any) -> None:
    executor = Scripted(ends=lambda job, tries: JobFailure(kind=kind, message="no"))
    assert [outcome.kind for outcome in run(executor, [one()], store)] == [kind]
    assert len(executor.started) == 1


def test_a_job_that_was_stopped_after_a_checkpoint_goes_on_without_a_limit(store: Store) -> None:
    often = len(BACKOFF) + 5
    executor = Scripted(ends=lambda job, tries: Exit.PREEMPTED if tries < often else Exit.DONE)
    assert [outcome.kind for outcome in run(executor, [one()], store)] == [None]
    assert len(executor.started) == often


def test_out_of_memory_lowers_the_micro_batch_and_nothing_else(store: Store) -> None:
    job = make_job([run_spec(FullFineTuning(), recipe__batch_size=8)])
    ends = Exit.OUT_OF_MEMORY
    executor = Scripted(ends=lambda job, tries: ends if tries < 3 else Exit.ALREADY_DONE)
    assert [outcome.kind for outcome in run(executor, [job], store)] == [None]
    assert [execution.micro_batch for execution in executor.executions] == [None, 4, 2]


def test_the_same_error_in_three_jobs_stops_those_that_are_like_them(store: Store) -> None:
    """The method and the task that these have in common, at three rates; others go on."""
    bad = [one(float(rate)) for rate in range(1, 6)]
    others = [one(rate, method=LinearProbe(layer=1)) for rate in (1.0, 2.0)]

    def ends(job: Job, tries: int) -> End:
        return BUG if job in bad else Exit.ALREADY_DONE

    executor = Scripted(ends=ends)
    outcomes = run(executor, [*bad, *others], store)
    assert [outcome.kind for outcome in outcomes] == [
        *["error"] * ALIKE,
        *["stopped"] * 2,
        *[None] * 2,
    ]
    assert outcomes[ALIKE].message == "3 jobs like these ended with the same error (KeyError: 'x')"
    assert len(executor.started) == ALIKE + len(others)
    assert {store.state(key) for job in bad[ALIKE:] for key in job.keys} == {"missing"}


def test_different_errors_stop_nothing(store: Store) -> None:
    def ends(job: Job, tries: int) -> End:
        return BUG.model_copy(update={"trace": job.id})

    outcomes = run(Scripted(ends=ends), [one(float(rate)) for rate in range(1, 6)], store)
    assert [outcome.kind for outcome in outcomes] == ["error"] * 5


def test_one_broken_run_of_a_job_stops_nothing(store: Store) -> None:
    """The job and its halves end with one error, which is one run's."""
    specs = [run_spec(recipe__learning_rate=float(rate)) for rate in range(1, 17)]

    def ends(job: Job, tries: int) -> End:
        return BUG if specs[2] in job.specs else Exit.DONE

    outcomes = run(Scripted(ends=ends), [make_job(specs), one(99.0)], store)
    failed = [outcome for outcome in outcomes if outcome.kind is not None]
    assert [list(outcome.job.specs) for outcome in failed] == [[specs[2]]]
    assert all(store.state(run_key(spec)) == "done" for spec in specs if spec is not specs[2])


def test_why_a_job_of_another_machine_failed_is_read_from_its_folder(store: Store) -> None:
    job = one()

    def ends(job: Job, tries: int) -> End:
        failure = JobFailure(kind="missing-data", message="Put it there.")
        (store.work_dir(job.id) / FAILURE).write_text(failure.model_dump_json())
        return Ended(job, Exit.MISSING)

    assert run(Scripted(ends=ends), [job], store) == [Outcome(job, "missing-data", "Put it there.")]


def test_why_an_earlier_attempt_failed_is_not_said_of_a_later_one(store: Store) -> None:
    """The first says why it failed, the others are killed before they can."""
    job = one()

    def ends(job: Job, tries: int) -> End:
        if tries == 1:
            failure = JobFailure(kind="missing-data", message="503", passing=True)
            (store.work_dir(job.id) / FAILURE).write_text(failure.model_dump_json())
        return Ended(job, Exit.MISSING if tries == 1 else -9)

    (outcome,) = run(Scripted(ends=ends), [job], store)
    assert outcome.kind == "killed"


def test_a_worker_that_cannot_use_the_store_ends_the_command_and_fails_no_run(
    store: Store,
) -> None:
    """Even where it could not write why: a full disk, a machine without the store's folder."""
    job = one()
    with pytest.raises(StoreError, match=r"could not read or write the store .*store.*disk"):
        run(Scripted(ends=lambda job, tries: Exit.STORE), [job, one(2.0)], store)
    assert store.failed() == set()


@pytest.mark.parametrize(
    "end",
    [JobFailure(kind="error", message="The folder holds no job."), Exit.CLAIMED_ELSEWHERE],
)
def test_a_job_that_another_command_stores_meanwhile_is_done(store: Store, end: End) -> None:
    """Its end, say for want of the work folder that the other has removed, is no failure."""
    job = one()

    def ends(job: Job, tries: int) -> End:
        store_result(store, job.lead)
        return end

    assert run(Scripted(ends=ends), [job], store) == [Outcome(job, None)]


def test_a_job_that_an_earlier_command_started_is_followed_and_left_as_it_is(store: Store) -> None:
    job = one()
    folder = write_job(store, job, Execution(threads=7))
    before = (folder / FILE).read_bytes()
    with store.claim(job.keys):  # as its worker does
        outcomes = run(Scripted(followed=True), [job], store)
    assert outcomes == [Outcome(job, None)]
    assert (folder / FILE).read_bytes() == before


def test_the_listener_hears_of_every_jobs_end(store: Store) -> None:
    heard: list[tuple[Job, Any]] = []
    bad, good = one(1.0), one(2.0)
    executor = Scripted(ends=lambda job, tries: Exit.DONE if job is good else BUG)
    Dispatcher(executor, lambda job, event: heard.append((job, event))).run(
        [bad, good], store, Execution()
    )
    assert heard == [
        (bad, {"event": "outcome", "kind": "error"}),
        (good, {"event": "outcome", "kind": None}),
    ]


def test_ten_thousand_jobs_in_chains_are_each_done_once(store: Store, monkeypatch: Any) -> None:
    """Work per job does not grow with their number; the store is stood in for."""
    monkeypatch.setattr(dispatch, "write_job", lambda *_: store.root)
    monkeypatch.setattr(dispatch, "is_stored", lambda *_: False)
    monkeypatch.setattr(dispatch, "_waits", lambda *_: None)
    monkeypatch.setattr(store, "clear_failure", lambda key: None)
    jobs = []
    for number in range(10_000):
        keys = (f"run {number}",)
        parent = f"run {number - 2_500}"
        spec = run_spec().model_copy(update={"parents": {"p": parent}})
        jobs.append(Job(f"job {number}", (spec,), keys, frozenset([parent])))
    executor = Scripted(slots=100)
    monkeypatch.setattr(executor, "start", lambda job, store: executor.running.append(job))
    monkeypatch.setattr(executor, "wait", lambda hear, seconds: [Ended(executor.running.pop(), 0)])
    outcomes = run(executor, jobs, store)
    assert sorted(outcome.job.id for outcome in outcomes) == sorted(job.id for job in jobs)
