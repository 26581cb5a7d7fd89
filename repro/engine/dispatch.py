"""Gets jobs done by an executor: what is the same whether workers run here or on a cluster.

An executor only starts workers and says which have ended and how. In what order jobs start, what an
end means, what is tried again and what is recorded is decided here. The store is the truth: a
command that is given again, by whomever, finds there what is left to do.
"""

from __future__ import annotations

import heapq
import itertools
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

from repro.engine.jobs import Execution, Job, is_stored, needed_weights, split_job, write_job
from repro.engine.progress import FAILURE, PROGRESS, JobFailure, read_failure
from repro.engine.worker import LOG, Exit, code_digest
from repro.errors import ChangedProgram, StoreError
from repro.spec import RunSpec, run_key
from repro.store.blocked import blocker, lacking
from repro.store.result import FailureKind
from repro.store.store import Store

Listener = Callable[[Job, dict[str, Any]], None]
ELSEWHERE = "another process is training these runs"
CHECKPOINTING = "stopping: running jobs write a checkpoint; Ctrl-C again ends them now"
BACKOFF: tuple[float, ...] = (0.0, 5.0, 20.0)
"""Seconds before each further try of a job whose worker was killed, or whose GPU or server failed;
after the last one the job has failed.
"""
ALIKE = 3
"""Jobs that end with the same unforeseen error before those that are like them are not started."""
LOG_KEPT = 200_000
"""Bytes of a log that a failure record keeps: its end."""


@dataclass(frozen=True, slots=True)
class Ended:
    """A worker's end. `code`: see `Exit`; negative where a signal ended it, or its node was lost.

    `failure`: what the worker said; where an executor does not hear it, its folder is read.
    """

    job: Job
    code: int
    failure: JobFailure | None = None


