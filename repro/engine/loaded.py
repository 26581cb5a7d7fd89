"""What a worker keeps from one job to the next: the encoder and the data of the last tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from repro.spec import RunSpec, Task, canonical_json
from repro.spec.identity import identity_fields

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
        self._tasks: dict[str, TaskData] = {}

    def encoder(
        self, lead: RunSpec, folders: dict[str, str], device: torch.device, precision: str
    ) -> Encoder:
        """The encoder that `lead` names, on `device`; see `load_encoder`."""
        from repro.backbones.load import load_encoder

        key = canonical_json([identity_fields(lead.backbone), folders, str(device), precision])
        if self._encoder is None or self._of != key:
            self._encoder = None  # memory holds one at a time
            self._tasks.clear()  # cut for its tokenizer
            self._encoder, self._of = load_encoder(lead.backbone, folders, device, precision), key
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
