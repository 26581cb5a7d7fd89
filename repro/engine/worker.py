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
from collections.abc import Iterator
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from repro.engine.jobs import Execution, JobFile, read_job
from repro.errors import MissingData, MissingModel, ReproError, StoreError
from repro.spec import AlwaysNull, FullFineTuning, RunSpec, run_key
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
    from repro.training.group import Group, Member

PR_SET_PDEATHSIG = 1
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
        if all(store.state(key) == "done" for key in held):  # by another process, just before
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
    from repro.methods import reads_states
    from repro.tasks.squad2.task import load_squad
    from repro.training.group import Group, Settings

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
    data = load_squad(lead.task, encoder.tokenizer)
    settings = Settings(
        device, execution.checkpoint_seconds, execution.checkpoint_steps, execution.micro_batch
    )
    group = Group(file.specs, encoder, data, settings, folder, report)
    group.train()
    machine = describe_environment(device) | usage(group, device, execution)
    for member in group.members:
        keep(store, group, member, machine, execution)


def keep(
    store: Store, group: Group, member: Member, machine: dict[str, Any], execution: Execution
) -> None:
    """Stores one member's result, or why it has none."""
    if store.state(member.key) == "done":
        return
    if member.diverged_at is not None:
        message = f"The loss was not finite at step {member.diverged_at}."
        store.record_failure(member.key, member.spec, "diverged", message, message + "\n")
        report({"event": "diverged", "run": member.key, "step": member.diverged_at})
        return
    tuned = isinstance(member.spec.method, FullFineTuning)
    weights = not tuned or execution.keep_weights
    notes = [] if weights else ["weights deleted after scoring (--keep-weights keeps them)"]
    files: dict[str, bytes | Path] = {
        "result.json": render(result_of(member, group, notes)),
        "environment.json": json_bytes(machine),
        "history.jsonl": member.history.read(),
        "predictions.json": group.predictions(member),
    }
    if weights:
        files["adapter.safetensors"] = group.artefact(member)
    store.write(member.key, member.spec, files)
    report({"event": "stored", "run": member.key})


def result_of(member: Member, group: Group, notes: list[str]) -> Result:
    """The member's `result.json`."""
    from repro.spec.counts import total_parameters, trained_parameters

    return Result(
        key=member.key,
        parameters_trained=trained_parameters(member.spec),
        parameters_total=total_parameters(member.spec),
        collapsed=collapsed(member.spec, member.scores),
        notes=notes,
        scores=[Score(**score) for score in member.scores],
    )


def collapsed(spec: RunSpec, scores: list[dict[str, Any]]) -> bool | None:
    """Whether the trained run answers nothing at all, at its end, under the headline protocol."""
    from repro.tasks.squad2.protocols import HEADLINE

    if isinstance(spec.method, AlwaysNull):
        return None
    rates = [
        score["value"]
        for score in scores
        if (score["protocol"], score["metric"], score["epoch"])
        == (HEADLINE, "null_rate", spec.recipe.epochs)
    ]
    return all(rate == 100.0 for rate in rates)


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