class Executor(Protocol):
    """Starts workers (`python -m repro worker`) and says how they end.

    As a context, it ends those that live and depend on this process.
    """

    @property
    def slots(self) -> int:
        """How many jobs it takes at once."""
        ...

    @property
    def at_ctrl_c(self) -> str:
        """The line that is printed at Ctrl-C: what happens to the jobs that run."""
        return CHECKPOINTING

    def follows(self, job: Job) -> bool:
        """Whether a worker is at the job already that an earlier command started, and whose end
        this executor will hear of. None is where workers end with the command.
        """
        return False

    def start(self, job: Job, store: Store) -> None:
        """Has a worker train the job, whose work folder is written, unless one is at it already."""
        ...

    def wait(self, hear: Listener, seconds: float | None) -> list[Ended]:
        """The jobs that have ended, as soon as one has, or after so many seconds; `hear` gets the
        events of the others meanwhile.
        """
        ...

    def stop(self) -> None:
        """Asks the workers to checkpoint and waits for their ends, where that is for this process
        to do.
        """
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one job ended; `kind` is None for a job that is done.

    Of a job that was not started it is "running" (another process trains its runs, or those that
    they are made from), "blocked" (a run that they are made from failed) or "stopped" (jobs like it
    failed).
    """

    job: Job
    kind: str | None
    message: str = ""


@dataclass(frozen=True, slots=True)
class Attempt:
    """A job and how it is tried next. Of those that may start, that with the least `place` does,
    but none before the time `after`.
    """

    job: Job
    execution: Execution
    place: int
    tries: int = 0
    after: float = 0.0


@dataclass(slots=True)
class Dispatcher:
    """Gets jobs done. `listen` hears every event of every job."""

    executor: Executor
    listen: Listener = lambda job, event: None
    _ready: list[tuple[int, int, Attempt]] = field(default_factory=list, init=False)
    """A heap of those that may start; of equal places the first that came."""
    _tickets: Iterator[int] = field(default_factory=itertools.count, init=False)
    _pausing: list[Attempt] = field(default_factory=list, init=False)
    _held: dict[str, list[Attempt]] = field(default_factory=dict, init=False)
    """Run that is not settled yet -> those that wait for it."""
    _running: dict[str, Attempt] = field(default_factory=dict, init=False)
    _open: Counter[str] = field(default_factory=Counter, init=False)
    """Runs of jobs that have no outcome yet."""
    _outcomes: list[Outcome] = field(default_factory=list, init=False)
    _errors: dict[str, list[Outcome]] = field(default_factory=dict, init=False)
    """Traces of unforeseen errors -> the jobs that ended with them."""

    def run(self, jobs: Sequence[Job], store: Store, execution: Execution) -> list[Outcome]:
        """Executes all jobs; a failure of one does not stop the rest. A job starts as soon as the
        runs that it is made from are stored; of those that may start, the first.

        Raises StoreError when the store refuses to be written, ChangedProgram when a worker would
        not run the code that planned the jobs. At Ctrl-C running jobs checkpoint first.
        """
        known = {run_key(s): s for job in jobs for s in job.specs}
        needed = needed_weights(known.values())
        self._open.update(key for job in jobs for key in job.keys)
        for place, job in enumerate(jobs):
            self._put(Attempt(job, _keeping(execution, job, needed), place))
        with self.executor as executor:
            try:
                self._start_ready(store, known)
                while self._running or self._pausing:
                    for ended in executor.wait(self.listen, self._pause()):
                        self._end(ended, store)
                    self._start_ready(store, known)
            except KeyboardInterrupt:
                for attempt in self._running.values():
                    self.listen(attempt.job, {"event": "stopping", "message": executor.at_ctrl_c})
                executor.stop()
                raise
        return self._outcomes

    def _put(self, attempt: Attempt) -> None:
        """Has the job wait for what it needs first: a parent, a pause, its turn."""
        parent = next((key for key in attempt.job.parents if self._open[key]), None)
        if parent is not None:
            self._held.setdefault(parent, []).append(attempt)
        elif attempt.after > time.monotonic():
            self._pausing.append(attempt)
        else:
            heapq.heappush(self._ready, (attempt.place, next(self._tickets), attempt))

    def _settle(self, job: Job, kind: str | None, message: str = "") -> None:
        """The job's outcome, which `listen` hears; what waits for its runs waits no longer."""
        self._outcomes.append(Outcome(job, kind, message))
        self.listen(job, {"event": "outcome", "kind": kind})
        self._open.subtract(job.keys)
        for key in job.keys:
            if not self._open[key]:
                for child in self._held.pop(key, ()):
                    self._put(child)

    def _pause(self) -> float | None:
        """Seconds until a job that pauses may start, where it could."""
        if not self._pausing or len(self._running) >= self.executor.slots:
            return None
        return max(0.0, min(one.after for one in self._pausing) - time.monotonic())

    def _start_ready(self, store: Store, known: Mapping[str, RunSpec]) -> None:
        """Starts jobs as long as the executor takes some; what cannot be trained is settled."""
        pausing, self._pausing = self._pausing, []
        for attempt in pausing:
            self._put(attempt)
        while self._ready and len(self._running) < self.executor.slots:
            _, _, attempt = heapq.heappop(self._ready)
            job = attempt.job
            followed = self.executor.follows(job)
            outcome = None if followed else self._stopped(job) or _waits(job, store, known)
            if outcome is not None:
                self._settle(job, outcome.kind, outcome.message)
            elif is_stored(store, job, attempt.execution):  # by another process since the plan
                self._settle(job, None)
            else:
                self._start(attempt, store, followed=followed)

    def _start(self, attempt: Attempt, store: Store, *, followed: bool) -> None:
        for key in attempt.job.keys:
            store.clear_failure(key)
        if not followed:  # else the folder is the worker's, which may remove it at any time
            folder = write_job(store, attempt.job, attempt.execution, code_digest())
            for name in (FAILURE, PROGRESS):  # of the attempt before, which may have been killed
                (folder / name).unlink(missing_ok=True)
        self._running[attempt.job.id] = attempt
        self.executor.start(attempt.job, store)

    def _end(self, ended: Ended, store: Store) -> None:
        """What becomes of a job whose worker has ended: an outcome, or further tries."""
        attempt = self._running.pop(ended.job.id)
        job, code, folder = attempt.job, ended.code, store.work_dir(attempt.job.id)
        if code in (Exit.DONE, Exit.ALREADY_DONE):
            self._settle(job, None)
            return
        if is_stored(store, job, attempt.execution):
            self._settle(job, None)  # by another command, which then removed the work folder
            return
        if code == Exit.CLAIMED_ELSEWHERE:
            self._settle(job, "running", ELSEWHERE)
            return
        if code == Exit.WAITS:  # somebody removed a parent's result since it was started
            self._settle(job, "running", "a run that they are made from is not stored yet")
            return
        failure = ended.failure or read_failure(folder)
        kind = failure.kind if failure is not None else "killed" if code < 0 else "error"
        message = failure.message if failure is not None else _last_words(code, folder)
        if kind == "store":
            raise StoreError(message)
        if code == Exit.STORE:  # and could not even say so in its folder
            raise StoreError(
                f"A worker could not read or write the store {store.root}: its disk is full, or "
                "the worker's machine does not have it. Mend that and give the command again."
            )
        if kind == "code":
            raise ChangedProgram(message)
        again = self._again(attempt, code, failure)
        if again and again[0].job.id != job.id:
            shutil.rmtree(folder, ignore_errors=True)
        for one in again:
            self._put(one)
        if again:
            return
        self._record(job, store, folder, kind, message)
        self._settle(job, kind, message)
        if failure is not None and failure.trace:
            self._errors.setdefault(failure.trace, []).append(self._outcomes[-1])

    def _again(self, attempt: Attempt, code: int, failure: JobFailure | None) -> list[Attempt]:
        """What is tried after an end that was not good; nothing where the job has failed."""
        if code == Exit.PREEMPTED:
            return [attempt]
        if code == Exit.OUT_OF_MEMORY:
            return _smaller(attempt)
        if code < 0 or (failure is not None and failure.passing):
            if attempt.tries == len(BACKOFF):
                return []
            after = time.monotonic() + BACKOFF[attempt.tries]
            return [replace(attempt, tries=attempt.tries + 1, after=after)]
        foreseen = failure is not None and not failure.trace
        if code == Exit.ERROR and not foreseen and len(attempt.job.specs) > 1:
            return _halves(attempt)  # one member's bug must not cost the others their results
        return []

    def _stopped(self, job: Job) -> Outcome | None:
        """Why the job is not started, if several that are like it ended with one error.

        Alike is what has all in common that these have: the method, the task, the model.
        """
        for failed in self._errors.values():
            common = set.intersection(*(_features(one.job) for one in failed))
            if len(failed) >= ALIKE and common <= _features(job):
                why = (
                    f"{len(failed)} jobs like these ended with the same error ({failed[0].message})"
                )
                return Outcome(job, "stopped", why)
        return None

    def _record(
        self, job: Job, store: Store, folder: Path, kind: FailureKind, message: str
    ) -> None:
        path = folder / LOG
        log = path.read_bytes()[-LOG_KEPT:].decode(errors="replace") if path.exists() else ""
        for key, spec in zip(job.keys, job.specs, strict=True):
            if store.read(key) is None:
                store.record_failure(key, spec, kind, message, log)


