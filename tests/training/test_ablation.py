"""A trained run whose adapters are switched off by spans is scored as it was trained."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from inside_groups import adapters, data_of, inside_group, inside_spec
from tiny_models import tiny_encoder

from repro.spec import RunSpec
from repro.spec.spans import INTACT, all_spans, span_group
from repro.training.ablation import TrainedRun
from repro.training.checkpoint import read_artefact

METRICS = {"matthews", "accuracy", "majority_share"}


def ablated(spec: RunSpec, work: Path) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The trained run's own scores at the epoch that it kept, and those of every span."""
    made = inside_group([spec], work)
    [member] = made.members
    epoch = member.kept or spec.recipe.epochs
    own = [score for score in member.scores if score["epoch"] == epoch]
    tensors = read_artefact(member.artefact)
    device = torch.device("cpu")
    events: list[dict[str, Any]] = []
    run = TrainedRun(spec, tensors, epoch, tiny_encoder(3), data_of(), device, events.append)
    scores = run.spans()
    assert events[-1]["batch"] == events[-1]["batches"] == len(events)
    return own, scores


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_the_intact_model_has_the_scores_of_the_epoch_that_was_kept(
    precision: str, tmp_path: Path
) -> None:
    spec = inside_spec(
        adapters(size=8),
        recipe__epochs=3,
        recipe__keep="best",
        recipe__learning_rate=3e-3,
        recipe__precision=precision,
    )
    own, scores = ablated(spec, tmp_path)
    intact = [score for score in scores if score["group"] == INTACT]
    assert [{**score, "group": "ALL"} for score in intact] == own
    groups = {INTACT, *map(span_group, all_spans(3))}
    assert len(groups) == 7
    assert {(s["group"], s["metric"]) for s in scores} == {(g, m) for g in groups for m in METRICS}


def test_adapters_that_do_nothing_can_be_switched_off(tmp_path: Path) -> None:
    spec = inside_spec(adapters(init_std=1e-12), recipe__learning_rate=1e-12)
    _, scores = ablated(spec, tmp_path)
    for metric in METRICS:
        values = [score["value"] for score in scores if score["metric"] == metric]
        assert values == [values[0]] * 7
