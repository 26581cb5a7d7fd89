"""Executes jobs on this machine, one after the other, in a process beside this one."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from repro.engine.jobs import Execution, Job, is_stored, needed_weights, split_job, write_job
from repro.engine.process import Worker
from repro.engine.worker import LOG, Exit
from repro.errors import ChangedProgram, StoreError
from repro.spec import RunSpec, run_key
from repro.store.blocked import blocker, lacking
from repro.store.result import FailureKind
from repro.store.store import Store

Listener = Callable[[Job, dict[str, Any]], None]
ELSEWHERE = "another process is training these runs"
RESTARTS = 2
LOG_KEPT = 200_000
"""Bytes of a log that a failure record keeps: its end."""


class Executor(Protocol):
    """Whatever gets jobs done: this machine, later a cluster."""

    def run(self, jobs: Sequence[Job], store: Store, execution: Execution) -> list[Outcome]:
        """Executes all jobs; a failure of one does not stop the rest."""
        ...


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one job ended; `kind` is None for a job that is done.

    Of a job that was not started it is "running" (another process trains its runs, or those that
    they are made from) or "blocked" (a run that they are made from failed).
    """

    job: Job
    kind: str | None
    message: str = ""


@dataclass(frozen=True, slots=True)
class LocalExecutor:
    """The executor of this machine. `listen` hears every event of every job."""

    listen: Listener = lambda job, event: None

    def run(self, jobs: Sequence[Job], store: Store, execution: Execution) -> list[Outcome]:
        """See `Executor`. Raises StoreError when the store refuses to be written, ChangedProgram
        when a process would not run the code that planned the jobs.
        """
        outcomes: list[Outcome] = []
        waiting, known = list(jobs), {run_key(s): s for job in jobs for s in job.specs}
        needed = needed_weights(known.values())
        with Worker(store.root) as worker:
            while waiting:
                job = waiting.pop(0)
                own = _keeping(execution, job, needed)
                done = _waits(job, store, known) or self._run_one(job, store, own, worker)
                if isinstance(done, Outcome):
                    outcomes.append(done)
                else:
                    waiting = [*done, *waiting]
        return outcomes

    def _run_one(
        self, job: Job, store: Store, execution: Execution, worker: Worker
    ) -> Outcome | list[Job]:
        """The job's outcome, or the smaller jobs to run in its place when memory ran out."""
        if is_stored(store, job, execution):  # by another process, since this was planned
            return Outcome(job, None)
        for key in job.keys:
            store.clear_failure(key)
        killed = 0
        while True:
            folder = write_job(store, job, execution)
            code, failed = worker.train(job.id, folder, partial(self.listen, job))
            if code == Exit.DONE:
                shutil.rmtree(folder, ignore_errors=True)
                return Outcome(job, None)
            if code == Exit.CLAIMED_ELSEWHERE:
                return Outcome(job, "running", ELSEWHERE)
            if failed.get("kind") == "store":
                raise StoreError(failed["message"])
            if failed.get("kind") == "code":
                raise ChangedProgram(failed["message"])
            if code == Exit.OUT_OF_MEMORY:
                smaller = self._smaller(job, execution)
                if isinstance(smaller, list):
                    shutil.rmtree(folder, ignore_errors=True)
                    return smaller
                if smaller is not None:
                    execution = smaller
                    continue
            if code == Exit.ERROR and not failed and len(job.specs) > 1:
                shutil.rmtree(folder, ignore_errors=True)
                return split_job(job)  # one member's bug must not cost the others their results
            killed += code < 0
            if code >= 0 or killed > RESTARTS:
                break
        kind = failed.get("kind", "killed" if code < 0 else "error")
        message = failed.get("message") or _last_words(code, folder)
        self._record(job, store, folder, kind, message)
        return Outcome(job, kind, message)

    def _smaller(self, job: Job, execution: Execution) -> list[Job] | Execution | None:
        """What to try when memory ran out: fewer members, else a smaller micro-batch."""
        if len(job.specs) > 1:
            return split_job(job)
        size = execution.micro_batch or job.lead.recipe.batch_size
        if job.lead.method.splits_batches and size > 1:
            return execution.model_copy(update={"micro_batch": size // 2})
        return None

    def _record(
        self, job: Job, store: Store, folder: Path, kind: FailureKind, message: str
    ) -> None:
        log = (folder / LOG).read_bytes()[-LOG_KEPT:].decode(errors="replace")
        for key, spec in zip(job.keys, job.specs, strict=True):
            if store.read(key) is None:
                store.record_failure(key, spec, kind, message, log)


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
            f"ended by signal {-code}, {RESTARTS + 1} times (9 is the kernel's for want of memory)"
        )
    lines = (folder / LOG).read_text(encoding="utf-8", errors="replace").splitlines()
    exception = next((line.strip() for line in reversed(lines) if line.strip()), "")
    return exception or f"exit code {code}"