def write_jobs(jobs: Sequence[Job], store: Store, execution: Execution) -> None:
    """Writes jobs that workers of another scheduler train."""
    needed = needed_weights(spec for job in jobs for spec in job.specs)
    for job in jobs:
        write_job(store, job, _keeping(execution, job, needed), code_digest())


def _features(job: Job) -> set[tuple[str, str]]:
    """What jobs that fail alike may have in common."""
    spec = job.lead
    methods = {("method", spec.method.kind) for spec in job.specs}
    return methods | {("task", spec.task.name), ("model", spec.backbone.name)}


def _smaller(attempt: Attempt) -> list[Attempt]:
    """What to try when memory ran out: fewer members, else a smaller micro-batch."""
    job, execution = attempt.job, attempt.execution
    if len(job.specs) > 1:
        return _halves(attempt)
    size = execution.micro_batch or job.lead.recipe.batch_size
    if job.lead.method.splits_batches and size > 1:
        smaller = execution.model_copy(update={"micro_batch": size // 2})
        return [replace(attempt, execution=smaller)]
    return []


def _halves(attempt: Attempt) -> list[Attempt]:
    return [replace(attempt, job=half, tries=0) for half in split_job(attempt.job)]


def _keeping(execution: Execution, job: Job, needed: set[str]) -> Execution:
    """How the job is executed: weights that another job needs are kept."""
    if needed.isdisjoint(job.keys):
        return execution
    return execution.model_copy(update={"keep_weights": True})


def _waits(job: Job, store: Store, known: Mapping[str, RunSpec]) -> Outcome | None:
    """Why the job cannot start; None where all parents of its runs are stored."""
    if any(store.state(key) == "running" for key in job.keys):
        return Outcome(job, "running", ELSEWHERE)  # its work folder is the other process's
    absent = lacking(job.lead, store)  # its members have the same parents
    if not absent or is_stored(store, job):
        return None
    why = blocker(job.lead, store, known)
    if why is not None:
        return Outcome(job, "blocked", why)
    return Outcome(job, "running", f"the run {absent[0][:12]}, which they need, is not stored yet")


def _last_words(code: int, folder: Path) -> str:
    """Why a worker ended that did not say so itself: a signal, else the end of its log."""
    if code < 0:
        return (
            f"ended by signal {-code}, {len(BACKOFF) + 1} times (9 is the kernel's for want of "
            "memory)"
        )
    path = folder / LOG
    text = path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
    exception = next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "")
    return exception or f"exit code {code}"
