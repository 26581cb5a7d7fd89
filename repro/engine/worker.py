"""Trains one job in a process of its own: `python -m repro.engine.worker STORE JOB`.

Progress goes to stdout as JSON lines, everything else to stderr (the job's log). The process dies
with the one that started it, and its claims with it; whoever gives the command again continues
from the last checkpoint. Exit codes: see `Exit`.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from repro.engine.jobs import Execution, JobFile, read_job
from repro.errors import MissingData, MissingModel, ReproError, StoreError
from repro.spec import AblatedSpans, AlwaysNull, RunSpec, run_key
from repro.spec.kinds import reads_states, trains_encoder
from repro.store.atomic import store_errors
from repro.store.result import Result, Score, render
from repro.store.store import Store
from repro.store.strict_json import json_bytes
from repro.training.environment import (
    describe_environment,
    device_name,
    peak_memory,
    prepare_process,
    prepare_torch,
)

if TYPE_CHECKING:
    import torch

    from repro.backbones.load import Encoder
    from repro.tasks.data import TaskData
    from repro.training.group import Group
    from repro.training.member import Member

PR_SET_PDEATHSIG = 1
ADAPTER = "adapter.safetensors"
FULL = (errno.ENOSPC, errno.EDQUOT)


class Exit(IntEnum):
    """How a worker ended."""

    DONE = 0
    ERROR = 1
    CLAIMED_ELSEWHERE = 11
    OUT_OF_MEMORY = 20
    MISSING = 22


def main(arguments: list[str]) -> int:
    """Trains job `arguments[1]` of the store at `arguments[0]`; returns an exit code."""
    root, job = arguments
    die_with_parent()
    store = Store(root)
    folder = store.work_dir(job)
    file = read_job(folder)
    if file is None:
        report({"event": "failed", "kind": "error", "message": f"{folder} holds no job."})
        return Exit.ERROR
    prepare_process(deterministic=file.execution.deterministic)
    with store.claim([run_key(spec) for spec in file.specs]) as held:
        if len(held) < len(file.specs):
            return Exit.CLAIMED_ELSEWHERE
        if all(store.is_whole(key) for key in held):  # by another process, just before
            return Exit.DONE
        return guarded(store, folder, file)


def guarded(store: Store, folder: Path, file: JobFile) -> int:
    """Runs the job and says which kind of failure ended it, if one did."""
    import torch

    try:
        with full_disks(folder):
            train(store, folder, file)
    except (MissingData, MissingModel) as problem:
        kind = "missing-data" if isinstance(problem, MissingData) else "missing-model"
        report({"event": "failed", "kind": kind, "message": str(problem)})
        return Exit.MISSING
    except StoreError as problem:
        report({"event": "failed", "kind": "store", "message": str(problem)})
        return Exit.ERROR
    except ReproError as problem:
        report({"event": "failed", "kind": "error", "message": str(problem)})
        return Exit.ERROR
    except (torch.cuda.OutOfMemoryError, MemoryError) as problem:
        report({"event": "failed", "kind": "out-of-memory", "message": first_line(problem)})
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


def train(store: Store, folder: Path, file: JobFile) -> None:
    """Loads, trains, evaluates and stores every member of the job."""
    from repro.backbones.load import load_encoder
    from repro.tasks import load_task
    from repro.training.group import Group
    from repro.training.member import Settings

    execution, lead = file.execution, file.specs[0]
    device = prepare_torch(
        execution.device,
        threads=execution.threads,
        deterministic=execution.deterministic,
        tf32=execution.tf32,
    )
    report({"event": "loading", "what": lead.backbone.name, "device": device_name(device)})
    shared = any(reads_states(spec.method) for spec in file.specs)
    precision = lead.recipe.precision if shared else "fp32"
    encoder = load_encoder(lead.backbone, execution.folders, device, precision)
    report({"event": "loading", "what": "the data", "device": device_name(device)})
    data = load_task(lead.task, encoder.tokenizer)
    settings = Settings(
        device, execution.checkpoint_seconds, execution.checkpoint_steps, execution.micro_batch
    )
    if isinstance(lead.method, AblatedSpans):
        ablate_parent(store, lead, encoder, data, device)
        return
    group = Group(file.specs, encoder, data, settings, folder, report)
    group.train()
    machine = describe_environment(device) | usage(group, device, execution)
    for member in group.members:
        keep(store, group, member, machine, execution)


def ablate_parent(
    store: Store, spec: RunSpec, encoder: Encoder, data: TaskData, device: torch.device
) -> None:
    """Evaluates the run that `spec` names as its parent, and stores what that found."""
    from repro.spec.counts import total_parameters
    from repro.training.ablation import ablate
    from repro.training.checkpoint import read_artefact

    parent = store.read(spec.parents["trained"], verify=True)
    if parent is None or ADAPTER not in parent.files:
        raise ReproError(
            f"The run {spec.parents['trained'][:12]}, whose adapters are to be switched off, has "
            "no stored weights here. Give the command again to train it."
        )
    began = time.monotonic()
    epoch = parent.result.selected_epoch or parent.last_epoch
    tensors = read_artefact(parent.path / ADAPTER)
    try:
        scores = ablate(parent.spec, tensors, epoch, encoder, data, device, report)
    except FloatingPointError as problem:
        raise ReproError(f"With adapters switched off, {problem}.") from problem
    result = Result(
        key=run_key(spec),
        parameters_trained=0,
        parameters_total=total_parameters(parent.spec),
        parents={"trained": parent.digest},
        scores=[Score(**score) for score in scores],
    )
    machine = describe_environment(device) | {
        "seconds": time.monotonic() - began,
        "members": [result.key],
        "peak_memory_bytes": peak_memory(device),
        "device_name": device_name(device),
    }
    files = {"result.json": render(result), "environment.json": json_bytes(machine)}
    store.write(result.key, spec, dict(files))
    report({"event": "stored", "run": result.key})


def keep(
    store: Store, group: Group, member: Member, machine: dict[str, Any], execution: Execution
) -> None:
    """Stores one member's result, or why it has none."""
    if store.is_whole(member.key):
        return
    if member.diverged_at is not None:
        message = f"The loss was not finite at step {member.diverged_at}."
        store.record_failure(member.key, member.spec, "diverged", message, message + "\n")
        report({"event": "diverged", "run": member.key, "step": member.diverged_at})
        return
    weights = not trains_encoder(member.spec.method) or execution.keep_weights
    notes = [] if weights else ["weights deleted after scoring (--keep-weights keeps them)"]
    files: dict[str, bytes | Path] = {
        "result.json": render(result_of(member, group, notes)),
        "environment.json": json_bytes(machine),
        "history.jsonl": member.history.read(),
        "predictions.json": group.predictions(member),
    }
    if weights:
        files[ADAPTER] = group.artefact(member)
    store.write(member.key, member.spec, files)
    report({"event": "stored", "run": member.key})


