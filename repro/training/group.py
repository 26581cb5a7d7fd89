"""The training loop: a group of runs on one backbone, one pass of the frozen encoder a batch.

All members share backbone, task, seed, batch size, epochs, padding, order and precision, so they
read the same batches. A member whose loss stops being finite is marked as diverged and the rest
goes on. `resume` continues from the last checkpoint as if nothing had happened.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from repro.backbones.load import Encoder
from repro.methods.layout import Layout
from repro.methods.learner import Inputs
from repro.spec import RunSpec, run_key
from repro.store.atomic import write_json
from repro.tasks.squad2.features import Window
from repro.tasks.squad2.task import SquadData
from repro.training.batches import Batch, collate, epoch_order, length_sorted
from repro.training.checkpoint import Checkpoint, HistoryFile, read_artefact, write_artefact
from repro.training.cohort import Cohort, cohorts_of
from repro.training.evaluation import Collector, headline, predictions, score_epoch
from repro.training.states import FrozenStates, worth_keeping

Report = Callable[[dict[str, Any]], None]
EVALUATION_TOKENS = {"cpu": 4096, "cuda": 65536}
"""Padded tokens of an evaluation batch; it changes no score, only speed and memory."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How a group is executed; nothing here changes what a run is."""

    device: torch.device
    checkpoint_seconds: float = 60.0
    checkpoint_steps: int | None = None
    micro_batch: int | None = None


@dataclass(slots=True)
class Member:
    """One run of the group as it stands."""

    spec: RunSpec
    key: str
    history: HistoryFile
    scores: list[dict[str, Any]] = field(default_factory=list)
    diverged_at: int | None = None


