"""Trains jobs in a process of its own, which `start.py` begins; their ids come on stdin.

Progress goes to stdout as JSON lines, everything else to stderr, which is the log of the job at
hand. A job that ends badly ends the process, so that the next one starts in a fresh one. The
process dies with the one that started it, and its claims with it; whoever gives the command again
continues from the last checkpoint. Exit codes: see `Exit`.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import hashlib
import json
import math
import os
import signal
import sys
import time
import traceback
from collections.abc import Iterator
from enum import IntEnum
from pathlib import Path
from typing import Any

from repro.engine.jobs import FILE, JobFile, holds, read_job
from repro.engine.loaded import Loaded
from repro.engine.parents import (
    built,
    evaluate_parent,
    parents_of,
    start_of,
    weights_of,
)
from repro.engine.results import keep_evaluation, keep_group
from repro.errors import MissingData, MissingModel, ReproError, StoreError, first_line, told
from repro.spec import run_key
from repro.spec.method import place_in_file
from repro.spec.types import PRETRAINED
from repro.store.atomic import move_aside, store_errors
from repro.store.store import Store
from repro.store.temporary import is_unfinished
from repro.training.environment import (
    device_name,
    forget_memory,
    prepare_process,
    prepare_torch,
)

PR_SET_PDEATHSIG = 1
LOG = "log.txt"
PACKAGE = Path(__file__).absolute().parents[1]
CHANGED = (
    f"The program in {PACKAGE} was changed while this command ran. Give the same command again: it "
    "continues with the program as it is now."
)
FULL = (errno.ENOSPC, errno.EDQUOT)


class Exit(IntEnum):
    """How a job ended."""

    DONE = 0
    ERROR = 1
    CLAIMED_ELSEWHERE = 11
    OUT_OF_MEMORY = 20
    MISSING = 22


GOES_ON = (Exit.DONE, Exit.CLAIMED_ELSEWHERE)
"""After these ends the process is as good as new, and takes the next job."""


def main(arguments: list[str]) -> int:
    """Trains the jobs that stdin names, one after the other; returns the last one's exit code.

    `arguments`: the store's folder.
    """
    die_with_parent()
    if os.environ.get("REPRO_CODE") not in (None, code_digest()):
        report({"event": "failed", "kind": "code", "message": CHANGED})
        return Exit.ERROR
    store = Store(arguments[0])
    loaded = Loaded(store.cache)
    for line in sys.stdin:
        folder = store.work_dir(line.strip())
        if folder.is_dir():
            send_errors_to(folder / LOG)
        try:
            code = execute(store, folder, loaded)
        except Exception as problem:
            traceback.print_exc()
            print(
                f"{place_in_file(problem)}{type(problem).__name__}: {told(problem)}",
                file=sys.stderr,
            )
            code = Exit.ERROR
        report({"event": "ended", "job": folder.name, "code": code})
        if code not in GOES_ON:
            return code
    return Exit.DONE


def execute(store: Store, folder: Path, loaded: Loaded) -> int:
    """Trains the job in a work folder; returns an exit code."""
    file = read_job(folder)
    if file is None:
        report({"event": "failed", "kind": "error", "message": f"{folder} holds no job."})
        return Exit.ERROR
    prepare_process(deterministic=file.execution.deterministic)
    try:
        with store.claim([run_key(spec) for spec in file.specs]) as held:
            if len(held) < len(file.specs):
                return Exit.CLAIMED_ELSEWHERE
            if all(holds(store, spec, file.execution) for spec in file.specs):
                return Exit.DONE  # another process has just stored them
            return guarded(store, folder, file, loaded)
    except StoreError as problem:
        report({"event": "failed", "kind": "store", "message": str(problem)})
        return Exit.ERROR


def send_errors_to(log: Path) -> None:
    """Appends what is written to stderr from here on, by libraries in C too, to a file."""
    sys.stderr.flush()
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.dup2(descriptor, 2)
    os.close(descriptor)


def guarded(store: Store, folder: Path, file: JobFile, loaded: Loaded) -> int:
    """Runs the job and says which kind of failure ended it, if one did. Raises StoreError."""
    import torch

    try:
        with full_disks(folder):
            train(store, folder, file, loaded)
    except (MissingData, MissingModel) as problem:
        kind = "missing-data" if isinstance(problem, MissingData) else "missing-model"
        report_failure(kind, problem, str(problem))
        return Exit.MISSING
    except StoreError:
        raise  # no failure of these runs; `execute` reports it
    except ReproError as problem:
        report_failure("error", problem, str(problem))
        return Exit.ERROR
    except (torch.cuda.OutOfMemoryError, MemoryError) as problem:
        report_failure("out-of-memory", problem, first_line(problem))
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


def train(store: Store, folder: Path, file: JobFile, loaded: Loaded) -> None:
    """Loads, trains, evaluates and stores every member of the job.

    A work folder that it cannot continue from is set aside, and the job begins anew.
    """
    from repro.training.checkpoint import Damaged
    from repro.training.group import Group
    from repro.training.member import Settings

    execution, lead = file.execution, file.specs[0]
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
    where = {"event": "loading", "device": device_name(device), "process": os.getpid()}
    report(where | {"what": lead.backbone.name})
    shared = any(spec.method.reads_states for spec in file.specs)
    precision = lead.recipe.precision if shared else "fp32"
    parents = parents_of(lead, store)  # those of all members
    pretrained = weights_of(parents, PRETRAINED)
    encoder = loaded.encoder(lead, execution.folders, device, precision, pretrained)
    report(where | {"what": "the data"})
    data = loaded.task(lead.task)
    settings = Settings(
        device, execution.checkpoint_seconds, execution.checkpoint_steps, execution.micro_batch
    )
    if lead.method.evaluates:
        began = time.monotonic()
        result, predictions = evaluate_parent(store, lead, encoder, data, device, report)
        seconds = time.monotonic() - began
        keep_evaluation(store, lead, result, predictions, seconds, device, loaded.read)
        report({"event": "stored", "run": result.key})
        return
    members = [built(spec, parents) for spec in file.specs]
    start = start_of(parents)

    def trained() -> Group:
        group = Group(
            file.specs, encoder, data, settings, folder, report, built=members, start=start
        )
        group.train()
        return group

    group, before = None, weights_sum(encoder.model, file)
    try:
        group = trained()
    except Damaged as problem:
        place = set_aside(store, folder)
        report({"event": "damaged", "message": str(problem), "place": str(place)})
        print(f"{problem} Moved to {place}.", file=sys.stderr)
    group = group or trained()
    if weights_sum(encoder.model, file) != before:
        raise ReproError(
            f"The method '{lead.method.kind}' changed frozen weights of the encoder. Train copies, "
            "or what is added to them; see docs/extend.md."
        )
    keep_group(store, group, parents, execution, report, loaded.read)


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
            if path.name not in (FILE, LOG, apart.name) and not is_unfinished(path.name):
                path.rename(apart / path.name)
    return move_aside(apart, store.root / "quarantine", folder.name)


def report(event: dict[str, Any]) -> None:
    """One JSON line on stdout. A reader that is gone ends this process."""
    sys.stdout.write(json.dumps(event) + "\n")
    sys.stdout.flush()


def report_failure(kind: str, problem: BaseException, message: str) -> None:
    """Says why the job failed; the log gets everything that led to it."""
    report({"event": "failed", "kind": kind, "message": message})
    traceback.print_exception(problem)


def die_with_parent() -> None:
    """Asks Linux to end this process when its parent ends; elsewhere `report` notices."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    expected = os.environ.get("REPRO_PARENT")
    if expected is not None and os.getppid() != int(expected):
        sys.exit(Exit.ERROR)


def code_digest() -> str:
    """SHA-256 of this package's source files as they lie on the disk."""
    found = hashlib.sha256()
    for path in sorted(PACKAGE.rglob("*.py")):
        content = path.read_bytes()
        found.update(f"{path.relative_to(PACKAGE)} {len(content)}\n".encode())
        found.update(content)
    return found.hexdigest()
