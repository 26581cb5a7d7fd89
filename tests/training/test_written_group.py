"""A run inside T5 that is cut short goes on with the same rows, dropout and numbers."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest
import torch
from group_samples import remains
from run_samples import RECIPE

from repro.backbones.load import Encoder, load_encoder
from repro.methods.t5 import HyperFormer, T5Adapters, T5FineTuning
from repro.spec import RunSpec, TextToText
from repro.spec.backbones import KNOWN, TINY_T5
from repro.spec.method import Method
from repro.tasks.data import TaskData
from repro.training.group import Group
from repro.training.member import Settings

CPU = torch.device("cpu")
SIZES = "seed=0,train=20,validation=12"
TASK = TextToText(
    tasks=("stsb", "cola"), source="generated", revisions={"stsb": SIZES, "cola": SIZES}
)
LOOKS, STEPS = 2, 3
METHODS: dict[str, Method] = {
    "fine-tuning": T5FineTuning(),
    "adapters": T5Adapters(reduction=8),
    "hyperformer": HyperFormer(generators="slot", reduction=8, task_embedding=12, projected=8),
    "hyperformer++": HyperFormer(generators="stack", reduction=8, task_embedding=8, projected=8),
}


class Cut(Exception):
    """Stands for a kill."""


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    return load_encoder(KNOWN[TINY_T5], {}, CPU)


@pytest.fixture(scope="module")
def data(encoder: Encoder) -> TaskData:
    return TASK.load(encoder.tokenizer)


def spec_of(method: Method, **more: Any) -> RunSpec:
    changes = {
        "epochs": LOOKS, "look_steps": STEPS, "keep": "first-best", "over_tokens": "sum",
        "learning_rate": 3e-3, **more,
    }  # fmt: skip
    return RunSpec(
        scale="smoke", backbone=KNOWN[TINY_T5], task=TASK, method=method,
        recipe=RECIPE.model_copy(update=changes), seed=1,
    )  # fmt: skip


def train(method: Method, encoder: Encoder, data: TaskData, work: Path, cut: int = -1) -> Group:
    """Trains in `work`, cut after step `cut`; every step is a checkpoint."""

    def report(event: dict[str, Any]) -> None:
        if event["event"] == "step" and event["step"] == cut + 1:
            raise Cut

    group = Group([spec_of(method)], encoder, data, Settings(CPU, checkpoint_steps=1), work, report)
    with contextlib.suppress(Cut):
        group.train()
    return group


@pytest.mark.parametrize("name", METHODS)
def test_a_resumed_run_equals_an_unbroken_one(
    name: str, encoder: Encoder, data: TaskData, tmp_path: Path
) -> None:
    method = METHODS[name]
    whole = remains(train(method, encoder, data, tmp_path / "whole"))
    for cut in (1, STEPS):
        work = tmp_path / str(cut)
        train(method, encoder, data, work, cut)
        torch.manual_seed(cut)  # another process has other numbers at hand
        resumed = train(method, encoder, data, work)
        assert resumed.resumes == 1
        assert remains(resumed) == whole


def test_frozen_weights_stay_and_every_trained_one_moves(
    encoder: Encoder, data: TaskData, tmp_path: Path
) -> None:
    before = {name: p.clone() for name, p in encoder.model.named_parameters()}
    for name, method in METHODS.items():
        spec = spec_of(method, keep="last", look_steps=8)  # both tasks come
        first, group = (
            Group([spec], encoder, data, Settings(CPU), tmp_path / name / part)
            for part in ("first", "trained")
        )
        group.train()
        pairs = zip(
            group.cohorts[0].learner.named_parameters(),
            first.cohorts[0].learner.named_parameters(),
            strict=True,
        )
        still = [parameter for (parameter, p), (_, q) in pairs if torch.equal(p, q)]
        assert not still, name
    for name, p in encoder.model.named_parameters():
        assert torch.equal(p, before[name])


def test_a_smaller_batch_at_a_time_changes_no_number_but_by_rounding(
    encoder: Encoder, data: TaskData, tmp_path: Path
) -> None:
    """Losses summed over tokens add up; without dropout, which is drawn for each part."""
    spec = spec_of(T5Adapters(reduction=8, dropout=0.0))
    groups = [
        Group([spec], encoder, data, Settings(CPU, micro_batch=size), tmp_path / str(size))
        for size in (4, 1)
    ]
    for group in groups:
        group.train()
    whole, parts = (group.cohorts[0].parameters.values for group in groups)
    torch.testing.assert_close(parts, whole, rtol=1e-3, atol=1e-4)


def test_a_summed_loss_in_four_parts_has_a_quarter_of_the_loss_and_of_the_gradient(
    encoder: Encoder, data: TaskData, tmp_path: Path
) -> None:
    """As four data-parallel cards give it: the mean of their sums, before the clip."""
    firsts = []
    for parts in (1, 4):
        spec = spec_of(T5Adapters(reduction=8), loss_parts=parts)
        group = Group([spec], encoder, data, Settings(CPU), tmp_path / str(parts))
        group.train()
        firsts.append(json.loads(group.members[0].history.read().splitlines()[0]))
    whole, quarter = firsts
    assert quarter["loss"] == pytest.approx(whole["loss"] / 4)
    assert quarter["gradient_norm"] == pytest.approx([n / 4 for n in whole["gradient_norm"]])
