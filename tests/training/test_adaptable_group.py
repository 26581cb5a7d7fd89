"""Training adaptable adapters: which epoch is kept, with which switches; what moves; resuming."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from group_samples import group_of, remains
from inside_groups import data_of, inside_spec
from torch import Tensor

from repro.methods.adaptable_adapters import AdaptableAdapters
from repro.spec import RunSpec
from repro.training.checkpoint import read_artefact
from repro.training.group import Group

EPOCHS = 4


def adaptable(**changes: Any) -> AdaptableAdapters:
    fields: dict[str, Any] = {
        "size": 4, "activation": "rational", "switch": "as-run", "pooler": "trained",
    }  # fmt: skip
    return AdaptableAdapters(**(fields | changes))


def spec(method: AdaptableAdapters, keep: str = "first-best", seed: int = 0) -> RunSpec:
    changes: dict[str, Any] = {
        "recipe__keep": keep, "recipe__epochs": EPOCHS, "recipe__learning_rate": 1e-2,
        "recipe__switch_rate": 0.05, "recipe__rational_rate": 0.01, "recipe__batch_size": 12,
    }  # fmt: skip
    return inside_spec(method, seed, **changes)


def train(specs: list[RunSpec], work: Path, monitored: list[float] | None = None) -> Group:
    """A trained group; `monitored` are the numbers that pick the epoch, one an epoch."""
    group = group_of(specs, work, data=data_of())
    if monitored is not None:
        group.data = Monitored(group.data, monitored)
    group.train()
    return group


class Monitored:
    """The task's data, but for the number that picks the epoch."""

    def __init__(self, data: Any, monitored: list[float]) -> None:
        self.data, self.monitored = data, monitored

    def __getattr__(self, name: str) -> Any:
        return getattr(self.data, name)

    def monitor(self, scores: list[dict[str, Any]]) -> float | None:
        epoch: int = scores[0]["epoch"]
        return self.monitored[epoch - 1]


def artefact(group: Group) -> dict[str, Tensor]:
    return read_artefact(group.members[0].artefact)


@pytest.mark.parametrize(("keep", "kept"), [("best", 3), ("first-best", 2)])
def test_ties_go_to_the_later_or_to_the_first_epoch(keep: str, kept: int, tmp_path: Path) -> None:
    group = train([spec(adaptable(), keep)], tmp_path, [10.0, 30.0, 30.0, 20.0])
    assert group.members[0].kept == kept


def test_restored_switches_are_the_kept_epochs_or_the_last_ones(tmp_path: Path) -> None:
    """Second epoch kept: its adapters, with its own switches or, as released, the fourth's."""
    monitored = [10.0, 30.0, 20.0, 20.0]
    own = artefact(train([spec(adaptable())], tmp_path / "own", monitored))
    late = artefact(train([spec(adaptable(restored="last"))], tmp_path / "late", monitored))
    last = artefact(train([spec(adaptable(), "last")], tmp_path / "last"))
    switches = [name for name in own if name.endswith("logits")]
    assert len(switches) == 3
    for name in own:
        if name in switches:
            assert torch.equal(late[name], last[name])
        else:
            assert torch.equal(late[name], own[name])
    assert any(not torch.equal(own[name], last[name]) for name in switches)
    assert any(not torch.equal(own[name], last[name]) for name in own if name not in switches)


def test_everything_that_trains_moves_from_a_constant_activation(tmp_path: Path) -> None:
    """At R = 1 the down projection has no gradient at first; coefficients and W_up have."""
    group = group_of([spec(adaptable(), "last")], tmp_path, data=data_of())
    before = {n: t.clone() for n, t in group.cohorts[0].artefact(0).items()}
    group.train()
    for name, after in artefact(group).items():
        moved = (after != before[name]).double().mean()
        assert moved == 1.0 if "rational" in name or "logits" in name else moved > 0.5, name


@pytest.mark.parametrize("cut", [3, 6])
def test_a_cut_group_goes_on_as_if_nothing_had_happened(cut: int, tmp_path: Path) -> None:
    """Noise of switches and dropped layers included."""
    specs = [
        spec(adaptable(dropout=0.1)),
        spec(adaptable(activation="relu", switch="none", drops=2)),
    ]
    whole = group_of(specs, tmp_path / "whole", data=data_of(), checkpoint_steps=1)
    whole.train()

    def report(event: dict[str, Any]) -> None:
        if event["event"] == "step" and event["step"] == cut:
            raise KeyboardInterrupt

    broken = group_of(specs, tmp_path / "cut", data=data_of(), checkpoint_steps=1, report=report)
    with pytest.raises(KeyboardInterrupt):
        broken.train()
    resumed = group_of(specs, tmp_path / "cut", data=data_of(), checkpoint_steps=1)
    resumed.train()
    assert remains(resumed) == remains(whole)


def test_runs_of_a_group_say_what_they_selected_and_learned(tmp_path: Path) -> None:
    specs = [spec(adaptable()), spec(adaptable(activation="relu", switch="none", layers=(0, 2)))]
    group = train(specs, tmp_path)
    aa, plain = group.members
    tensors = artefact(group)
    logits = {n.split(".")[1]: t[0] for n, t in tensors.items() if n.endswith("logits")}
    (one, first), (two, second) = map(group.place, (aa, plain))
    selected = [int(n) for n, pair in logits.items() if pair[1] > pair[0]]
    assert one.learner.selected(first) == selected
    assert two.learner.selected(second) == [0, 2]
    assert two.learner.activations(second) == {}
    learned = one.learner.activations(first)[1]
    assert learned.numerator == tensors["adaptable.1.rational.numerator"][0].tolist()
    assert learned.low < learned.high
