"""Runs of one method trained as one stacked learner.

The members of a cohort see the same data in the same order; rate, clip and loss weights are each
run's own. A cohort of one is the ordinary case.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from repro.backbones.load import Encoder
from repro.methods import build
from repro.methods.learner import Inputs, Learner
from repro.methods.randomness import Dropout, generator
from repro.spec import RunSpec, canonical_json
from repro.spec.identity import identity_fields
from repro.spec.types import FullFineTuning
from repro.training.flat import FlatParameters
from repro.training.optimizer import AdamW

OWN = ("learning_rate", "clip_norm", "start_weight", "end_weight")
"""Recipe fields in which the members of a cohort may differ."""


@dataclass(frozen=True, slots=True)
class StepLosses:
    """What one step says of each run: tensors (runs,), and gradient norms (runs, stacks)."""

    loss: Tensor
    norm: Tensor


class Cohort:
    """`members` are indices into the group's runs, in the order of the learner's run axis."""

    def __init__(
        self,
        members: list[int],
        specs: Sequence[RunSpec],
        encoder: Encoder,
        device: torch.device,
        steps: int,
    ) -> None:
        self.members, self.specs = members, [specs[i] for i in members]
        self.recipe = self.specs[0].recipe
        self.device = device
        self.learner: Learner = build(self.specs[0], len(members), encoder)
        self.learner.initialise([generator("cpu", "init", s.seed) for s in self.specs])
        self.learner.to(device)
        self.parameters = FlatParameters(self.learner)
        recipes = [s.recipe for s in self.specs]
        self.optimizer = AdamW(self.parameters, recipes, steps)
        self.dropout = Dropout([generator(device, "dropout", s.seed) for s in self.specs])
        self.weights = torch.tensor(
            [(r.start_weight, r.end_weight) for r in recipes], device=device
        )  # (runs, 2)

    @property
    def trains(self) -> bool:
        """It has parameters at all."""
        return self.parameters.values.numel() > 0

    def accumulate(self, inputs: Inputs, targets: Tensor, share: float) -> Tensor:
        """Adds the gradients of a (micro-)batch that is `share` of the whole batch.

        `targets` is (2, batch). Returns the share's losses (runs,), detached.
        """
        self.learner.train()
        self.dropout.active = True
        losses = self.losses(self.scores(inputs), targets) * share
        self.parameters.accumulate(losses.sum())
        return losses.detach()

    def scores(self, inputs: Inputs) -> Tensor:
        """Start and end scores (runs, 2, batch, length) in fp32."""
        bf16 = self.recipe.precision == "bf16"
        with torch.autocast(self.device.type, torch.bfloat16, enabled=bf16):
            scores: Tensor = self.learner(inputs, self.dropout)
        return scores.float()

    def losses(self, scores: Tensor, targets: Tensor) -> Tensor:
        """Weighted sum of start and end cross-entropy, mean over the batch: (runs,)."""
        if self.recipe.logit_clamp is not None:
            scores = scores.clamp(*self.recipe.logit_clamp)
        runs, both, batch, length = scores.shape
        wanted = targets.unsqueeze(0).expand(runs, -1, -1).flatten()
        entropy = F.cross_entropy(scores.reshape(-1, length), wanted, reduction="none")
        return (entropy.view(runs, both, batch).mean(2) * self.weights).sum(1)

    def evaluate(self, inputs: Inputs) -> Tensor:
        """Scores (runs, 2, batch, length) in eval mode, without gradient."""
        self.learner.eval()
        self.dropout.active = False
        with torch.no_grad():
            return self.scores(inputs)

    # -- what a checkpoint and an artefact hold ------------------------------------------------

    def state(self) -> dict[str, Tensor]:
        """Everything that the next step depends on, by name, on the CPU."""
        state = {
            "values": self.parameters.values,
            "first": self.optimizer.first,
            "second": self.optimizer.second,
        }
        state |= {f"buffer.{name}": value for name, value in self._buffers().items()}
        for run, stream in enumerate(self.dropout.generators):
            state[f"dropout.{run}"] = stream.get_state()
        return {name: value.detach().cpu().clone() for name, value in state.items()}

    def load_state(self, state: dict[str, Tensor]) -> None:
        """Puts back what `state` gave."""
        self.parameters.values.copy_(state["values"])
        self.optimizer.first.copy_(state["first"])
        self.optimizer.second.copy_(state["second"])
        for name, value in self._buffers().items():
            value.copy_(state[f"buffer.{name}"])
        for run, stream in enumerate(self.dropout.generators):
            stream.set_state(state[f"dropout.{run}"])

    def artefact(self, run: int) -> dict[str, Tensor]:
        """What run `run` of the cohort trained: parameters and statistics, (stacks, ...) each."""
        tensors = dict(self.learner.named_parameters()) | self._buffers()
        return {
            name: (value[run] if self.learner.stacked else value).detach().cpu().contiguous()
            for name, value in tensors.items()
        }

    def load_artefact(self, run: int, tensors: dict[str, Tensor]) -> None:
        """Puts an artefact in place of run `run`."""
        own = dict(self.learner.named_parameters()) | self._buffers()
        with torch.no_grad():
            for name, value in own.items():
                (value[run] if self.learner.stacked else value).copy_(tensors[name])

    def _buffers(self) -> dict[str, Tensor]:
        """Statistics that training moves; an encoder's constant buffers are not among them."""
        return dict(self.learner.named_buffers()) if self.learner.stacked else {}


def cohorts_of(specs: Sequence[RunSpec]) -> list[list[int]]:
    """Groups the runs that one stacked learner can train, in order of their first member."""
    found: dict[str, list[int]] = {}
    for index, spec in enumerate(specs):
        recipe = {k: v for k, v in identity_fields(spec.recipe).items() if k not in OWN}
        alone = index if isinstance(spec.method, FullFineTuning) else None
        label = canonical_json([identity_fields(spec.method), recipe, spec.seed, alone])
        found.setdefault(label, []).append(index)
    return list(found.values())
