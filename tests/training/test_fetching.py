"""Losses stay on the device until many are fetched: no step waits for it, no number changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from group_samples import FIVE_ROWS, group_of, remains, spec_of
from inside_groups import adapters, data_of, inside_spec
from torch.utils._python_dispatch import TorchDispatchMode

from repro.training import feed
from repro.training import group as group_module
from repro.training.group import Group

ASKED = ("_local_scalar_dense", "nonzero", "is_nonzero", "equal", "unique")
"""Operations of torch whose result the host needs, so that it waits for the device."""


class Refused(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Refuses what would make the host wait, but for what is made of a batch on the host."""

    on_host = 0

    def refusing(self, name: str, call: Any) -> Any:
        """A tensor's method, refused while the mode is on."""

        def checked(*args: Any, **more: Any) -> Any:
            if torch.utils._python_dispatch._get_current_dispatch_mode() and not self.on_host:
                raise AssertionError(f"{name} waits for the device")
            return call(*args, **more)

        return checked

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func.__name__.partition(".")[0]
        if name in ASKED and not self.on_host:
            raise AssertionError(f"{name} waits for the device")
        return func(*args, **(kwargs or {}))


@pytest.fixture
def refused(monkeypatch: pytest.MonkeyPatch) -> Refused:
    """What a batch is made of, its layout included, is on the host in any case."""
    mode = Refused()  # type: ignore[no-untyped-call]
    for name in ("item", "tolist", "cpu", "numpy", "__bool__", "__int__", "__float__"):
        monkeypatch.setattr(torch.Tensor, name, mode.refusing(name, getattr(torch.Tensor, name)))
    for place, name in ((feed, "collate"), (feed, "placed")):
        call = getattr(place, name)

        def on_host(*args: Any, call: Any = call, **more: Any) -> Any:
            mode.on_host += 1
            try:
                return call(*args, **more)
            finally:
                mode.on_host -= 1

        monkeypatch.setattr(place, name, on_host)
    return mode


def made_of(kind: str, work: Path, **options: Any) -> Group:
    """A group that is not trained yet; one of the adapters' runs will diverge."""
    if kind == "cells":
        return group_of([spec_of(row) for row in FIVE_ROWS], work, **options)
    wild: dict[str, Any] = {"recipe__learning_rate": 1e30, "recipe__clip_norm": None}
    specs = [inside_spec(adapters(), seed) for seed in (0, 1)]
    specs.append(inside_spec(adapters(), 2, **wild))
    return group_of(specs, work, data=data_of(), **options)


@pytest.mark.parametrize("kind", ["cells", "adapters"])
def test_a_step_asks_the_device_for_nothing(
    kind: str, tmp_path: Path, refused: Refused, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(group_module.FETCHED_AFTER, "cpu", 1_000)
    made = made_of(kind, tmp_path)
    orders = made._orders(1)
    with refused:
        for number in range(3):
            made._train_step(1, {seed: rows[number] for seed, rows in orders.items()})
        with pytest.raises(AssertionError, match="waits"):
            bool(torch.ones(1) > 0)
    made._fetch()
    assert len(made.members[0].history.read().splitlines()) == 3


@pytest.mark.parametrize("kind", ["cells", "adapters"])
def test_fetching_seven_steps_at_once_leaves_the_same_behind(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Divergence is found later and noted where it was; a checkpoint between holds all."""
    events: list[dict[str, Any]] = []
    one = made_of(kind, tmp_path / "one", checkpoint_steps=5, report=events.append)
    one.train()
    monkeypatch.setitem(group_module.FETCHED_AFTER, "cpu", 7)
    heard: list[dict[str, Any]] = []
    many = made_of(kind, tmp_path / "many", checkpoint_steps=5, report=heard.append)
    many.train()
    assert remains(many) == remains(one)
    wild = [event for event in events if event["event"] == "diverged"]
    assert [event for event in heard if event["event"] == "diverged"] == wild
    assert bool(wild) is (kind == "adapters")
    steps = [event["step"] for event in heard if event["event"] == "step"]
    assert steps[-1] == many.steps
    assert len(steps) < many.steps
