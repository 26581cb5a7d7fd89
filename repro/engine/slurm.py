"""Workers under Slurm: arrays of batch jobs, followed with squeue.

Jobs outlive the command that submitted them. A command that is given again finds those that wait or
run by their names: each array is `repro-<batch>`, and the store's `slurm/<batch>.jobs` lists which
of the store's jobs its tasks train. Slurm starts a job anew that lost its node (--requeue), and a
job that nears its time limit checkpoints and queues itself again; both need no command that lives.
"""

from __future__ import annotations

import os
import re
import secrets
import shlex
import shutil
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

from pydantic import BaseModel, ConfigDict, Field

from repro.engine.dispatch import Ended, Executor, Listener
from repro.engine.jobs import Job
from repro.engine.local import worker_command
from repro.engine.progress import JobFailure, hear_progress
from repro.engine.worker import LOG, Exit
from repro.errors import ReproError
from repro.store.atomic import write_text
from repro.store.store import Store
from repro.store.temporary import DAY
from repro.words import counted

PAUSES = (2.0, 60.0)
"""Seconds between two looks: the first ones, and the longest while nothing changes."""
STOPS_BEFORE = 120
"""Seconds before the time limit at which a worker is asked to checkpoint."""
FIELDS = "ArrayJobID:12,ArrayTaskID:8,State:24,exit_code:12,Reason:60,Name:80"
LINE = (
    r"(?P<array>\d+) +(?P<index>\d+) +(?P<state>\S+) +(?P<status>\S+) +(?P<reason>.*?) *"
    r"repro-(?P<batch>[0-9a-f]+) *"
)
ORDINARY = {"", "None", "Resources", "Priority", "BeginTime", "JobArrayTaskLimit"}
"""Why a job waits that will start in its turn."""
FINAL = {
    "COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "BOOT_FAIL", "OUT_OF_MEMORY",
    "PREEMPTED", "DEADLINE",
}  # fmt: skip
"""States that a job does not leave again; in all others it waits or runs."""
BUSY = re.compile("timed out|temporarily", re.IGNORECASE)
"""In what sbatch says where the controller may have taken the array, or would take it later."""
SCRIPT = r"""#!/bin/bash
job=$(sed -n "$((SLURM_ARRAY_TASK_ID + 1))p" {list})
[ "$job" ] && cd {work} || exit {unusable}
[ -d $job ] || exit {done}
cd "$SLURM_SUBMIT_DIR"
exec </dev/null >>{work}/$job/{log} 2>&1 || exit {unusable}
{setup}
trap 'told=1; requeue=1; kill -USR2 $worker' USR2
trap 'told=1; requeue=; kill -TERM $worker' TERM
{worker} $job >/dev/null &
worker=$!
wait $worker; code=$?
while [ "$told" ]; do told=; wait $worker; code=$?; done
if [ $code = {preempted} ] && [ "$requeue" ]; then scontrol requeue $SLURM_JOB_ID; fi
exit $code
"""
"""What a task of an array runs. A signal is passed on to the worker, and ends a `wait` early."""


