"""What a job leaves of its runs: a result and the files beside it, or why there is none."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from repro.engine.jobs import Execution, holds, keeps_weights
from repro.engine.parents import Parents, Report, digests
from repro.spec import RunSpec
from repro.spec.contents import Contents
from repro.store.entry import ADAPTER
from repro.store.result import Activation, Result, Score, render
from repro.store.store import Store
from repro.store.strict_json import json_bytes
from repro.training.environment import describe_environment, device_name, peak_memory

if TYPE_CHECKING:
    import torch

    from repro.tasks.data import TaskData
    from repro.training.group import Group
    from repro.training.member import Member


def keep_group(
    store: Store,
    group: Group,
    parents: Parents,
    execution: Execution,
    report: Report,
    read: Contents,
) -> None:
    """Stores what became of every member; `parents` are those of each of them, `read` is what the
    encoder and the data were read from.
    """
    device = group.settings.device
    machine = _machine(device, usage(group, execution), read)
    for member in group.members:
        if holds(store, member.spec, execution):
            continue
        if member.diverged_at is not None:
            message = f"The loss was not finite at step {member.diverged_at}."
            store.record_failure(member.key, member.spec, "diverged", message, message + "\n")
            report({"event": "diverged", "run": member.key, "step": member.diverged_at})
        else:
            _keep(store, group, member, parents, machine, execution)
            report({"event": "stored", "run": member.key})


def keep_evaluation(
    store: Store,
    spec: RunSpec,
    result: Result,
    predictions: dict[str, Any] | None,
    seconds: float,
    device: torch.device,
    read: Contents,
) -> None:
    """Stores a run that trained nothing."""
    machine = _machine(device, {"seconds": seconds, "members": [result.key]}, read)
    files = {"result.json": render(result), "environment.json": json_bytes(machine)}
    if predictions is not None:
        files["predictions.json"] = json_bytes(predictions)
    store.write(result.key, spec, dict(files))


def _machine(device: torch.device, used: dict[str, Any], read: Contents) -> dict[str, Any]:
    """What `environment.json` holds: the machine, what the job used of it, and what it read."""
    own = {
        "peak_memory_bytes": peak_memory(device),
        "device_name": device_name(device),
        "read": read.model_dump(mode="json", exclude_defaults=True),
    }
    return describe_environment(device) | used | own


def _keep(
    store: Store,
    group: Group,
    member: Member,
    parents: Parents,
    machine: dict[str, Any],
    execution: Execution,
) -> None:
    weights = keeps_weights(member.spec, execution)
    told = weights or member.spec.method.family == "t5"  # whose result a child may need
    notes = [] if told else ["weights deleted after scoring (--keep-weights keeps them)"]
    files: dict[str, bytes | Path] = {
        "result.json": render(result_of(member, group, parents, notes)),
        "environment.json": json_bytes(machine),
        "history.jsonl": member.history.read(),
        "predictions.json": member.predictions,
    }
    if weights:
        files[ADAPTER] = member.artefact
    store.write(member.key, member.spec, files)


def result_of(member: Member, group: Group, parents: Parents, notes: list[str]) -> Result:
    """The member's `result.json`."""
    cohort, run = group.place(member)
    found = cohort.learner.activations(run)
    learned = {str(layer): Activation(**asdict(one)) for layer, one in found.items()}
    return Result(
        key=member.key,
        parameters_trained=member.built.trained_parameters(),
        parameters_total=member.built.total_parameters(),
        collapsed=collapsed(member, group.data),
        selected_epoch=member.kept,
        parents=digests(parents),
        layers=cohort.learner.selected(run),
        rows=group.data.drawn,
        activations=learned or None,
        embeddings=cohort.learner.embeddings() or None,
        notes=notes,
        scores=[Score(**score) for score in member.scores],
    )


def collapsed(member: Member, data: TaskData) -> bool | None:
    """Whether the trained run gives a constant answer at the epoch that was kept."""
    if not member.spec.method.trains:
        return None
    epoch = member.kept or member.spec.recipe.epochs
    return data.collapsed([score for score in member.scores if score["epoch"] == epoch])


def usage(group: Group, execution: Execution) -> dict[str, Any]:
    """What the job took: seconds over all its parts, steps, tokens."""
    return {
        "seconds": group.seconds,
        "steps": group.steps,
        "trained_tokens": group.trained_tokens,
        "tokens_per_second": group.trained_tokens / max(group.seconds, 1e-9),
        "members": [member.key for member in group.members],
        "resumes": group.resumes,
        "micro_batch": execution.micro_batch,
        "compiled": execution.compiled,
    }
