"""Workers under Ray: a task for each job, which starts the worker as a process and waits for it.

The task returns the exit code only; results go to the store, whose folder all nodes share. Ray
starts a task anew whose node is lost. Tasks end with the command that submitted them, and their
workers with them: the command given again continues at the last checkpoints, because the store
says what is done and claims of lost processes end (on another machine after a minute).
"""

from __future__ import annotations

import os
import re
import signal
import socket
import time
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field

from repro.engine.dispatch import Ended, Executor, Listener
from repro.engine.jobs import Job
from repro.engine.local import worker_command
from repro.engine.progress import JobFailure, hear_progress
from repro.engine.worker import LOG, Exit
from repro.errors import ReproError, first_line
from repro.store.claims import EXPIRY_SECONDS
from repro.store.store import Store

LOOK_SECONDS = 2.0
"""Between two looks at how far the workers are."""
ALREADY_DONE, CLAIMED_ELSEWHERE = int(Exit.ALREADY_DONE), int(Exit.CLAIMED_ELSEWHERE)
UNUSABLE = int(Exit.STORE)
LONGEST_CLAIM = EXPIRY_SECONDS + 15
"""For how long a task finds its runs claimed by a worker whose node was lost."""
STOP_SECONDS = 60.0
"""How long Ctrl-C waits for the checkpoints of running jobs."""
QUEUED = 2
"""Tasks given to Ray for each that it can run at once, so that a free node finds one."""