class Profile(BaseModel):
    """What a site asks of a job: the table [slurm] of a profile file."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    partition: str | None = None
    account: str | None = None
    time: str | None = None
    gpus: int = Field(0, ge=0)
    gpu_type: str | None = None
    jobs: int = Field(1000, ge=1, description="jobs in Slurm at once, where the site limits them")
    throttle: int | None = Field(None, ge=1, description="tasks of each array that run at once")
    extra: list[str] = Field([], description="further options of sbatch")
    setup: str = Field("", description="shell lines before the worker, as `module load`")

    def options(self) -> list[str]:
        """For sbatch."""
        named = {"partition": self.partition, "account": self.account, "time": self.time}
        found = [f"--{name}={value}" for name, value in named.items() if value is not None]
        if self.gpus:
            found.append(f"--gres=gpu:{f'{self.gpu_type}:' if self.gpu_type else ''}{self.gpus}")
        return [*found, *self.extra]


class Task(NamedTuple):
    """A task of an array as Slurm tells it. `code`: negative where a signal ended it."""

    id: str
    state: str
    code: int
    reason: str = ""
    """Why it waits."""


@dataclass(slots=True)
class SlurmExecutor(Executor):
    """The executor of a Slurm cluster that shares the folder `root` of the store."""

    root: Path
    profile: Profile
    _new: list[Job] = field(default_factory=list, init=False)
    _known: dict[str, Task] = field(default_factory=dict, init=False)
    """Job -> the task that trains it, as Slurm last told of it."""
    _followed: dict[str, Job] = field(default_factory=dict, init=False)
    _batches: set[str] = field(default_factory=set, init=False)
    """The arrays that Slurm knows."""
    _largest: int = field(default=1000, init=False)
    """Tasks that an array may have here."""
    _silent: bool = field(default=False, init=False)
    """Whether it was said that Slurm does not answer."""
    _reasons: set[str] = field(default_factory=set, init=False)
    """Those that were said why jobs wait."""
    _pause: float = field(default_factory=lambda: PAUSES[0], init=False)

    @property
    def slots(self) -> int:
        """See `Executor`. So many that one array holds them."""
        return max(1, min(self.profile.jobs, self._largest))

    @property
    def _lists(self) -> Path:
        return self.root / "slurm"

    def __enter__(self) -> Self:
        """Raises ReproError where there is no Slurm."""
        for program in ("sbatch", "squeue", "scontrol"):
            if shutil.which(program) is None:
                raise ReproError(
                    f"--executor slurm needs {program}, which is not found here. Give the command "
                    "on a machine that submits to Slurm, or leave --executor out."
                )
        self.root = self.root.absolute()
        if not self._look():
            raise ReproError("squeue does not answer: see whether Slurm's controller is up.")
        settings = _run("scontrol", "show", "config").stdout
        if (found := re.search(r"^MaxArraySize *= *(\d+)", settings, re.MULTILINE)) is not None:
            self._largest = int(found[1])
        for path in self._lists.glob("*.jobs"):
            if path.stem not in self._batches and time.time() - path.stat().st_mtime > DAY:
                path.unlink(missing_ok=True)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Jobs go on; see `stop`."""

    @property
    def at_ctrl_c(self) -> str:
        """See `Executor`."""
        arrays = sorted({self._known[job].id.split("_")[0] for job in self._followed})
        return (
            f"{counted(len(self._followed), 'job')} left to Slurm. Give the same command again to "
            f"follow; `scancel {' '.join(arrays)}` ends them."
        )

    def follows(self, job: Job) -> bool:
        """See `Executor`."""
        task = self._known.get(job.id)
        return task is not None and task.state not in FINAL

    def start(self, job: Job, store: Store) -> None:
        """See `Executor`. Jobs are submitted together, by the next `wait`."""
        if self.follows(job):
            self._followed[job.id] = job
        else:
            self._new.append(job)

    def stop(self) -> None:
        """Nothing: workers of Slurm do not depend on this process."""

    def wait(self, hear: Listener, seconds: float | None) -> list[Ended]:
        """See `Executor`. Raises ReproError where Slurm refuses the jobs."""
        last = None if seconds is None else time.monotonic() + seconds
        while True:
            if self._new and not self._silent and not self._submit():
                self._tell_silent(hear)
            left = self._pause if last is None else last - time.monotonic()
            if left <= 0:
                return []
            time.sleep(min(self._pause, left))
            self._pause = min(1.5 * self._pause, PAUSES[1])
            if not self._look():
                self._tell_silent(hear)
                continue
            self._silent = False
            ended = [self._ended(job) for job in self._followed.values() if not self.follows(job)]
            for one in ended:
                del self._followed[one.job.id]
            if ended:
                self._pause = PAUSES[0]
                return ended
            self._tell_held(hear)
            hear_progress(self.root, self._followed.values(), hear)

    def _tell_silent(self, hear: Listener) -> None:
        """Says once that Slurm does not answer, whichever job hears it."""
        waiting = [] if self._silent else [*self._followed.values(), *self._new]
        for job in waiting[:1]:
            text = "Slurm does not answer: its controller is asked until it does."
            hear(job, {"event": "notice", "message": text})
        self._silent = True

    def _tell_held(self, hear: Listener) -> None:
        """Says once of each reason that jobs wait for more than their turn."""
        for job in self._followed.values():
            task = self._known[job.id]
            if task.state == "PENDING" and task.reason not in ORDINARY | self._reasons:
                self._reasons.add(task.reason)
                text = f"Slurm holds jobs back, {task.id} for one: {task.reason}."
                hear(job, {"event": "notice", "message": text})

    def _submit(self) -> bool:
        """Submits what is new as one array; False where Slurm's controller does not answer. It may
        have taken the array nonetheless, so what it is found to know is followed.

        Raises ReproError where Slurm refuses the array.
        """
        self._followed |= {job.id: job for job in self._new if self.follows(job)}
        self._new = [job for job in self._new if job.id not in self._followed]
        if not self._new:
            return True
        batch = secrets.token_hex(6)
        path = self._lists / f"{batch}.jobs"
        write_text(path, "".join(f"{job.id}\n" for job in self._new))
        throttle = f"%{self.profile.throttle}" if self.profile.throttle else ""
        options = [
            "sbatch", "--parsable", f"--job-name=repro-{batch}",
            f"--array=0-{len(self._new) - 1}{throttle}", "--requeue", "--open-mode=append",
            f"--signal=B:USR2@{STOPS_BEFORE}", "--output=/dev/null", *self.profile.options(),
        ]  # fmt: skip
        script = SCRIPT.format(
            list=shlex.quote(str(path)),
            work=shlex.quote(str(self.root / "work")),
            log=LOG,
            setup=self.profile.setup.strip(),
            worker=shlex.join(worker_command(self.root, [])),
            unusable=int(Exit.STORE),
            done=int(Exit.ALREADY_DONE),
            preempted=int(Exit.PREEMPTED),
        )
        done = _run(*options, script=script)
        if done.returncode != 0:
            if BUSY.search(done.stderr) or not self._look():
                return False
            path.unlink()
            said = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
            raise ReproError(
                f"Slurm refuses the jobs: {said[-1].removeprefix('sbatch: error: ')}. Mend the "
                "table [slurm] of the file that --profile names."
            )
        array = done.stdout.strip().split(";")[0]
        for index, job in enumerate(self._new):
            self._followed[job.id] = job
            self._known[job.id] = Task(f"{array}_{index}", "PENDING", 0)
        self._new = []
        self._pause = PAUSES[0]
        return True

    def _look(self) -> bool:
        """Asks Slurm once for all tasks of this user; False where it does not answer.

        It tells of tasks that ended up to some minutes ago; what it no longer knows is judged by
        its accounting, or by what the worker left.
        """
        done = _run("squeue", "--me", "--states=all", "--array", "--noheader", "-O", FIELDS)
        if done.returncode != 0:
            return False
        told: dict[str, Task] = {}
        lists: dict[str, list[str]] = {}
        lines = (re.fullmatch(LINE, line) for line in done.stdout.splitlines())
        for line in sorted(filter(None, lines), key=lambda line: int(line["array"])):
            batch, index = line["batch"], int(line["index"])
            if batch not in lists:
                lists[batch] = self._read(batch)
            for job in lists[batch][index : index + 1]:
                if job not in told or told[job].state in FINAL:  # else an older task is still at it
                    id = f"{line['array']}_{index}"
                    told[job] = Task(id, line["state"], _status(line["status"]), line["reason"])
        for job in self._followed:
            if job not in told:
                told[job] = self._gone(job)
        self._known, self._batches = told, set(lists)
        return True

    def _read(self, batch: str) -> list[str]:
        path = self._lists / f"{batch}.jobs"
        return path.read_text(encoding="utf-8").split() if path.exists() else []

    def _gone(self, job: str) -> Task:
        """How a task ended that Slurm no longer lists."""
        id = self._known[job].id
        if shutil.which("sacct") is not None:
            command = ["sacct", "--jobs", id, "-X", "--noheader", "--parsable2"]
            done = _run(*command, "--format=State,ExitCode")
            state, _, code = done.stdout.partition("|")
            if done.returncode == 0 and state.split(" ")[0] in FINAL:
                return Task(id, state.split(" ")[0], _code(*map(int, code.strip().split(":"))))
        stored = not (self.root / "work" / job).exists()  # its worker removes it at a good end
        return Task(id, "COMPLETED" if stored else "NODE_FAIL", 0)

    def _ended(self, job: Job) -> Ended:
        """What the end of a task says of its job."""
        task = self._known[job.id]
        if task.state == "CANCELLED":
            why = JobFailure(kind="killed", message=f"the Slurm job {task.id} was cancelled")
            return Ended(job, Exit.ERROR, why)
        if task.state == "OUT_OF_MEMORY":
            return Ended(job, Exit.OUT_OF_MEMORY)
        if task.state in ("COMPLETED", "FAILED", "PREEMPTED") and task.code != 0:
            return Ended(job, task.code)
        return Ended(job, Exit.DONE if task.state == "COMPLETED" else -9)


def _run(*command: str, script: str = "") -> subprocess.CompletedProcess[str]:
    """Asks Slurm. What this user's shell has squeue leave out (SQUEUE_PARTITION) is not heard."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("SQUEUE_")}
    return subprocess.run(
        command, input=script, capture_output=True, text=True, check=False, env=own
    )


def _status(text: str) -> int:
    """The exit code in what squeue prints: a status of wait(2), `code:signal` in some versions."""
    if ":" in text:
        return _code(*map(int, text.split(":")))
    status = int(text) if text.isdecimal() else 0
    return _code(status >> 8, status & 0x7F)


def _code(code: int, number: int) -> int:
    """A process's exit code, negative after a signal; a shell says 128 + n of the signal n."""
    if number:
        return -number
    return 128 - code if code > 128 else code
