"""Workers on this machine: processes that take one job after the other."""

from __future__ import annotations

import contextlib
import json
import math
import os
import selectors
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from pydantic import ValidationError

from repro.engine.cost import Speed, estimates
from repro.engine.devices import Device, devices, lease
from repro.engine.dispatch import Ended, Executor, Listener
from repro.engine.jobs import Job
from repro.engine.progress import Event, JobFailure
from repro.engine.worker import GOES_ON, LOG, PACKAGE
from repro.store.atomic import store_errors
from repro.store.store import Store
from repro.words import size

READ = 1 << 16
SMALL_SECONDS = 120.0
"""What a job that is small takes at most, by its estimate."""
WORKER_BYTES = 600e6
"""What a worker takes beside its job: the interpreter and its libraries."""


def worker_command(root: Path, jobs: list[str]) -> list[str]:
    """What starts a worker of this very package for jobs of the store `root`; `-` is stdin."""
    return [sys.executable, "-P", str(PACKAGE / "engine" / "start.py"), str(root), *jobs]


class Worker:
    """The process is started for the first job, and anew after any end but a good one.

    A start costs seconds, of which a small job would be mostly made. It leads a session of its own:
    a Ctrl-C in the terminal is for the command, which then asks it to stop.
    """

    def __init__(self, environment: dict[str, str], gpu: Device | None) -> None:
        """`environment`: what it has beside this process's. `gpu`: the one that it sees."""
        self.job: Job | None = None
        self.last: Job | None = None
        self.gpu = gpu
        self._environment = environment | ({} if gpu is None else {"CUDA_VISIBLE_DEVICES": gpu.id})
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
            path.parent.mkdir(parents=True, exist_ok=True)  # another command may just have ended it
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
        """Waits for the process, which has no job any more; its exit code. What a Ctrl-C cuts short
        may be called again, which `Popen.communicate` may not.
        """
        process = self._process
        if process is None:
            return 0
        assert process.stdin is not None
        assert process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()
        process.stdout.read()  # a full pipe would keep it from its end
        code = process.wait()
        self._process, self._unread = None, b""
        process.stdout.close()
        return code


def all_threads() -> int:
    """The CPU threads that torch would use here."""
    given = os.environ.get("OMP_NUM_THREADS", "")
    if given.isdecimal() and int(given):
        return int(given)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def best_workers(jobs: Sequence[Job], speed: Speed, threads: int | None = None) -> int:
    """How many workers train these jobs soonest on this machine's CPU; `threads`: of each.

    One thread each for small jobs, whose products are too small to share: as many as there are
    threads, memory has room for, and work for that is longer than a worker's start. One worker with
    all threads where a job is not small.
    """
    costs = list(estimates(jobs, speed).values())
    if max((cost.seconds for cost in costs), default=0.0) > SMALL_SECONDS:
        return 1
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2
    room = memory / (WORKER_BYTES + max((cost.memory_bytes for cost in costs), default=0.0))
    worth = math.fsum(cost.seconds for cost in costs) / max(1.0, speed.start)
    return max(1, min(all_threads() // (threads or 1), len(jobs), int(room), int(worth)))


@dataclass(slots=True)
class LocalExecutor(Executor):
    """The executor of this machine: `workers` side by side, which divide its CPU threads.

    With `gpus` they run on those that no other command has, one on each unless `workers` says how
    many there are; `needs` estimates the bytes that a job takes there.
    """

    workers: int | None = None
    gpus: Sequence[Device] = ()
    needs: Callable[[Job], float] = lambda job: 0.0
    _all: list[Worker] = field(default_factory=list, init=False)
    _leases: contextlib.ExitStack = field(default_factory=contextlib.ExitStack, init=False)
    _notices: list[tuple[Job, Event]] = field(default_factory=list, init=False)

    @property
    def slots(self) -> int:
        """See `Executor`. Before it is entered: if no other command has a GPU."""
        return len(self._all) or self.workers or max(1, len(self.gpus))

    def __enter__(self) -> Self:
        """Raises ReproError where other commands have all GPUs."""
        leased = lease(self.gpus, self._leases)
        count = self.workers or max(1, len(leased))
        own = {"OMP_NUM_THREADS": str(max(1, all_threads() // count))} if count > 1 else {}
        places: list[Device | None] = [*leased] or [None]
        self._all = [Worker(own, places[n % len(places)]) for n in range(count)]
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Kills what has a job; its claims go with it."""
        with self._leases:
            for worker in self._all:
                if kind is not None:
                    worker.send(signal.SIGKILL)
            for worker in self._all:
                worker.end()

    def start(self, job: Job, store: Store) -> None:
        """The job goes to a worker that has none: best to one on a GPU that has enough memory free,
        then to one that has read its data before.
        """
        free = {gpu.id: gpu.free_bytes for gpu in devices()} if self.gpus else {}
        needed = self.needs(job)

        def lacks(worker: Worker) -> bool:
            bytes_free = free.get(worker.gpu.id) if worker.gpu is not None else None
            return bytes_free is not None and bytes_free < needed

        idle = [worker for worker in self._all if worker.job is None]
        chosen = min(idle, key=lambda worker: (lacks(worker), _strange(worker.last, job)))
        if lacks(chosen) and chosen.gpu is not None:
            text = (
                f"GPU {chosen.gpu.index} has {size(free[chosen.gpu.id] or 0)} free; a job there "
                f"needs about {size(needed)}."
            )
            self._notices.append((job, {"event": "notice", "message": text}))
        chosen.start(job, store)

    def wait(self, hear: Listener, seconds: float | None) -> list[Ended]:
        """See `Executor`."""
        while self._notices:
            hear(*self._notices.pop(0))
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
