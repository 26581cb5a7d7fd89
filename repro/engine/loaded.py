"""What a worker keeps from one job to the next: the encoder and the data of the last tasks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from repro.spec import RunSpec, Task, canonical_json
from repro.spec.identity import identity_fields
from repro.spec.kinds import PRETRAINED

if TYPE_CHECKING:
    import torch

    from repro.backbones.load import Encoder
    from repro.tasks.data import TaskData

TASKS_KEPT = 2


class Loaded:
    """One encoder and a few tasks. Jobs only read them, so a job finds them as if new."""

    def __init__(self) -> None:
        self._encoder: Encoder | None = None
        self._of = ""
        self._cut_for: list[Any] = []
        self._tasks: dict[str, TaskData] = {}

    def encoder(
        self,
        lead: RunSpec,
        folders: dict[str, str],
        device: torch.device,
        precision: str,
        pretrained: Path | None = None,
    ) -> Encoder:
        """The encoder that `lead` names, on `device`; see `load_encoder`. `pretrained`: weights
        that a run of this project gave it.
        """
        from repro.backbones.load import load_encoder

        named = [identity_fields(lead.backbone), folders, str(device), precision]
        if self._cut_for != named[:2]:
            self._tasks.clear()  # cut for another tokenizer
            self._cut_for = named[:2]
        key = canonical_json([*named, lead.parents.get(PRETRAINED)])
        if self._encoder is None or self._of != key:
            self._encoder = None  # memory holds one at a time
            encoder = load_encoder(lead.backbone, folders, device, precision, pretrained)
            self._encoder, self._of = encoder, key
        return self._encoder

    def task(self, task: Task) -> TaskData:
        """The task's data, cut for the encoder that was asked for last."""
        from repro.tasks import load_task

        assert self._encoder is not None
        key = canonical_json(identity_fields(task))
        data = self._tasks.pop(key, None) or load_task(task, self._encoder.tokenizer)
        self._tasks[key] = data  # the latest is the last
        while len(self._tasks) > TASKS_KEPT:
            del self._tasks[next(iter(self._tasks))]
        return data
