"""Trains jobs in a process of its own: the same one for every executor.

    python -m repro worker JOB ... --store STORE

JOB names a work folder of the store; `-` reads names from stdin, a line each. Progress goes to
stdout as JSON lines and to the job's `progress.json`, everything else to stderr, which is the log
of the job at hand. The exit code says how the last job ended (see `Exit`); a job that ends badly
ends the process, so that the next one starts in a fresh one. SIGTERM, SIGUSR2 and the first Ctrl-C
have the job write a checkpoint at its next step and end; whoever starts a worker for it again
continues from there, as after a kill.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import hashlib
import json
import math
import os
import re
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from enum import IntEnum
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from repro.engine.jobs import FILE, JobFile, holds, make_job, name_of_job, read_job
from repro.engine.loaded import Loaded
from repro.engine.parents import (
    Report,
    built,
    evaluate_parent,
    parents_of,
    start_of,
    weights_of,
)
from repro.engine.progress import FAILURE, PROGRESS, JobFailure, Telling
from repro.engine.results import keep_evaluation, keep_group
from repro.errors import MissingData, MissingModel, ReproError, StoreError, first_line, told
from repro.hub import PASSING
from repro.spec import run_key
from repro.spec.method import place_in_file, remember
from repro.spec.types import PRETRAINED
from repro.store.atomic import move_aside, store_errors, write_text
from repro.store.blocked import lacking
from repro.store.claims import ClaimLost
from repro.store.store import Store
from repro.store.temporary import is_unfinished
from repro.training.environment import (
    device_name,
    forget_memory,
    prepare_process,
    prepare_torch,
)

if TYPE_CHECKING:
    from repro.training.group import Group

PR_SET_PDEATHSIG = 1
LOG = "log.txt"
PACKAGE = Path(__file__).absolute().parents[1]
CHANGED = (
    f"The program in {PACKAGE} was changed while this command ran. Give the same command again: it "
    "continues with the program as it is now."
)
FULL = (errno.ENOSPC, errno.EDQUOT)
INTERRUPTS = ("loading", "encoding", "evaluation")
"""Events at which a job that is to stop ends at once: it has nothing new to write."""
GPU_TROUBLE = re.compile(
    r"CUDA error: .*(unknown error|unspecified launch failure|launch timed out|ECC error"
    r"|hardware|busy or unavailable)|CUDA unknown error",
    re.IGNORECASE,
)
"""What CUDA says when the device, not the program, is at fault."""


class Exit(IntEnum):
    """How a job ended. A run that diverged is recorded by its job, which is then done."""

    DONE = 0
    ERROR = 1
    ALREADY_DONE = 10
    CLAIMED_ELSEWHERE = 11
    WAITS = 12
    """A run that it is made from is not stored yet."""
    OUT_OF_MEMORY = 20
    MISSING = 22
    STORE = 23
    """The store cannot be read or written."""
    PREEMPTED = 30


GOES_ON = (Exit.DONE, Exit.ALREADY_DONE, Exit.CLAIMED_ELSEWHERE, Exit.WAITS)
"""After these ends the process is as good as new, and takes the next job."""


class Stopping:
    """Whether this process was asked to stop. One that has no job ends at once."""

    def __init__(self) -> None:
        self.asked, self.working = False, False

    def listen(self) -> None:
        """From here on the signals are heard."""
        for number in (signal.SIGTERM, signal.SIGUSR2, signal.SIGINT):
            signal.signal(number, self._hear)

    def _hear(self, number: int, frame: object) -> None:
        self.asked = True
        if not self.working:
            sys.exit(Exit.PREEMPTED)
        if number == signal.SIGINT:
            signal.signal(number, signal.default_int_handler)  # a second Ctrl-C ends it at once

    def __call__(self) -> bool:
        return self.asked


def main(arguments: list[str]) -> int:
    """What `start.py` calls: the store's folder, then jobs."""
    return serve(Store(arguments[0]), arguments[1:])