class Profile(BaseModel):
    """What a task asks of the cluster: the table [ray] of a profile file."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    address: str | None = Field(None, description="of the cluster; none: one on this machine")
    cpus: float = Field(1, ge=0)
    gpus: float = Field(0, ge=0, description="a fraction lets several workers share a GPU")
    resources: dict[str, float] = Field({}, description="of the cluster's own, by name")
    retries: int = Field(3, ge=0, description="how often a task whose node is lost starts anew")


@dataclass(slots=True)
class RayExecutor(Executor):
    """The executor of a Ray cluster that shares the folder `root` of the store."""

    root: Path
    profile: Profile
    _tasks: dict[Any, Job] = field(default_factory=dict, init=False)
    _ray: Any = field(default=None, init=False)
    _told: bool = field(default=False, init=False)
    """Whether it was said that no node has what a task asks for."""

    @property
    def slots(self) -> int:
        """See `Executor`. It grows and shrinks with the cluster."""
        return max(1, QUEUED * self._rooms())

    def _rooms(self) -> int:
        """How many tasks the nodes can run at once."""
        nodes = [node["Resources"] for node in self._ray.nodes() if node["Alive"]]
        asked = {name: amount for name, amount in self._asked().items() if amount}
        rooms = ([node.get(name, 0.0) / asked[name] for name in asked] for node in nodes)
        return sum(int(min(room, default=1.0)) for room in rooms)

    def _asked(self) -> dict[str, float]:
        return {"CPU": self.profile.cpus, "GPU": self.profile.gpus, **self.profile.resources}

    def __enter__(self) -> Self:
        """Raises ReproError where Ray is not installed or the cluster cannot be reached."""
        address = self.profile.address or "local"
        try:
            import ray
        except ModuleNotFoundError as error:
            raise ReproError(
                "--executor ray needs the package ray: install `repro[ray]` (pip install ray)."
            ) from error
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        self.root, self._ray = self.root.absolute(), ray
        local = {"include_dashboard": False} if address == "local" else {}
        try:
            if (found := re.fullmatch(r"(.+):(\d+)", address)) is not None:
                # Ray itself would try for minutes.
                socket.create_connection((found[1], int(found[2])), timeout=10).close()
            before = signal.getsignal(signal.SIGTERM)
            ray.init(address, log_to_driver=False, logging_level="error", **local)
            signal.signal(signal.SIGTERM, before)  # Ray took it
        except Exception as error:  # of any class, where a node of Ray does not start
            if address == "local":
                raise ReproError(f"Ray does not start here: {first_line(error)}") from error
            raise ReproError(
                f"Ray cannot be reached at {address}: {first_line(error)}. Mend `address` in the "
                "table [ray] of the file that --profile names."
            ) from error
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Ends what runs; its claims go with it."""
        self._ray.shutdown()

    def start(self, job: Job, store: Store) -> None:
        """See `Executor`."""
        remote = self._ray.remote(
            num_cpus=self.profile.cpus,
            num_gpus=self.profile.gpus,
            resources=self.profile.resources or None,
            max_retries=self.profile.retries,
            max_calls=1,  # a process a task: what a GPU still holds goes with it
        )(_task())
        command = worker_command(self.root, [job.id])
        log = str(self.root / "work" / job.id / LOG)
        task = remote.remote(command, log, os.getcwd(), dict(os.environ))
        self._tasks[task] = job

    def wait(self, hear: Listener, seconds: float | None) -> list[Ended]:
        """See `Executor`."""
        left = LOOK_SECONDS if seconds is None else min(LOOK_SECONDS, seconds)
        if not self._tasks:
            time.sleep(left)
            return []
        ready, _ = self._ray.wait(list(self._tasks), num_returns=1, timeout=left)
        if not ready and not self._told and not self._rooms():
            self._told = True
            asked = ", ".join(f"{name} {amount:g}" for name, amount in self._asked().items())
            text = f"No node of Ray has what a job asks for ({asked}): jobs wait for one that has."
            hear(next(iter(self._tasks.values())), {"event": "notice", "message": text})
        hear_progress(self.root, self._tasks.values(), hear)
        return [self._ended(task) for task in ready]

    def _ended(self, task: Any) -> Ended:
        """How a worker ended: as by a signal if its node was lost more often than Ray starts it
        anew.
        """
        job, errors = self._tasks.pop(task), self._ray.exceptions
        try:
            return Ended(job, int(self._ray.get(task)))
        except errors.RayTaskError as error:  # the node has no such Python
            why = f"a node of Ray cannot start the worker: {error.cause}"
            return Ended(job, Exit.ERROR, JobFailure(kind="error", message=why))
        except errors.RayError:
            return Ended(job, -9)

    def stop(self) -> None:
        """Asks the workers to checkpoint and waits for their ends."""
        tasks = list(self._tasks)
        for task in tasks:
            self._ray.cancel(task)
        if tasks:
            self._ray.wait(tasks, num_returns=len(tasks), timeout=STOP_SECONDS)


def _task() -> Any:
    """The remote function. It is made here so that Ray sends it whole: a node's Ray need not find
    this package.
    """

    def train(command: list[str], log: str, place: str, environment: dict[str, str]) -> int:
        import os
        import signal
        import subprocess
        import time

        gpus = "CUDA_VISIBLE_DEVICES"
        environment = {name: value for name, value in environment.items() if name != gpus}
        environment |= {gpus: os.environ[gpus]} if gpus in os.environ else {}
        environment["REPRO_PARENT"] = str(os.getpid())
        last = time.monotonic() + LONGEST_CLAIM
        folder = os.path.dirname(log)
        while True:
            if os.path.isdir(os.path.dirname(folder)) and not os.path.isdir(folder):
                return ALREADY_DONE
            try:
                descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
            except OSError:
                return UNUSABLE
            with os.fdopen(descriptor, "ab") as stream:
                process = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=stream,
                    env=environment,
                    cwd=place if os.path.isdir(place) else None,
                )
            try:
                while (code := process.poll()) is None:
                    time.sleep(0.2)  # Ray interrupts Python, but no call of the system
                if code != CLAIMED_ELSEWHERE or time.monotonic() > last:
                    return code
                time.sleep(5)
            except KeyboardInterrupt:  # the task was cancelled
                process.send_signal(signal.SIGTERM)
                return process.wait()

    return train
