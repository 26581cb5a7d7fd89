"""What the cohorts of a group read of a batch of examples: tokens, targets, frozen states.

The states are the frozen encoder's outputs, computed for each batch or kept over the epochs.
A small set's states fit in memory: on a CPU they are computed once, in batches of windows of like
length, and every epoch reads them back. Either way they are those of the unchanged encoder in eval
mode; kept ones differ in the last digits, because they met other padding.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import torch
from torch import Tensor

from repro.backbones.load import Encoder
from repro.methods.modules.layout import Layout
from repro.methods.modules.learner import Inputs
from repro.tasks.data import Example, TaskData
from repro.training.batches import Batch, collate, length_sorted, placed
from repro.training.cohort import Cohort
from repro.training.environment import matrix_products
from repro.training.member import Settings

MOST_BYTES = 8_000_000_000
SHARE_OF_MEMORY = 1 / 3
ENCODED_AT_ONCE = 4096
"""Padded tokens of a batch whose states are kept."""

Tell = Callable[[int, int], None]


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


class FrozenStates:
    """Where a group gets its encoder's states from. `tell(done, all)` hears of long work."""

    def __init__(self, encoder: Encoder, device: torch.device, precision: str = "fp32") -> None:
        self.encoder, self.device, self.precision = encoder, device, precision
        self._kept: dict[int, Tensor] = {}

    def keep(self, windows: Sequence[Example], pad_id: int, tell: Tell) -> None:
        """Encodes all `windows` now; `packed` then reads their states back."""
        batches = length_sorted(windows, ENCODED_AT_ONCE)
        for number, indices in enumerate(batches, 1):
            part = [windows[i] for i in indices]
            states = torch.stack(self._encode(collate(part, pad_id)))  # (layers, batch, length, d)
            for row, window in enumerate(part):
                self._kept[id(window)] = states[:, row, : len(window.input_ids)].clone()
            tell(number, len(batches))

    def packed(self, windows: Sequence[Example], batch: Batch, layout: Layout) -> list[Tensor]:
        """The states of every layer, packed as `layout` says: (tokens, hidden) each."""
        if all(id(window) in self._kept for window in windows):
            return list(torch.cat([self._kept[id(window)] for window in windows], dim=1))
        return list(layout.pack(torch.stack(self._encode(batch))))

    def _encode(self, batch: Batch) -> list[Tensor]:
        ids, mask, types = (
            tensor.to(self.device, non_blocking=True)
            for tensor in (batch.input_ids, batch.attention_mask, batch.type_ids)
        )
        with matrix_products(self.precision, self.device):
            return self.encoder.states(ids, None if batch.full else mask, types)


def worth_keeping(
    windows: Sequence[Example], layers: int, hidden: int, device: torch.device
) -> bool:
    """Whether the states of `windows` fit in this machine's memory, in fp32.

    On a GPU they are computed anew: encoding is faster there than reading back.
    """
    if device.type != "cpu":
        return False
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    needed = 4 * layers * hidden * sum(len(window.input_ids) for window in windows)
    return needed <= min(MOST_BYTES, SHARE_OF_MEMORY * memory)