def serve(store: Store, jobs: Iterable[str]) -> int:
    """Trains these jobs, one after the other; returns the last one's exit code."""
    die_with_parent()
    code_digest()  # of the files that this process is made of, before they can change
    remember(store.method_files())
    stopping, loaded, code = Stopping(), Loaded(store.cache), Exit.DONE
    stopping.listen()
    for name in _names(jobs):
        stopping.working = True
        code = serve_one(store, name, loaded, stopping)
        report({"event": "ended", "job": name, "code": code})
        stopping.working = False
        if code not in GOES_ON:
            return code
        if stopping():
            return Exit.PREEMPTED
    return code


def _names(jobs: Iterable[str]) -> Iterator[str]:
    for given in jobs:
        yield from filter(None, map(str.strip, sys.stdin)) if given == "-" else [given]


def serve_one(store: Store, name: str, loaded: Loaded, stopping: Stopping) -> Exit:
    """Trains the job of this name; whatever goes wrong is an exit code."""
    if not re.fullmatch("[0-9a-f]+", name):
        report({"event": "failed", "kind": "error", "message": f"'{name}' is no name of a job."})
        return Exit.ERROR
    folder = store.work_dir(name)
    if folder.is_dir():
        send_errors_to(folder / LOG)
    try:
        return execute(store, folder, loaded, stopping)
    except Exception as problem:
        traceback.print_exc()
        line = f"{place_in_file(problem)}{type(problem).__name__}: {told(problem)}"
        print(line, file=sys.stderr)
        trace = f"{frames_of(problem)}{type(problem).__name__}"
        passing = is_passing(problem)
        tell_failure(folder, JobFailure(kind="error", message=line, passing=passing, trace=trace))
        return Exit.ERROR


def execute(store: Store, folder: Path, loaded: Loaded, stopping: Stopping | None = None) -> Exit:
    """Trains the job in a work folder, which is removed once all its results are stored."""
    file = read_job(folder)
    if file is None or make_job(file.specs).id != folder.name:
        return without_job(store, folder)
    if file.code not in ("", code_digest()):
        tell_failure(folder, JobFailure(kind="code", message=CHANGED))
        return Exit.ERROR
    prepare_process(deterministic=file.execution.deterministic)
    try:
        with store.claim([run_key(spec) for spec in file.specs]) as held:
            if len(held) < len(file.specs):
                return Exit.CLAIMED_ELSEWHERE
            (folder / FAILURE).unlink(missing_ok=True)
            if all(holds(store, spec, file.execution) for spec in file.specs):
                code = Exit.ALREADY_DONE  # another process has just stored them
            elif absent := lacking(file.specs[0], store):  # its members have the same parents
                why = f"The run {absent[0][:12]}, which these are made from, is not stored yet."
                report({"event": "waits", "message": why})
                code = Exit.WAITS
            else:
                code = guarded(store, folder, file, loaded, stopping or Stopping())
            (folder / PROGRESS).unlink(missing_ok=True)
            if code in (Exit.DONE, Exit.ALREADY_DONE):
                shutil.rmtree(folder, ignore_errors=True)
            return code
    except ClaimLost as problem:
        print(problem, file=sys.stderr)
        return Exit.CLAIMED_ELSEWHERE
    except StoreError as problem:
        tell_failure(folder, JobFailure(kind="store", message=str(problem)))
        return Exit.STORE


def without_job(store: Store, folder: Path) -> Exit:
    """What a name says whose folder holds no job: it was trained, and the folder went with its end,
    or there never was such a job.
    """
    found = filter(None, map(store.read, sorted(store.keys())))
    if any(name_of_job(run.environment().get("members", ())) == folder.name for run in found):
        return Exit.ALREADY_DONE
    message = (
        f"There is no job {folder.name} in {folder.parent}. `run ... --write-jobs` writes jobs and "
        "prints their names."
    )
    report({"event": "failed", "kind": "error", "message": message})
    return Exit.ERROR


