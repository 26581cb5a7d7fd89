"""Rehearsals: made-up models and inputs of the exact shape, through the code of a real run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from run_samples import TASK, run_spec
from tiny_models import minilm_tokenizer

from repro.engine.cost import (
    ASSUMED,
    Rehearsed,
    estimate,
    kind_of,
    store_rehearsed,
    stored_speed,
    typical_tokens,
)
from repro.engine.jobs import make_job
from repro.engine.rehearsal import Rows, kinds, made_up, random_encoder
from repro.methods.lora import LoRA
from repro.spec import GlueTask, RunSpec, TaggingTask, Task, run_key
from repro.spec.backbones import BERT_BASE, BERT_LARGE, KNOWN, ROBERTA_BASE, T5_BASE, T5_SMALL

RTE = GlueTask(name="rte", source="glue", revision=None)
COLA = GlueTask(name="cola", source="glue", revision=None)
SQUAD = TASK.model_copy(
    update={
        "source": "squad_v2",
        "train": "train",
        "evaluation": "official-dev",
        "revision": None,
        "max_length": 384,
        "stride": 128,
    }
)


def lora(task: Task = RTE, seed: int = 0, **changes: object) -> RunSpec:
    return run_spec(LoRA(), seed, task=task, **changes)


@pytest.mark.parametrize("id", [BERT_BASE, BERT_LARGE, ROBERTA_BASE, T5_SMALL, T5_BASE])
def test_the_model_has_the_exact_number_of_parameters(id: str) -> None:
    """109,482,240 of BERT-base and 60,506,624 of T5-small, as their cards have it."""
    with torch.device("meta"):
        made = random_encoder(KNOWN[id])
    parts = [made.model, *([made.pooler] if made.pooler is not None else [])]
    assert sum(p.numel() for part in parts for p in part.parameters()) == KNOWN[id].parameters
    printed = {BERT_BASE: 109_482_240, T5_SMALL: 60_506_624}
    assert KNOWN[id].parameters == printed.get(id, KNOWN[id].parameters)


@pytest.mark.parametrize(
    "task", [RTE, SQUAD, TaggingTask(source="local", revision=None, max_length=64)]
)
def test_the_longest_rows_have_as_many_tokens_as_the_task_allows(task: Task) -> None:
    made = made_up(task).load(minilm_tokenizer())
    worst = Rows(made, task, 30_522, 24, longest=True)
    assert {len(row.input_ids) for row in worst.training} == {task.max_length}
    assert len(worst.training) == 24
    assert all(len(row.type_ids) == task.max_length for row in worst.training)


def test_typical_rows_have_the_published_mean_length() -> None:
    """165 tokens of a window of SQuAD to the next 16; the mean over 2,000 draws of log-normal
    lengths with a spread of 0.4 is within 3 % of it, were none cut at 384.
    """
    assert typical_tokens(SQUAD) == 176
    assert typical_tokens(COLA) == 16  # 11
    assert typical_tokens(RTE) == 80  # 68
    made = made_up(SQUAD).load(minilm_tokenizer())
    rows = Rows(made, SQUAD, 30_522, 2_000, longest=False)
    mean = sum(len(row.input_ids) for row in rows.training) / 2_000
    assert mean == pytest.approx(176, rel=0.03)


def test_runs_that_differ_by_seed_and_rate_are_one_kind_and_other_lengths_another() -> None:
    first = make_job([lora()])
    assert kind_of(first) == kind_of(make_job([lora(seed=3, recipe__learning_rate=0.5)]))
    assert kind_of(first) != kind_of(make_job([lora(COLA)]))
    assert kind_of(first) != kind_of(make_job([lora(), lora(seed=1)]))
    assert kind_of(first) != kind_of(make_job([lora(recipe__batch_size=64)]))


def test_a_child_starts_from_the_rehearsal_of_its_parent() -> None:
    parent, twin = lora(), lora(seed=1)
    child = lora(COLA, parents={"multi-task": run_key(twin)})
    found = kinds([make_job([one]) for one in (parent, twin, child)], 3, None)
    assert [len(jobs) for _, jobs in found] == [2, 1]
    (made,), (made_child,) = (job.specs for job, _ in found)
    assert made_child.parents == {"multi-task": run_key(made)}
    assert (made.recipe.epochs, made.task.train_rows) == (1, 3 * made.recipe.batch_size)


def test_a_plan_uses_what_a_rehearsal_took(tmp_path: Path) -> None:
    """RTE has 2,490 training and 277 validation rows of 68 tokens; batches of 32, 2 epochs:
    156 steps of 2 s, and 554 rows of 68 tokens at 0.001 s each: 312 + 37.672 s.
    """
    job = make_job([lora(recipe__batch_size=32, recipe__epochs=2)])
    store_rehearsed(tmp_path, "cpu", {kind_of(job): Rehearsed(step=2.0, token=1e-3, memory=7e9)})
    speed = stored_speed(tmp_path, "cpu")
    found = estimate(job, speed)
    assert found.seconds == pytest.approx(312 + 37.672 + speed.job)
    assert found.memory_bytes == 7e9
    assert estimate(job, stored_speed(tmp_path, "cuda")).memory_bytes != 7e9
    (tmp_path / "rehearsed.json").write_text(json.dumps({"cpu": {"a": {"other": 1}}}))
    assert stored_speed(tmp_path, "cpu") == ASSUMED["cpu"]