class Group:
    """Trains `specs` together; `work` holds their checkpoints until the results are stored."""

    def __init__(
        self,
        specs: Sequence[RunSpec],
        encoder: Encoder,
        data: SquadData,
        settings: Settings,
        work: Path,
        report: Report = lambda event: None,
    ) -> None:
        self.specs, self.encoder, self.data = list(specs), encoder, data
        self.settings, self.work, self.report = settings, work, report
        self.lead = specs[0]
        self.lengths = [len(window.input_ids) for window in data.training]
        self.steps_an_epoch = -(-len(self.lengths) // self.lead.recipe.batch_size)
        self.steps = self.steps_an_epoch * self.lead.recipe.epochs
        self.members = [self._member(spec) for spec in specs]
        self.cohorts = [self._cohort(part, specs) for part in cohorts_of(specs)]
        self.states = FrozenStates(encoder, settings.device)
        self.step = 0
        self.evaluated = 0
        self.trained_tokens = 0
        self.seconds = 0.0
        self.resumes = 0
        self._since = time.monotonic()

    # -- the loop ----------------------------------------------------------------------------

    def train(self) -> None:
        """Trains and evaluates to the end, from the last checkpoint where there is one."""
        self._resume()
        if self.evaluated < self.lead.recipe.epochs:
            self._keep_states()
        saved = time.monotonic()
        for epoch in range(self.evaluated + 1, self.lead.recipe.epochs + 1):
            order = epoch_order(self.lead, epoch, self.lengths)
            done = self.step - (epoch - 1) * self.steps_an_epoch
            for indices in order[done:]:
                self._train_step(epoch, [self.data.training[i] for i in indices])
                if self._due(saved):
                    self.save()
                    saved = time.monotonic()
            self._finish_epoch(epoch)

    def _train_step(self, epoch: int, windows: list[Window]) -> None:
        self.step += 1
        losses = {cohort.members[0]: torch.zeros(len(cohort.members)) for cohort in self.cohorts}
        for part in self._micro_batches(windows):
            self.trained_tokens += sum(len(window.input_ids) for window in part)
            share = len(part) / len(windows)
            for cohort, inputs, targets in self._inputs(part, training=True):
                losses[cohort.members[0]] += cohort.accumulate(inputs, targets, share).cpu()
        for cohort in self.cohorts:
            if cohort.trains:
                norms = cohort.optimizer.step(self.step).cpu()
                self._log(cohort, epoch, losses[cohort.members[0]], norms)
        self.report(self._progress(epoch, losses))

    def _finish_epoch(self, epoch: int) -> None:
        if self.evaluated >= epoch:
            return
        if epoch == self.lead.recipe.epochs:
            self._evaluate_artefacts(epoch)
        else:
            self._evaluate(epoch)
        self.save()

    def _log(self, cohort: Cohort, epoch: int, losses: Tensor, norms: Tensor) -> None:
        """One history line a run; a loss or a gradient that is not finite ends the run."""
        for run, index in enumerate(cohort.members):
            member = self.members[index]
            if member.diverged_at is not None:
                continue
            if not bool(torch.isfinite(losses[run]) and torch.isfinite(norms[run]).all()):
                self._diverge(member)
                continue
            line = {"epoch": epoch, "step": self.step, "loss": float(losses[run])}
            member.history.append(line | {"gradient_norm": norms[run].tolist()})

    def _progress(self, epoch: int, losses: dict[int, Tensor]) -> dict[str, Any]:
        by_run = {
            self.members[index].key: float(losses[cohort.members[0]][run])
            for cohort in self.cohorts
            for run, index in enumerate(cohort.members)
            if cohort.trains and self.members[index].diverged_at is None
        }
        return {
            "event": "step",
            "epoch": epoch,
            "step": self.step,
            "steps": self.steps,
            "losses": by_run,
        }

    # -- batches ------------------------------------------------------------------------------

    def _micro_batches(self, windows: list[Window]) -> list[list[Window]]:
        """The batch, split where memory asks for it and no method needs it whole."""
        size = self.settings.micro_batch or len(windows)
        if any(cohort.learner.batch_statistics for cohort in self.cohorts):
            size = len(windows)
        return [windows[i : i + size] for i in range(0, len(windows), size)]

    def _collate(self, windows: list[Window]) -> Batch:
        fixed = self.lead.task.max_length if self.lead.recipe.padding == "max" else None
        return collate(windows, self.data.pad_id, fixed)

    def _inputs(
        self, windows: list[Window], *, training: bool
    ) -> Iterator[tuple[Cohort, Inputs, Tensor]]:
        """What each cohort reads: one pass of the frozen encoder for all that need it."""
        device, batch = self.settings.device, self._collate(windows)
        ids, mask, types, targets = (
            tensor.to(device, non_blocking=True)
            for tensor in (batch.input_ids, batch.attention_mask, batch.type_ids, batch.targets)
        )
        active = [c for c in self.cohorts if not training or c.trains]
        for keep_padding in (False, True):
            cohorts = [c for c in active if c.learner.keeps_padding == keep_padding]
            if not cohorts:
                continue
            layout = Layout.of(batch.attention_mask, keep_padding=keep_padding).to(device)
            states = []
            if any(cohort.learner.reads_states for cohort in cohorts):
                states = self.states.packed(windows, batch, layout)
            for cohort in cohorts:
                yield cohort, Inputs(ids, mask, types, layout, states), targets

    def _keep_states(self) -> None:
        """Encodes every window once, where that pays and no member reads padding."""
        learners = [c.learner for c in self.cohorts if c.learner.reads_states]
        backbone = self.lead.backbone
        windows = [*self.data.training, *self.data.evaluation.windows]
        fits = worth_keeping(windows, backbone.layers, backbone.hidden_size, self.settings.device)
        if learners and fits and not any(learner.keeps_padding for learner in learners):
            self.states.keep(windows, self.data.pad_id, self._tell_encoded)

    def _tell_encoded(self, done: int, every: int) -> None:
        self.report({"event": "encoding", "batch": done, "batches": every})

    # -- evaluation ---------------------------------------------------------------------------

    def _evaluate(self, epoch: int) -> list[Collector]:
        """Scores every member with the parameters as they stand."""
        windows = self.data.evaluation.windows
        collectors = [Collector(self.data.evaluation) for _ in self.members]
        batches = length_sorted(windows, EVALUATION_TOKENS[self.settings.device.type])
        for number, indices in enumerate(batches, 1):
            part = [windows[i] for i in indices]
            for cohort, inputs, _ in self._inputs(part, training=False):
                scores = cohort.evaluate(inputs).cpu().numpy()
                for run, index in enumerate(cohort.members):
                    self._decode(index, collectors[index], indices, scores[run])
            self.report(
                {"event": "evaluation", "epoch": epoch, "batch": number, "batches": len(batches)}
            )
        for member, collector in zip(self.members, collectors, strict=True):
            if member.diverged_at is None:
                self._score(member, collector, epoch)
        self.evaluated = epoch
        return collectors

    def _decode(
        self, index: int, collector: Collector, indices: list[int], scores: NDArray[np.float32]
    ) -> None:
        """Hands a batch's logits (2, batch, length) on; ones that are not finite end the run."""
        member = self.members[index]
        if member.diverged_at is None:
            try:
                collector.add(indices, scores[0], scores[1])
            except FloatingPointError:
                self._diverge(member)

    def _diverge(self, member: Member) -> None:
        member.diverged_at = self.step
        self.report({"event": "diverged", "run": member.key, "step": self.step})

    def _score(self, member: Member, collector: Collector, epoch: int) -> None:
        scores = score_epoch(collector.outcomes(), self.data.evaluation, epoch)
        member.scores.extend(scores)
        member.history.append({"epoch": epoch, "step": self.step, "scores": headline(scores)})
        self.report(
            {"event": "scored", "run": member.key, "epoch": epoch, "scores": headline(scores)}
        )

    def _evaluate_artefacts(self, epoch: int) -> None:
        """The final scores come from what is stored: written, read back, scored."""
        for cohort in self.cohorts:
            for run, index in enumerate(cohort.members):
                path = self.artefact(self.members[index])
                write_artefact(path, cohort.artefact(run))
                cohort.load_artefact(run, read_artefact(path))
        for member, collector in zip(self.members, self._evaluate(epoch), strict=True):
            if member.diverged_at is None:
                document = predictions(collector.outcomes(), self.data.evaluation)
                write_json(self.predictions(member), document)

    def predictions(self, member: Member) -> Path:
        """Where the member's final predictions are until the result is stored."""
        return self.work / f"predictions-{member.key}.json"

    def artefact(self, member: Member) -> Path:
        """Where the member's trained tensors are until the result is stored."""
        return self.work / f"adapter-{member.key}.safetensors"

    # -- checkpoints --------------------------------------------------------------------------

    def _due(self, saved: float) -> bool:
        every = self.settings.checkpoint_steps
        if every is not None:
            return self.step % every == 0
        return time.monotonic() - saved >= self.settings.checkpoint_seconds

    def save(self) -> None:
        """Writes a checkpoint: complete or absent."""
        tensors = {
            f"{number}.{name}": value
            for number, cohort in enumerate(self.cohorts)
            for name, value in cohort.state().items()
        }
        now = time.monotonic()
        self.seconds, self._since = self.seconds + now - self._since, now
        progress = {
            "step": self.step,
            "seconds": self.seconds,
            "resumes": self.resumes,
            "evaluated": self.evaluated,
            "trained_tokens": self.trained_tokens,
            "members": [
                {
                    "key": member.key,
                    "history": member.history.flush(),
                    "diverged_at": member.diverged_at,
                    "scores": member.scores,
                }
                for member in self.members
            ],
        }
        Checkpoint(tensors, json.dumps(progress, allow_nan=False)).write(self.work)

    def _resume(self) -> None:
        checkpoint = Checkpoint.read(self.work)
        progress = json.loads(checkpoint.progress) if checkpoint else None
        if checkpoint is None or progress is None:
            for member in self.members:
                member.history.cut(0)
            return
        self.step, self.evaluated = progress["step"], progress["evaluated"]
        self.trained_tokens = progress["trained_tokens"]
        self.seconds, self.resumes = progress["seconds"], progress["resumes"] + 1
        for member, stored in zip(self.members, progress["members"], strict=True):
            member.history.cut(stored["history"])
            member.diverged_at, member.scores = stored["diverged_at"], stored["scores"]
        for number, cohort in enumerate(self.cohorts):
            lead = f"{number}."
            part = {n[len(lead) :]: t for n, t in checkpoint.tensors.items() if n.startswith(lead)}
            cohort.load_state(part)
        self.report({"event": "resumed", "step": self.step, "steps": self.steps})

    def _member(self, spec: RunSpec) -> Member:
        key = run_key(spec)
        return Member(spec, key, HistoryFile(self.work / f"history-{key}.jsonl"))

    def _cohort(self, members: list[int], specs: Sequence[RunSpec]) -> Cohort:
        return Cohort(members, specs, self.encoder, self.settings.device, self.steps)
