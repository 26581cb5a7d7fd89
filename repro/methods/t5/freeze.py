"""A task's generated adapters as plain ones: the task then needs neither embedding nor generators.

What comes out is the artefact of a single-task run of plain adapters, whose learner gives the same
outputs, bit for bit.
"""

from __future__ import annotations

import torch
from torch import Tensor

from repro.errors import ReproError
from repro.methods.t5 import HyperFormer, T5Adapters
from repro.methods.t5.adapters import STACKS, Adapters, norms_of
from repro.methods.t5.generators import GeneratedAdapters
from repro.methods.t5.learner import Writer
from repro.spec import RunSpec, TextToText


def plain_run(spec: RunSpec, task: str) -> RunSpec:
    """The run of plain adapters for one task, to which the frozen adapters of `spec` belong.

    Raises ReproError where no plain adapter is like those of `spec`.
    """
    method, mixture = spec.method, spec.task
    if not isinstance(method, HyperFormer) or not isinstance(mixture, TextToText):
        raise ReproError(
            f"The adapters of '{spec.method.kind}' are not generated, so there is nothing to "
            "freeze. Name a run of 'hyperformer'."
        )
    if task not in mixture.tasks:
        raise ReproError(f"The run has no task '{task}'. Choose one of {', '.join(mixture.tasks)}.")
    if not method.blocks or method.norm == "none":
        raise ReproError(
            "A plain adapter has a bottleneck and a norm, and the adapters of this ablation lack "
            "one of them. Name a run with method.blocks and a norm."
        )
    revisions = {task: mixture.revisions.get(task)}
    one = mixture.model_copy(update={"tasks": (task,), "revisions": revisions})
    plain = T5Adapters(reduction=method.reduction, dropout=method.dropout)
    return spec.model_copy(update={"task": one, "method": plain, "parents": {}})


def plain_adapters(writer: Writer, task: str) -> dict[str, Tensor]:
    """The tensors of `task`, by the names of `plain_run(writer.spec, task)`, on the CPU, fp32.

    T5's own norms go with them, trained or not. Raises ReproError as `plain_run` does.
    """
    plain_run(writer.spec, task)
    assert isinstance(writer.adapters, GeneratedAdapters)
    with torch.no_grad():
        made = writer.adapters(task)
    found = {}
    for stack in STACKS:
        for name, tensor in _named(made[stack]).items():
            owner = "norm" if name in ("gain", "shift") else f"tasks.{task}"
            found[f"adapters.{stack}.{owner}.{name}"] = tensor
    for stack, norms in norms_of(writer.model_inside).items():
        for name, norm in norms.items():
            found[f"norms.{stack}.{name}.weight"] = norm.get_parameter("weight").float()
    return {name: tensor.detach().cpu().contiguous() for name, tensor in found.items()}


def _named(adapters: Adapters) -> dict[str, Tensor]:
    return {name: t for name, t in adapters._asdict().items() if t is not None}
