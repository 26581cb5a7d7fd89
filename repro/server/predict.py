"""Predictions of a stored run for rows without labels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from repro.backbones.load import load_encoder
from repro.errors import ReproError
from repro.server.layout import ServerFile
from repro.store.entry import ADAPTER, StoredRun
from repro.tasks.sentences.rows import Row
from repro.tasks.sentences.task import make_examples
from repro.training.batches import collate, length_sorted, placed
from repro.training.checkpoint import read_artefact
from repro.training.cohort import Cohort
from repro.training.group import EVALUATION_TOKENS


class StoredModel:
    """A run's encoder with what the run trained put in place."""

    def __init__(self, run: StoredRun, folders: Mapping[str, str], device: torch.device) -> None:
        self.run, self.device = run, device
        encoder = load_encoder(run.spec.backbone, dict(folders), device)
        self.tokenizer = encoder.tokenizer
        self.cohort = Cohort([0], [run.spec], encoder, device, steps=1)
        self.cohort.load_artefact(0, read_artefact(run.path / ADAPTER))

    def outputs(
        self, rows: Sequence[Row], tell: Callable[[int, int], None] = lambda done, every: None
    ) -> NDArray[np.float32]:
        """(rows, outputs) in eval mode, in the order of `rows`; `tell` hears of every batch.

        Raises ReproError for an output that is not finite.
        """
        task = self.run.spec.task
        examples = make_examples(rows, self.tokenizer, task.max_length)
        batches = length_sorted(examples, EVALUATION_TOKENS[self.device.type])
        found: NDArray[np.float32] | None = None
        for done, indices in enumerate(batches, start=1):
            batch = collate([examples[i] for i in indices], int(self.tokenizer.pad_token_id))
            outputs = self.cohort.evaluate(placed(batch, self.device))[0].cpu().numpy()
            if not np.isfinite(outputs).all():
                raise ReproError(
                    f"The run {self.run.key[:12]} gives an output that is not finite for a row of "
                    "the test set: its weights cannot be submitted."
                )
            if found is None:
                found = np.empty((len(examples), outputs.shape[1]), dtype=np.float32)
            found[indices] = outputs
            tell(done, len(batches))
        assert found is not None, "a test set has rows"
        return found


def said(file: ServerFile, outputs: NDArray[np.float32]) -> list[str]:
    """What the server reads for each row of `outputs` (rows, outputs): a word, or a number.

    A number is clipped to the task's range, as the server refuses others.
    """
    if file.words:
        return [file.words[int(place)] for place in outputs.argmax(axis=1)]
    return [f"{value:.5f}" for value in outputs[:, 0].clip(*file.facts.bounds)]