def result_of(member: Member, group: Group, notes: list[str]) -> Result:
    """The member's `result.json`."""
    from repro.spec.counts import total_parameters, trained_parameters

    return Result(
        key=member.key,
        parameters_trained=trained_parameters(member.spec),
        parameters_total=total_parameters(member.spec),
        collapsed=collapsed(member, group.data),
        selected_epoch=member.kept,
        notes=notes,
        scores=[Score(**score) for score in member.scores],
    )


def collapsed(member: Member, data: TaskData) -> bool | None:
    """Whether the trained run gives a constant answer at the epoch that was kept."""
    if isinstance(member.spec.method, AlwaysNull):
        return None
    epoch = member.kept or member.spec.recipe.epochs
    return data.collapsed([score for score in member.scores if score["epoch"] == epoch])


def usage(group: Group, device: Any, execution: Execution) -> dict[str, Any]:
    """What the job took: seconds over all its parts, tokens, memory."""
    return {
        "seconds": group.seconds,
        "steps": group.steps,
        "trained_tokens": group.trained_tokens,
        "tokens_per_second": group.trained_tokens / max(group.seconds, 1e-9),
        "members": [member.key for member in group.members],
        "resumes": group.resumes,
        "micro_batch": execution.micro_batch,
        "peak_memory_bytes": peak_memory(device),
        "device_name": device_name(device),
    }


def report(event: dict[str, Any]) -> None:
    """One JSON line on stdout. A reader that is gone ends this process."""
    sys.stdout.write(json.dumps(event) + "\n")
    sys.stdout.flush()


def first_line(problem: BaseException) -> str:
    """An exception's first line, or its class's name."""
    return str(problem).splitlines()[0] if str(problem) else type(problem).__name__


def die_with_parent() -> None:
    """Asks Linux to end this process when its parent ends; elsewhere `report` notices."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    expected = os.environ.get("REPRO_PARENT")
    if expected is not None and os.getppid() != int(expected):
        sys.exit(Exit.ERROR)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
