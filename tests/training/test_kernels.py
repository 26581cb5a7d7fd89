"""What a training step would launch on a GPU, counted through the dispatcher."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from group_samples import group_of
from inside_groups import adapters, data_of, inside_spec
from tiny_models import tiny_bert

from repro.backbones.load import Encoder
from repro.methods.lora import LoRA
from repro.training.kernels import Kernels


def test_work_is_counted_and_views_and_reservations_are_not() -> None:
    x, y = torch.ones(4, 6), torch.ones(6)
    with Kernels() as kernels:
        x.view(2, 12)[0].unsqueeze(1).expand(-1, 3).t().detach()
        torch.empty(3)
        assert kernels.total() == 0
        (x * y).add_(1)  # a product, and a sum in place
        torch._foreach_add_([x, x], [x, x])  # one over a list
        x.t().contiguous()  # moves memory
    assert kernels.calls == {"mul": 1, "add_": 1, "_foreach_add_": 1, "clone": 1}


# Before: 586, 743 and 671, counted the same way (benchmarks/kernels.py, MiniLM's six layers)
STEPS: dict[str, tuple[Any, int]] = {
    "pfeiffer": (adapters(placement="pfeiffer", nonlinearity="relu", norms="none"), 314),
    "houlsby": (adapters(), 397),
    "lora": (LoRA(), 407),
}


@pytest.mark.parametrize("name", STEPS)
def test_a_step_of_six_layers_launches_no_more_kernels_than_it_did(
    name: str, tmp_path: Path
) -> None:
    method, most = STEPS[name]
    spec = inside_spec(method, backbone__layers=6, recipe__clip_norm=None)
    encoder = Encoder(tiny_bert(6), None, torch.nn.Linear(32, 32).requires_grad_(False))
    made = group_of([spec], tmp_path, data=data_of(), encoder=encoder)
    [cohort] = made.cohorts
    rows = {0: list(made.data.training[:8])}
    [(_, inputs, targets)] = made.feed.inputs(rows, training=True)
    cohort.accumulate(inputs, targets, 1.0)
    cohort.optimizer.step(1)
    with Kernels() as kernels:
        cohort.accumulate(inputs, targets, 1.0)
        cohort.optimizer.step(2)
    assert kernels.total() <= most
