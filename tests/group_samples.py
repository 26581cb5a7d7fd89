"""Groups on the tiny BERT, and what their training leaves behind."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import torch
from run_samples import cells, run_spec
from tiny_models import tiny_data, tiny_encoder
from torch import Tensor

from repro.backbones.load import Encoder
from repro.spec import RunSpec
from repro.spec.method import Method
from repro.tasks.data import TaskData
from repro.training.group import Group
from repro.training.member import Settings
from repro.training.optimizer import AdamW

FIVE_ROWS: tuple[Method, ...] = (
    cells("plain", "relu"),
    cells("resnet", "relu"),
    cells("plain", "attention"),
    cells("resnet", "attention"),
    cells("resnext", "attention"),
)


def spec_of(method: Method, **changes: Any) -> RunSpec:
    """A run on the tiny BERT of three layers."""
    return run_spec(method, **({"backbone__layers": 3} | changes))


def group_of(
    specs: Sequence[RunSpec],
    work: Path,
    *,
    encoder: Encoder | None = None,
    data: TaskData | None = None,
    report: Callable[[dict[str, Any]], None] = lambda event: None,
    **settings: Any,
) -> Group:
    """A group whose checkpoints only fall after epochs, unless `settings` say otherwise."""
    chosen = {"checkpoint_seconds": 1e9} | settings
    made = Settings(torch.device("cpu"), **chosen)
    model = encoder or tiny_encoder(specs[0].backbone.layers)
    return Group(specs, model, data or tiny_data(), made, work, report)


def trained(specs: Sequence[RunSpec], work: Path, **options: Any) -> Group:
    """The same group after its training."""
    group = group_of(specs, work, **options)
    group.train()
    return group


def losses(group: Group, member: int = 0) -> list[float]:
    """The member's loss at every step, as its history says."""
    lines = [json.loads(line) for line in group.members[member].history.read().splitlines()]
    return [line["loss"] for line in lines if "loss" in line]


def remains(group: Group) -> dict[str, bytes]:
    """Everything of the group's members that is stored, as bytes by name."""
    found = {}
    for number, member in enumerate(group.members):
        found[f"{number} history"] = member.history.read()
        found[f"{number} scores"] = json.dumps(member.scores).encode()
        found[f"{number} diverged"] = str(member.diverged_at).encode()
        for name, path in (
            ("predictions", member.predictions),
            ("adapter", member.artefact),
        ):
            found[f"{number} {name}"] = path.read_bytes() if path.exists() else b"absent"
    found["tokens"] = str(group.trained_tokens).encode()
    return found


@dataclass
class Watched:
    """The gradients (runs, stacks, size) that each optimizer met, step by step."""

    gradients: dict[int, list[Tensor]] = field(default_factory=dict)

    def of(self, group: Group, member: int) -> list[Tensor]:
        """The member's own gradients: (stacks, size) a step."""
        for cohort in group.cohorts:
            if member in cohort.members:
                run = cohort.members.index(member)
                return [step[run] for step in self.gradients[id(cohort.optimizer)]]
        raise KeyError(member)


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Watched:
    """Records what every optimizer is given from now on."""
    record, step = Watched(), AdamW.step

    def watching(self: AdamW, number: int) -> Tensor:
        record.gradients.setdefault(id(self), []).append(self.parameters.gradients.clone())
        return step(self, number)

    monkeypatch.setattr(AdamW, "step", watching)
    return record


def same(found: Tensor, expected: Tensor) -> None:
    """To 1e-5 of the largest number."""
    scale = float(expected.abs().max())
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5 * scale)


def compare(watched: Watched, together: Group, alone: list[Group], steps: int) -> None:
    """Losses and gradients of every member, over the first steps."""
    for member, own in enumerate(alone):
        pairs = zip(watched.of(together, member), watched.of(own, 0), strict=True)
        for found, expected in list(pairs)[:steps]:
            same(found, expected)
        for loss, expected_loss in list(zip(losses(together, member), losses(own), strict=True))[
            :steps
        ]:
            assert loss == pytest.approx(expected_loss, rel=1e-5)
