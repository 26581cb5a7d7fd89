"""What the cohorts of a group read of a batch of examples: tokens, targets, frozen states."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from torch import Tensor

from repro.backbones.load import Encoder
from repro.methods.modules.learner import Inputs
from repro.tasks.data import Example, TaskData
from repro.training.batches import Batch, collate, placed
from repro.training.cohort import Cohort
from repro.training.member import Settings
from repro.training.states import FrozenStates, Tell, worth_keeping


class Feed:
    """Gives every cohort what it reads; those that read the frozen encoder's states share them."""

    def __init__(
        self, cohorts: list[Cohort], encoder: Encoder, data: TaskData, settings: Settings
    ) -> None:
        self.cohorts, self.data, self.settings = cohorts, data, settings
        self.lead = cohorts[0].specs[0]
        self.states = FrozenStates(encoder, settings.device, self.lead.recipe.precision)

    def micro_batches(self, batch: int) -> list[slice]:
        """The batch's places, split where memory asks for it and no method needs it whole."""
        size = self.settings.micro_batch or batch
        if any(cohort.learner.batch_statistics for cohort in self.cohorts):
            size = batch
        return [slice(i, min(i + size, batch)) for i in range(0, batch, size)]

    def inputs(
        self, part: dict[int, list[Example]], *, training: bool
    ) -> Iterator[tuple[Cohort, Inputs, Tensor]]:
        """What each cohort reads, and the targets (runs or 1, batch, ...).

        `part` holds each seed's examples. Cohorts of one seed that read the frozen encoder's states
        share one pass of it; a cohort with rows of its own reads the rows of all its runs.
        """
        active = [cohort for cohort in self.cohorts if not training or cohort.trains]
        for seed, examples in part.items():
            sharing = [c for c in active if not c.own_rows and c.specs[0].seed == seed]
            yield from self._shared(sharing, examples)
        for cohort in active:
            if cohort.own_rows:
                rows = [example for spec in cohort.specs for example in part[spec.seed]]
                batch = self._collate(rows)
                targets = batch.targets.view(len(cohort.specs), -1, *batch.targets.shape[1:])
                yield cohort, placed(batch, self.settings.device), self._on_device(targets)

    def keep_states(self, tell: Tell) -> None:
        """Encodes every example once, where that pays and no member reads padding."""
        learners = [c.learner for c in self.cohorts if c.learner.reads_states]
        backbone = self.lead.backbone
        examples = [*self.data.training, *self.data.evaluation]
        fits = worth_keeping(examples, backbone.layers, backbone.hidden_size, self.settings.device)
        if learners and fits and not any(learner.keeps_padding for learner in learners):
            self.states.keep(examples, self.data.pad_id, tell)

    def _shared(
        self, cohorts: list[Cohort], examples: list[Example]
    ) -> Iterator[tuple[Cohort, Inputs, Tensor]]:
        batch = self._collate(examples) if cohorts else None
        for keep_padding in (False, True):
            reading = [c for c in cohorts if c.learner.keeps_padding == keep_padding]
            if batch is None or not reading:
                continue
            inputs = placed(batch, self.settings.device, keep_padding=keep_padding)
            if any(cohort.learner.reads_states for cohort in reading):
                states = self.states.packed(examples, batch, inputs.layout)
                inputs = replace(inputs, states=states)
            for cohort in reading:
                yield cohort, inputs, self._on_device(batch.targets.unsqueeze(0))

    def _collate(self, examples: list[Example]) -> Batch:
        fixed = self.lead.task.max_length if self.lead.recipe.padding == "max" else None
        return collate(examples, self.data.pad_id, fixed)

    def _on_device(self, tensor: Tensor) -> Tensor:
        return tensor.to(self.settings.device, non_blocking=True)
