"""Runs of one method trained as one stacked learner.

Rate, clip and loss weights are each run's own. Runs that read the frozen encoder's states share a
seed and so their batches; runs with an encoder of their own may differ in seed, too. A cohort of
one is the ordinary case.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from repro.backbones.load import Encoder
from repro.methods.modules.learner import Inputs, Learner
from repro.methods.modules.randomness import Dropout, generator
from repro.spec import RunSpec, canonical_json
from repro.spec.identity import identity_fields
from repro.training.environment import matrix_products
from repro.training.graphs import Graphs
from repro.training.optimizer import AdamW, FlatParameters

Start = tuple[RunSpec, dict[str, Tensor]]
"""A run that others start from, and its artefact."""
OWN = ("learning_rate", "switch_rate", "rational_rate", "clip_norm", "start_weight", "end_weight")
"""Recipe fields in which the members of a cohort may differ."""
STACKED_TOKENS = {"cpu": 1024, "cuda": 16_384}
"""Tokens of a step up to which runs with rows of their own are stacked.

A CPU's cores are busy at that size; on a GPU stacking hides the launches of kernels.
"""


class Cohort:
    """`members` are indices into the group's runs, in the order of the learner's run axis."""

    def __init__(
        self,
        members: list[int],
        specs: Sequence[RunSpec],
        encoder: Encoder,
        device: torch.device,
        steps: int,
        start: Start | None = None,
        compiled: bool = False,
    ) -> None:
        self.members, self.specs = members, [specs[i] for i in members]
        self.recipe = self.specs[0].recipe
        self.device = device
        self.own_rows = self.specs[0].method.own_rows
        self.learner: Learner = self.specs[0].learner(len(members), encoder)
        self.learner.initialise([generator("cpu", "init", s.seed) for s in self.specs])
        if start is not None:
            self.learner.start_from(*start)
        self.learner.to(device)
        self.parameters = FlatParameters(self.learner)
        recipes = [s.recipe for s in self.specs]
        self.optimizer = AdamW(self.parameters, recipes, steps)
        self.dropout = Dropout([generator(device, "dropout", s.seed) for s in self.specs])
        self.loss = loss_of(self.specs, device)
        self.graphs: Graphs | None = None
        if compiled and self.learner.replayable:
            self.graphs = Graphs(self.learner, self.dropout, self.parameters, self._learn)

    @property
    def trains(self) -> bool:
        """It has parameters at all."""
        return self.parameters.values.numel() > 0

    def prepare(self, step: int) -> None:
        """Draws what holds for a whole step (from 1)."""
        self.learner.prepare(step, [spec.seed for spec in self.specs])

    def accumulate(self, inputs: Inputs, targets: Tensor, share: float) -> Tensor:
        """Adds the gradients of a (micro-)batch that is `share` of the whole batch.

        `targets` is (runs or 1, batch, ...). Returns the share's losses (runs,), detached.
        """
        self.learner.train()
        self.dropout.active = True
        weight = 1 / self.recipe.loss_parts if self.recipe.over_tokens == "sum" else share
        if self.graphs is None:
            return self._learn(lambda: self.learner(inputs, self.dropout), targets, weight)
        return self.graphs(inputs, targets, weight)

    def _learn(self, outputs: Callable[[], Tensor], targets: Tensor, weight: float) -> Tensor:
        """The losses (runs,) of what `outputs` gives, detached; their gradients are added."""
        with matrix_products(self.recipe.precision, self.device):
            found = outputs()  # see `Learner.forward`
        losses = self.loss(found.float(), targets)
        if weight != 1:
            losses = losses * weight
        self.parameters.accumulate(losses.sum())
        return losses.detach()

    def evaluate(self, inputs: Inputs) -> Tensor:
        """What the task's scores read, in eval mode, without gradient: see `Learner.answer`."""
        self.learner.eval()
        self.dropout.active = False
        with torch.no_grad(), matrix_products(self.recipe.precision, self.device):
            answers = self.learner.answer(inputs, self.dropout)
        return answers.float() if answers.is_floating_point() else answers

    # -- what a checkpoint and an artefact hold ------------------------------------------------

    def state(self) -> dict[str, Tensor]:
        """Everything that the next step depends on, by name, on the CPU: no copies, where they are
        there already.
        """
        state = {
            "values": self.parameters.values,
            "first": self.optimizer.first,
            "second": self.optimizer.second,
        }
        state |= {f"buffer.{name}": value for name, value in self._buffers().items()}
        for run, stream in enumerate(self.dropout.generators):
            state[f"dropout.{run}"] = stream.get_state()
        return {name: value.detach().cpu() for name, value in state.items()}

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
        return {
            name: (value[run] if self.learner.stacked else value).detach().cpu().contiguous()
            for name, value in self._trained().items()
        }

    def load_artefact(self, run: int, tensors: dict[str, Tensor]) -> None:
        """Puts an artefact in place of run `run`."""
        with torch.no_grad():
            for name, value in self._trained().items():
                (value[run] if self.learner.stacked else value).copy_(tensors[name])

    def _trained(self) -> dict[str, Tensor]:
        """What training moves: parameters and statistics."""
        parameters = self.learner.named_parameters()
        return {name: p for name, p in parameters if p.requires_grad} | self._buffers()

    def _buffers(self) -> dict[str, Tensor]:
        """Statistics that training moves; an encoder's constant buffers are not among them."""
        return dict(self.learner.named_buffers()) if self.learner.stacked else {}


def loss_of(specs: Sequence[RunSpec], device: torch.device) -> Callable[[Tensor, Tensor], Tensor]:
    """The loss of runs of one task: outputs and targets -> (runs,)."""
    return specs[0].task.loss([spec.recipe for spec in specs], device)


def cohorts_of(specs: Sequence[RunSpec], device: str = "cpu", tokens: float = 0) -> list[list[int]]:
    """Groups the runs that one stacked learner can train, in order of their first member.

    `tokens` is what a run with rows of its own reads in a step of training.
    """
    found: dict[str, list[int]] = {}
    for index, spec in enumerate(specs):
        found.setdefault(_stack_of(index, spec), []).append(index)
    most = max(1, int(STACKED_TOKENS[device] // max(1.0, tokens)))
    return [
        members[i : i + size]
        for members in found.values()
        for size in [most if specs[members[0]].method.own_rows else len(members)]
        for i in range(0, len(members), size)
    ]


def _stack_of(index: int, spec: RunSpec) -> str:
    """Equal for runs that may share a learner."""
    recipe = {k: v for k, v in identity_fields(spec.recipe).items() if k not in OWN}
    alone = index if spec.method.trains_alone else None
    seed = None if spec.method.own_rows else spec.seed
    return canonical_json([identity_fields(spec.method), recipe, seed, alone])
