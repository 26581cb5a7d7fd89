"""What a worker keeps from one job to the next: the encoder and the data of the last tasks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from repro.spec import RunSpec, Task, canonical_json
from repro.spec.contents import Content, Contents
from repro.spec.identity import identity_fields
from repro.spec.types import PRETRAINED

if TYPE_CHECKING:
    import torch

    from repro.backbones.load import Encoder
    from repro.tasks.data import TaskData

TASKS_KEPT = 2


class Loaded:
    """One encoder and a few tasks. Jobs only read them, so a job finds them as if new.

    `cache`: the folder in which tokenised rows are kept for the next process.
    """

    def __init__(self, cache: Path) -> None:
        self._cache = cache
        self._encoder: Encoder | None = None
        self._of = ""
        self._cut_for: list[Any] = []
        self._tasks: dict[str, tuple[TaskData, dict[str, Content]]] = {}
        self._models: dict[str, Content] = {}
        self._data: dict[str, Content] = {}

    @property
    def read(self) -> Contents:
        """What the encoder and the task that were asked for last were read from, by digest."""
        return Contents(models=self._models, data=self._data)

    def encoder(
        self,
        lead: RunSpec,
        folders: dict[str, str],
        device: torch.device,
        pretrained: Path | None = None,
    ) -> Encoder:
        """The encoder that `lead` names, on `device`; see `load_encoder`. `pretrained`: weights
        that a run of this project gave it.
        """
        from repro.backbones.contents import model_content
        from repro.backbones.load import load_encoder

        named = [identity_fields(lead.backbone), folders, str(device)]
        if self._cut_for != named[:2]:
            self._tasks.clear()  # cut for another tokenizer
            self._cut_for = named[:2]
        key = canonical_json([*named, lead.parents.get(PRETRAINED)])
        if self._encoder is None or self._of != key:
            self._encoder = None  # memory holds one at a time
            encoder = load_encoder(lead.backbone, folders, device, pretrained)
            self._encoder, self._of = encoder, key
            content = model_content(lead.backbone, folders)
            self._models = {} if content is None else {lead.backbone.id: content}
        return self._encoder

    def task(self, task: Task) -> TaskData:
        """The task's data, cut for the encoder that was asked for last."""
        from repro.tasks.rows import reading

        assert self._encoder is not None
        key = canonical_json(identity_fields(task))
        known = self._tasks.pop(key, None)
        if known is None:
            with reading() as read:
                known = task.load(self._encoder.tokenizer, self._cache), read
        self._tasks[key] = known  # the latest is the last
        data, self._data = known
        while len(self._tasks) > TASKS_KEPT:
            del self._tasks[next(iter(self._tasks))]
        return data
