"""What a run of one new task takes from a multi-task run (Karimi Mahabadi et al. 2021: few-shot).

Everything that the tasks of that run share as it is, and what is of the task `starts_from` alone,
its embedding or its bottlenecks, for the new task.
"""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor

from repro.errors import ReproError
from repro.spec import RunSpec, TextToText

OF_A_TASK = ("embeddings", "tasks")
"""What stands in a parameter's name before the name of its task."""


def taken_from(
    parent: RunSpec, tensors: Mapping[str, Tensor], child: RunSpec, own: Mapping[str, Tensor]
) -> dict[str, Tensor]:
    """The child's parameters -> the parent's tensors, all of them of the same shapes.

    `tensors`: the parent's artefact. Raises ReproError where the two do not fit.
    """
    start = _start_of(parent, child)
    assert isinstance(child.task, TextToText)
    found = {name: _renamed(name, child.task.tasks[0], start) for name in own}
    expected = {n for n in tensors if start is None or _task_in(n) in (None, start)}
    unknown = sorted(set(found.values()) ^ expected)
    if unknown:
        raise ReproError(
            f"The run to start from and this one do not train the same parts: {unknown[0]} and "
            f"{len(unknown) - 1} others are in one of them only. Give both the same method."
        )
    for name, theirs in found.items():
        if tensors[theirs].shape != own[name].shape:
            raise ReproError(
                f"{theirs} of the run to start from has the shape {tuple(tensors[theirs].shape)}, "
                f"and this run's {tuple(own[name].shape)}. Give both the same backbone and the "
                "same sizes of the method."
            )
    return {name: tensors[theirs] for name, theirs in found.items()}


def _start_of(parent: RunSpec, child: RunSpec) -> str | None:
    """The parent's task whose part is taken; None where all is shared."""
    if parent.method.kind != child.method.kind:
        raise ReproError(
            f"A run of '{child.method.kind}' cannot start from one of '{parent.method.kind}'. "
            "Name a run of the same method as the parent 'multi-task'."
        )
    start: str | None = getattr(child.method, "starts_from", None)
    known = parent.task.tasks if isinstance(parent.task, TextToText) else ()
    if start is not None and start not in known:
        raise ReproError(
            f"The run to start from was not trained on '{start}'; its tasks are "
            f"{', '.join(known)}. Choose one of them (method.starts_from)."
        )
    return start


def _task_in(name: str) -> str | None:
    """The task that a parameter is of; None where tasks share it."""
    parts = name.split(".")
    places = [place for place, part in enumerate(parts[:-1]) if part in OF_A_TASK]
    return parts[places[0] + 1] if parts[0] == "adapters" and places else None


def _renamed(name: str, task: str, start: str | None) -> str:
    """The parent's name of the parameter `name` of a run of `task`."""
    if start is None or _task_in(name) != task:
        return name
    parts = name.split(".")
    parts[parts.index(task)] = start
    return ".".join(parts)