def send_errors_to(log: Path) -> None:
    """Appends what is written to stderr from here on, by libraries in C too, to a file."""
    sys.stderr.flush()
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.dup2(descriptor, 2)
    os.close(descriptor)


def guarded(store: Store, folder: Path, file: JobFile, loaded: Loaded, stopping: Stopping) -> Exit:
    """Runs the job and says which kind of failure ended it, if one did. Raises StoreError."""
    import torch

    from repro.training.member import Stopped

    try:
        with full_disks(folder):
            train(store, folder, file, loaded, stopping)
    except Stopped:
        return Exit.PREEMPTED
    except (MissingData, MissingModel) as problem:
        kind = "missing-data" if isinstance(problem, MissingData) else "missing-model"
        report_failure(folder, kind, problem, str(problem))
        return Exit.MISSING
    except StoreError:
        raise  # no failure of these runs; `execute` reports it
    except ReproError as problem:
        report_failure(folder, "error", problem, str(problem))
        return Exit.ERROR
    except (torch.cuda.OutOfMemoryError, MemoryError) as problem:
        report_failure(folder, "out-of-memory", problem, first_line(problem))
        return Exit.OUT_OF_MEMORY
    return Exit.DONE


@contextlib.contextmanager
def full_disks(folder: Path) -> Iterator[None]:
    """Turns a full disk, met by whatever write to the work folder, into a StoreError."""
    try:
        yield
    except OSError as problem:
        if problem.errno not in FULL:
            raise
        with store_errors(folder):
            raise


def train(store: Store, folder: Path, file: JobFile, loaded: Loaded, stopping: Stopping) -> None:
    """Loads, trains, evaluates and stores every member of the job. Raises Stopped."""
    from repro.training.group import Group
    from repro.training.member import Settings

    execution, lead, tell = file.execution, file.specs[0], telling(store, folder, stopping)
    device = prepare_torch(
        execution.device,
        threads=execution.threads,
        deterministic=execution.deterministic,
        tf32=execution.tf32,
    )
    forget_memory(device)
    if execution.rehearsal is not None:
        from repro.engine.made_up import MadeUp

        loaded = MadeUp(store.cache, execution.rehearsal)
        tell = loaded.counting(tell)
    where = {"event": "loading", "device": device_name(device), "process": os.getpid()}
    tell(where | {"what": lead.backbone.name})
    parents = parents_of(lead, store)  # those of all members
    encoder = loaded.encoder(lead, execution.folders, device, weights_of(parents, PRETRAINED))
    tell(where | {"what": "the data"})
    data = loaded.task(lead.task)
    if lead.method.evaluates:
        began = time.monotonic()
        result, predictions = evaluate_parent(store, lead, encoder, data, device, tell)
        seconds = time.monotonic() - began
        keep_evaluation(store, lead, result, predictions, seconds, device, loaded.read)
        tell({"event": "stored", "run": result.key})
        return
    settings = Settings(
        device,
        execution.checkpoint_seconds,
        execution.checkpoint_steps,
        execution.micro_batch,
        stopping,
        execution.compiled,
        keeps_states=execution.rehearsal is None,  # whose few rows would fit, the real ones not
    )
    members, start = [built(spec, parents) for spec in file.specs], start_of(parents)

    def trained() -> Group:
        group = Group(file.specs, encoder, data, settings, folder, tell, built=members, start=start)
        group.train()
        return group

    with unchanged_weights(encoder.model, file):
        group = anew_if_damaged(trained, store, folder, tell)
    keep_group(store, group, parents, execution, tell, loaded.read)


def telling(store: Store, folder: Path, stopping: Stopping) -> Report:
    """The listener of a job's events. It raises ClaimLost where another process took the job over,
    and Stopped at the next event at which a job that was asked to stop may end.
    """
    from repro.training.member import Stopped

    kept = Telling(folder, report)

    def tell(event: dict[str, Any]) -> None:
        store.check_claims()
        kept(event)
        if stopping() and event["event"] in INTERRUPTS:
            raise Stopped

    return tell


