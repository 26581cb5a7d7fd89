"""Workers on this machine: processes that take one job after the other."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from pydantic import ValidationError

from repro.engine.dispatch import Ended, Listener
from repro.engine.jobs import Job
from repro.engine.progress import Event, JobFailure
from repro.engine.worker import GOES_ON, LOG, PACKAGE
from repro.store.atomic import store_errors
from repro.store.store import Store

READ = 1 << 16


def worker_command(root: Path, jobs: list[str]) -> list[str]:
    """What starts a worker of this very package for jobs of the store `root`; `-` is stdin."""
    return [sys.executable, "-P", str(PACKAGE / "engine" / "start.py"), str(root), *jobs]


class Worker:
    """The process is started for the first job, and anew after any end but a good one.

    A start costs seconds, of which a small job would be mostly made. It leads a session of its own:
    a Ctrl-C in the terminal is for the command, which then asks it to stop.
    """

    def __init__(self, environment: dict[str, str] | None = None) -> None:
        """`environment`: what it has beside this process's."""
        self.job: Job | None = None
        self.last: Job | None = None
        self._environment = environment or {}
        self._process: subprocess.Popen[bytes] | None = None
        self._log: Any = None
        self._unread = b""
        self._failure: JobFailure | None = None

    @property
    def output(self) -> int:
        """The descriptor that its lines come from, as long as it lives."""
        assert self._process is not None
        assert self._process.stdout is not None
        return self._process.stdout.fileno()

    def start(self, job: Job, store: Store) -> None:
        """Hands it the job. Raises StoreError where the job's log cannot be written."""
        self.job, self.last, self._failure = job, job, None
        path = store.work_dir(job.id) / LOG
        with store_errors(path):
            self._log = path.open("ab", buffering=0)
        if self._process is not None and self._process.poll() is not None:
            self.end()  # somebody killed it since its last job
        if self._process is None:
            self._process = self._started(store.root)
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # it died since; its output ends at once
            self._process.stdin.write(f"{job.id}\n".encode())
            self._process.stdin.flush()

    def _started(self, root: Path) -> subprocess.Popen[bytes]:
        """The process; one that starts says in the job's log what goes wrong before the job."""
        own = {"REPRO_PARENT": str(os.getpid())}
        return subprocess.Popen(
            worker_command(root, ["-"]),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env=os.environ | self._environment | own,
            start_new_session=True,
        )

    def read(self, hear: Callable[[Event], None]) -> Ended | None:
        """Takes what its output holds, waiting if that is nothing; the end of its job, if it ends.

        What is no event goes to the job's log. Raises StoreError where that cannot be written.
        """
        part = os.read(self.output, READ)
        *lines, self._unread = (self._unread + part).split(b"\n")
        if not part and self._unread:
            lines, self._unread = [self._unread], b""
        for line in lines:
            event = _event(line)
            if event is None:  # some library's print
                self._note(line + b"\n")
            elif event["event"] != "ended":
                if event["event"] == "failed":
                    self._failure = _failure(event)
                hear(event)
            elif event["code"] in GOES_ON:
                return self._ended(event["code"])
        return None if part else self._ended(self.end())

    def _note(self, line: bytes) -> None:
        if self._log is not None:
            with store_errors(Path(self._log.name)):
                self._log.write(line.decode(errors="backslashreplace").encode())

    def _ended(self, code: int) -> Ended | None:
        job, self.job = self.job, None
        if self._log is not None:
            self._log.close()
            self._log = None
        return None if job is None else Ended(job, code, self._failure)

    def send(self, number: signal.Signals) -> None:
        """A signal to the process and, where that is to end at once, all that it started."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                if number == signal.SIGKILL:
                    os.killpg(self._process.pid, number)
                else:
                    self._process.send_signal(number)

    def end(self) -> int:
        """Waits for the process, which has no job any more; its exit code."""
        if self._process is None:
            return 0
        with contextlib.suppress(BrokenPipeError):
            self._process.communicate()  # closes its input
        code, self._process, self._unread = self._process.returncode, None, b""
        return code


@dataclass(slots=True)
class LocalExecutor:
    """The executor of this machine: so many workers side by side."""

    workers: int = 1
    _all: list[Worker] = field(default_factory=list, init=False)

    @property
    def slots(self) -> int:
        """See `Executor`."""
        return self.workers

    def __enter__(self) -> Self:
        self._all = [Worker() for _ in range(self.workers)]
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Kills what has a job; its claims go with it."""
        for worker in self._all:
            if kind is not None:
                worker.send(signal.SIGKILL)
        for worker in self._all:
            worker.end()

    def follows(self, job: Job) -> bool:
        """Workers here end with the command that started them."""
        return False

    def start(self, job: Job, store: Store) -> None:
        """The job goes to a worker that has none, best to one that has read its data before."""
        idle = [worker for worker in self._all if worker.job is None]
        min(idle, key=lambda worker: _strange(worker.last, job)).start(job, store)

    def wait(self, hear: Listener, seconds: float | None) -> list[Ended]:
        """See `Executor`."""
        with selectors.DefaultSelector() as ready:
            for worker in self._all:
                if worker.job is not None:
                    ready.register(worker.output, selectors.EVENT_READ, worker)
            ended: list[Ended] = []
            while not ended:
                found = ready.select(seconds)
                if not found:
                    break
                for key, _ in found:
                    worker = key.data
                    job = worker.job
                    end = worker.read(lambda event, job=job: hear(job, event))
                    if end is not None:
                        ended.append(end)
                        ready.unregister(key.fileobj)
            return ended

    def stop(self) -> None:
        """See `Executor`."""
        for worker in self._all:
            worker.send(signal.SIGTERM)
        for worker in self._all:
            worker.end()


def _strange(last: Job | None, job: Job) -> int:
    """How much a worker would have to load for the job that its last one had not."""
    if last is None:
        return 2
    return (last.lead.backbone != job.lead.backbone) * 2 + (last.lead.task != job.lead.task)


def _event(line: bytes) -> Event | None:
    """The event that a line of a worker's output tells, None for any other line."""
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) and "event" in found else None


def _failure(event: Event) -> JobFailure | None:
    with contextlib.suppress(ValidationError):
        return JobFailure.model_validate(event)
    return None
