"""The training loop: a group of runs on one backbone.

All members share backbone, task, batch size, epochs, padding, order and precision, so an epoch has
equally many steps for each. Members of one seed read the same batches, and those that read the
frozen encoder's states share its pass. A member whose loss stops being finite is marked as diverged
and the rest goes on. A group that was cut short continues from its last checkpoint as if nothing
had happened.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from operator import ge, gt
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from repro.backbones.load import Encoder
from repro.spec import RunSpec, run_key
from repro.store.atomic import write_json
from repro.tasks.data import Collector, TaskData
from repro.training.batches import drawn_order, epoch_order, length_sorted
from repro.training.checkpoint import (
    Checkpoint,
    Damaged,
    HistoryFile,
    read_artefact,
    write_artefact,
)
from repro.training.cohort import Cohort, Start, cohorts_of
from repro.training.feed import Feed
from repro.training.member import Member, Settings, Stopped

Report = Callable[[dict[str, Any]], None]
EVALUATION_TOKENS = {"cpu": 4096, "cuda": 65536}
"""Padded tokens of an evaluation batch."""
FETCHED_AFTER = {"cpu": 1, "cuda": 32}
"""Steps whose losses and norms are fetched at once: to ask a GPU for one is to wait for it."""


@dataclass(frozen=True, slots=True)
class Taken:
    """A step whose numbers are on the device: by a cohort's first member, losses (runs,) and norms
    (runs, stacks).
    """

    epoch: int
    step: int
    losses: dict[int, Tensor]
    norms: dict[int, Tensor] = field(default_factory=dict)


class Group:
    """Trains `specs` together; `work` holds their checkpoints until the results are stored.

    `built`: the same runs with what their parents found in its place (`with_layers`). `start`: the
    run that all of them start from, and its artefact. Raises Damaged, as `train` does, where `work`
    holds files that it cannot continue from.
    """

    def __init__(
        self,
        specs: Sequence[RunSpec],
        encoder: Encoder,
        data: TaskData,
        settings: Settings,
        work: Path,
        report: Report = lambda event: None,
        built: Sequence[RunSpec] | None = None,
        start: Start | None = None,
    ) -> None:
        self.specs, self.data = list(built or specs), data
        self.settings, self.work, self.report = settings, work, report
        self.lead, recipe = specs[0], specs[0].recipe
        self.lengths = [len(example.input_ids) for example in data.training]
        passing = -(-len(self.lengths) // recipe.batch_size)
        self.steps_an_epoch = recipe.look_steps or passing
        self.steps = recipe.steps or self.steps_an_epoch * recipe.epochs
        self._checkpoint = Checkpoint.read(work)
        self.members = [
            Member(spec, own, run_key(spec), HistoryFile(work / f"history-{run_key(spec)}.jsonl"))
            for spec, own in zip(specs, self.specs, strict=True)
        ]
        shared = self.specs, encoder, settings.device, self.steps, start, settings.compiled
        self.cohorts = [Cohort(members, *shared) for members in self._partition()]
        self.feed = Feed(self.cohorts, encoder, data, settings)
        self.step = 0
        self._waiting: list[Taken] = []
        self.evaluated = 0
        self.trained_tokens = 0
        self.seconds = 0.0
        self.resumes = 0
        self._since = time.monotonic()

    # -- the loop ----------------------------------------------------------------------------

    def train(self) -> None:
        """Trains and evaluates to the end, from the last checkpoint where there is one.

        Raises Stopped, after a checkpoint, once the settings say that it is to stop.
        """
        self._resume()
        if self.settings.keeps_states and not self._finished:
            self.feed.keep_states(partial(self._tell_batch, {"event": "encoding"}))
        if self.settings.device.type == "cuda":
            self._probe()
        saved = time.monotonic()
        for epoch in range(self.evaluated + 1, self.lead.recipe.epochs + 1):
            orders = self._orders(epoch)
            before = (epoch - 1) * self.steps_an_epoch
            last = min(self.steps_an_epoch, self.steps - before)
            for number in range(self.step - before, last):
                self._train_step(epoch, {seed: orders[seed][number] for seed in orders})
                stopping = self.settings.stopping()
                if stopping or self._due(saved):
                    self.save()
                    saved = time.monotonic()
                if stopping:
                    raise Stopped
            self._finish_epoch(epoch)

    def _seeds(self) -> list[tuple[int, RunSpec]]:
        """Every seed of the group, with a run that has it."""
        return list({spec.seed: spec for spec in self.specs}.items())

    def _probe(self) -> None:
        """Takes the largest batch of training and the largest of scoring once, and forgets them:
        where memory does not suffice for them, it runs out now and not after hours.
        """
        states = [{n: t.clone() for n, t in cohort.state().items()} for cohort in self.cohorts]
        every = (
            {seed: order[number] for seed, order in orders.items()}
            for orders in map(self._orders, range(self.evaluated + 1, self.lead.recipe.epochs + 1))
            for number in range(self.steps_an_epoch)
        )
        lengths = np.asarray(self.lengths)
        worst = max(
            every, key=lambda batch: sum(lengths[rows].max() * len(rows) for rows in batch.values())
        )
        size = len(next(iter(worst.values())))
        places = self.feed.micro_batches(size)[0]
        part = {s: [self.data.training[i] for i in rows[places]] for s, rows in worst.items()}
        for cohort in self.cohorts:
            cohort.prepare(self.step + 1)
        for cohort, inputs, targets in self.feed.inputs(part, training=True):
            cohort.accumulate(inputs, targets, 1.0)
            cohort.parameters.adds = False
        scored = self.data.evaluation
        batches = length_sorted(scored, self._evaluation_tokens())
        largest = max(batches, key=lambda rows: len(rows) * len(scored[rows[0]].input_ids))
        part = {seed: [scored[i] for i in largest] for seed, _ in self._seeds()}
        for cohort, inputs, _ in self.feed.inputs(part, training=False):
            cohort.evaluate(inputs)
        for cohort, state in zip(self.cohorts, states, strict=True):
            cohort.load_state(state)

    def _orders(self, epoch: int) -> dict[int, list[NDArray[np.int64]]]:
        """Each seed's batches of an epoch."""
        if self.lead.recipe.look_steps is None:
            return {seed: epoch_order(run, epoch, self.lengths) for seed, run in self._seeds()}
        tasks = [example.task for example in self.data.training]
        return {seed: drawn_order(run, epoch, tasks) for seed, run in self._seeds()}

    def _train_step(self, epoch: int, batch: dict[int, NDArray[np.int64]]) -> None:
        """One step of every member; `batch` holds each seed's examples."""
        self.step += 1
        for cohort in self.cohorts:
            cohort.prepare(self.step)
        device = self.settings.device
        taken = Taken(
            epoch,
            self.step,
            {c.members[0]: torch.zeros(len(c.members), device=device) for c in self.cohorts},
        )
        size = len(next(iter(batch.values())))
        for places in self.feed.micro_batches(size):
            part = {
                seed: [self.data.training[i] for i in order[places]]
                for seed, order in batch.items()
            }
            self.trained_tokens += sum(len(e.input_ids) for rows in part.values() for e in rows)
            share = (places.stop - places.start) / size
            for cohort, inputs, targets in self.feed.inputs(part, training=True):
                taken.losses[cohort.members[0]] += cohort.accumulate(inputs, targets, share)
        for cohort in self.cohorts:
            if cohort.trains:
                taken.norms[cohort.members[0]] = cohort.optimizer.step(self.step)
        self._waiting.append(taken)
        if len(self._waiting) >= FETCHED_AFTER[device.type]:
            self._fetch()

    def _fetch(self) -> None:
        """Logs the steps whose losses are still on the device, as if each had been at once.

        A run that diverged at one of them took the others for nothing: they have no line.
        """
        waiting, self._waiting = self._waiting, []
        if not waiting:
            return
        last: dict[str, float] = {}
        for cohort in (cohort for cohort in self.cohorts if cohort.trains):
            first = cohort.members[0]
            losses = torch.stack([taken.losses[first] for taken in waiting]).cpu()
            norms = torch.stack([taken.norms[first] for taken in waiting]).cpu()
            for number, taken in enumerate(waiting):
                self._log(cohort, taken, losses[number], norms[number])
            for run, index in enumerate(cohort.members):
                if self.members[index].diverged_at is None:
                    last[self.members[index].key] = float(losses[-1][run])
        steps = {"epoch": waiting[-1].epoch, "step": self.step, "steps": self.steps}
        self.report({"event": "step", **steps, "losses": last})

    def _log(self, cohort: Cohort, taken: Taken, losses: Tensor, norms: Tensor) -> None:
        """One history line a run; a loss or a gradient that is not finite ends the run."""
        for run, index in enumerate(cohort.members):
            member = self.members[index]
            if member.diverged_at is not None:
                continue
            if not bool(torch.isfinite(losses[run]) and torch.isfinite(norms[run]).all()):
                self._diverge(member, taken.step)
                continue
            line = {"epoch": taken.epoch, "step": taken.step, "loss": float(losses[run])}
            member.history.append(line | {"gradient_norm": norms[run].tolist()})

    def _tell_batch(self, event: dict[str, Any], done: int, every: int) -> None:
        self.report(event | {"batch": done, "batches": every})

    # -- evaluation ---------------------------------------------------------------------------

    def _finish_epoch(self, epoch: int) -> None:
        """Scores the epoch, keeps the weights that are to be kept, saves."""
        self._fetch()
        if self.evaluated >= epoch:
            return
        last = epoch == self.lead.recipe.epochs
        best = self.lead.recipe.keep != "last"
        if best or not last:
            for member, collector in self._evaluate(epoch, self.data.watched):
                self._score(member, collector, epoch)
                if best:
                    self._keep_best(member, epoch)
        if last:
            self._score_artefacts(epoch)
        self.evaluated = epoch
        self.save()

    def _evaluate(self, epoch: int, count: int) -> list[tuple[Member, Collector]]:
        """Every member's outputs for the first `count` evaluation examples, with the parameters as
        they stand; diverged ones are left out.
        """
        examples = self.data.evaluation[:count]
        collectors = [self.data.collector() for _ in self.members]
        batches = length_sorted(examples, self._evaluation_tokens())
        for number, indices in enumerate(batches, 1):
            rows = [examples[i] for i in indices]
            part = {seed: rows for seed, _ in self._seeds()}
            for cohort, inputs, _ in self.feed.inputs(part, training=False):
                outputs = cohort.evaluate(inputs).cpu().numpy()
                for run, index in enumerate(cohort.members):
                    self._collect(self.members[index], collectors[index], indices, outputs[run])
            self._tell_batch({"event": "evaluation", "epoch": epoch}, number, len(batches))
        pairs = zip(self.members, collectors, strict=True)
        return [(member, found) for member, found in pairs if member.diverged_at is None]

    def _evaluation_tokens(self) -> int:
        """Padded tokens of an evaluation batch, fewer where runs are stacked on rows of their own.

        It changes no score, only speed and memory.
        """
        stacked = [len(c.members) for c in self.cohorts if c.own_rows]
        return max(512, EVALUATION_TOKENS[self.settings.device.type] // max(stacked, default=1))

    def _collect(
        self, member: Member, collector: Collector, indices: list[int], outputs: NDArray[Any]
    ) -> None:
        """Hands a batch's outputs on; ones that are not finite end the run."""
        if member.diverged_at is None:
            try:
                collector.add(indices, outputs)
            except FloatingPointError:
                self._diverge(member, self.step)

    def _diverge(self, member: Member, step: int) -> None:
        member.diverged_at = step
        self.report({"event": "diverged", "run": member.key, "step": step})

    def _score(
        self, member: Member, collector: Collector, epoch: int, *, kept: bool = False
    ) -> None:
        """`kept`: scored again from the weights of an earlier look."""
        scores = collector.scores(epoch)
        member.scores = [score for score in member.scores if score["epoch"] != epoch] + scores
        told = self.data.headline(scores)
        member.history.append({"epoch": epoch, "step": self.step, "scores": told})
        event = {"event": "scored", "run": member.key, "epoch": epoch, "scores": told}
        self.report(event | {"kept": kept})

    def _keep_best(self, member: Member, epoch: int) -> None:
        """Writes the member's weights where no earlier epoch was better, or as good where ties go
        to the first.
        """
        found = self.data.monitor([s for s in member.scores if s["epoch"] == epoch])
        reached = ge if member.spec.recipe.keep == "best" else gt
        if member.best is None or (found is not None and reached(found, member.best)):
            member.kept, member.best = epoch, found
            self._write_artefact(member)

    def _score_artefacts(self, epoch: int) -> None:
        """The final scores come from what is stored: written, read back, scored."""
        for member in self.members:
            if member.kept is None:
                self._write_artefact(member)
        for cohort in self.cohorts:
            for run, index in enumerate(cohort.members):
                member = self.members[index]
                if member.diverged_at is None:
                    self._unrestore(member, cohort, run)
                    cohort.load_artefact(run, read_artefact(member.artefact))
            cohort.learner.forget_inputs()
        for member, collector in self._evaluate(epoch, len(self.data.evaluation)):
            self._score(member, collector, member.kept or epoch, kept=member.kept is not None)
            write_json(member.predictions, collector.predictions())

    def _unrestore(self, member: Member, cohort: Cohort, run: int) -> None:
        """Puts the last epoch's values of what the method does not restore into the artefact."""
        kept = cohort.learner.unrestored
        if kept:
            path, last = member.artefact, cohort.artefact(run)
            last = {name: v for name, v in last.items() if name.rpartition(".")[2] in kept}
            write_artefact(path, read_artefact(path) | last)

    def _write_artefact(self, member: Member) -> None:
        cohort, run = self.place(member)
        write_artefact(member.artefact, cohort.artefact(run))

    def place(self, member: Member) -> tuple[Cohort, int]:
        """The cohort that trains the member, and its place there."""
        index = self.members.index(member)
        cohort = next(cohort for cohort in self.cohorts if index in cohort.members)
        return cohort, cohort.members.index(index)

    # -- checkpoints --------------------------------------------------------------------------

    def _due(self, saved: float) -> bool:
        every = self.settings.checkpoint_steps
        if every is not None:
            return self.step % every == 0
        return time.monotonic() - saved >= self.settings.checkpoint_seconds

    def save(self) -> None:
        """Writes a checkpoint: complete or absent."""
        self._fetch()
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
            "threads": torch.get_num_threads(),
            "evaluated": self.evaluated,
            "trained_tokens": self.trained_tokens,
            "cohorts": [cohort.members for cohort in self.cohorts],
            "members": [member.progress(finished=self._finished) for member in self.members],
        }
        Checkpoint(tensors, json.dumps(progress, allow_nan=False)).write(self.work)
        for member in self.members:
            member.forget_outdone()

    @property
    def _finished(self) -> bool:
        """The last epoch was scored."""
        return self.evaluated >= self.lead.recipe.epochs

    def _resume(self) -> None:
        checkpoint, self._checkpoint = self._checkpoint, None
        if checkpoint is None:
            for member in self.members:
                member.history.restart()
            return
        progress = json.loads(checkpoint.progress)
        torch.set_num_threads(progress["threads"])  # others add in another order
        self.step, self.evaluated = progress["step"], progress["evaluated"]
        self.trained_tokens = progress["trained_tokens"]
        self.seconds, self.resumes = progress["seconds"], progress["resumes"] + 1
        for member, stored in zip(self.members, progress["members"], strict=True):
            member.resume(stored, finished=self._finished)
        for number, cohort in enumerate(self.cohorts):
            lead = f"{number}."
            part = {n[len(lead) :]: t for n, t in checkpoint.tensors.items() if n.startswith(lead)}
            if _shapes(part) != _shapes(cohort.state()):
                raise Damaged(f"The checkpoint in {self.work} is of another device or version.")
            cohort.load_state(part)
        self.report({"event": "resumed", "step": self.step, "steps": self.steps})

    def _partition(self) -> list[list[int]]:
        """Which members train as one learner: those of the checkpoint, where there is one."""
        if self._checkpoint is not None:
            stored: list[list[int]] = json.loads(self._checkpoint.progress)["cohorts"]
            return stored
        mean = sum(self.lengths) / max(1, len(self.lengths))
        tokens = mean * self.lead.recipe.batch_size
        return cohorts_of(self.specs, self.settings.device.type, tokens)


def _shapes(tensors: dict[str, Tensor]) -> dict[str, torch.Size]:
    return {name: tensor.shape for name, tensor in tensors.items()}