def anew_if_damaged(
    trained: Callable[[], Group], store: Store, folder: Path, tell: Report
) -> Group:
    """What `trained` gives. A work folder that it cannot continue from is set aside first."""
    from repro.training.checkpoint import Damaged

    try:
        return trained()
    except Damaged as problem:
        place = set_aside(store, folder)
        message = f"{problem} Moved to {place}; training begins anew."
    tell({"event": "notice", "message": message})
    print(message, file=sys.stderr)
    return trained()


@contextlib.contextmanager
def unchanged_weights(model: Any, file: JobFile) -> Iterator[None]:
    """Raises ReproError where the block changed frozen weights of the encoder, which all jobs of
    this process share.
    """
    before = weights_sum(model, file)
    yield
    if weights_sum(model, file) != before:
        raise ReproError(
            f"The method '{file.specs[0].method.kind}' changed frozen weights of the encoder. "
            "Train copies, or what is added to them; see docs/extend.md."
        )


def weights_sum(model: Any, file: JobFile) -> float | None:
    """The sum of all frozen weights, which no run may change; None where only methods of the
    project's own train.
    """
    import torch

    if not any(spec.method.foreign for spec in file.specs):
        return None
    with torch.no_grad():
        sums = (float(weights.double().abs().sum()) for weights in model.parameters())
        return math.fsum(sums)


def set_aside(store: Store, folder: Path) -> Path:
    """Moves what training left in a work folder to the quarantine; returns where it lies now."""
    apart = folder / "damaged"
    with store_errors(apart):
        apart.mkdir(exist_ok=True)
        for path in folder.iterdir():
            if path.name not in (FILE, LOG, PROGRESS, apart.name) and not is_unfinished(path.name):
                path.rename(apart / path.name)
    return move_aside(apart, store.root / "quarantine", folder.name)


def report(event: dict[str, Any]) -> None:
    """One JSON line on stdout. A reader that is gone ends this process."""
    sys.stdout.write(json.dumps(event) + "\n")
    sys.stdout.flush()


def report_failure(folder: Path, kind: Any, problem: BaseException, message: str) -> None:
    """Says why the job failed; the log gets everything that led to it."""
    tell_failure(folder, JobFailure(kind=kind, message=message, passing=is_passing(problem)))
    traceback.print_exception(problem)


def tell_failure(folder: Path, failure: JobFailure) -> None:
    """Says why the job failed, on stdout and in its folder, as far as there is one to write to."""
    report({"event": "failed"} | failure.model_dump())
    with contextlib.suppress(StoreError):
        if folder.is_dir():
            write_text(folder / FAILURE, failure.model_dump_json() + "\n")


def is_passing(problem: BaseException) -> bool:
    """Whether the same job may well succeed next: the GPU or a server, not the job, is at fault."""
    found: BaseException | None = problem
    while found is not None:
        status = getattr(getattr(found, "response", None), "status_code", None)
        if status in PASSING or GPU_TROUBLE.search(str(found)):
            return True
        found = found.__cause__ or found.__context__
    return False


def frames_of(problem: BaseException) -> str:
    """The place of every frame: the same for the same bug in another job."""
    frames = traceback.extract_tb(problem.__traceback__)
    return "".join(f"{frame.filename}:{frame.lineno} {frame.name}\n" for frame in frames)


def die_with_parent() -> None:
    """Where an executor says so, asks Linux to end this process when its parent ends; elsewhere
    `report` notices.
    """
    expected = os.environ.get("REPRO_PARENT")
    if expected is None:
        return
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != int(expected):
        sys.exit(Exit.ERROR)


@cache
def code_digest() -> str:
    """SHA-256 of this package's source files as they lie on the disk."""
    found = hashlib.sha256()
    for path in sorted(PACKAGE.rglob("*.py")):
        content = path.read_bytes()
        found.update(f"{path.relative_to(PACKAGE)} {len(content)}\n".encode())
        found.update(content)
    return found.hexdigest()
