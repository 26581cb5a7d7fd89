"""Rehearsals: made-up models and inputs of the exact shape, through the code of a real run."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

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
from repro.engine.jobs import Execution, make_job
from repro.engine.made_up import Rows, compute_in_fp32, made_up, random_encoder
from repro.engine.rehearsal import Asked, Heard, kinds
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
    jobs = [make_job([one]) for one in (parent, twin, child)]
    found = kinds(jobs, Asked(Execution(), 3), kind_of)
    (made,), (made_child,) = (found[kind_of(jobs[place])].specs for place in (0, 2))
    assert len(found) == 2
    assert made_child.parents == {"multi-task": run_key(made)}
    assert (made.recipe.epochs, made.task.train_rows) == (1, 3 * made.recipe.batch_size)


def test_smaller_batches_try_each_way_through_the_program_once() -> None:
    """Lengths and the number of classes change nothing then, nor a third run of a method."""
    smaller, whole = Asked(Execution(), 2, batch_size=1), Asked(Execution(), 2)
    classes, number = (GlueTask(name=n, source="glue", revision=None) for n in ("mnli", "stsb"))
    long, short, three, score = (make_job([lora(t)]) for t in (RTE, COLA, classes, number))
    assert len({whole.kind(job) for job in (long, short, three, score)}) == 4
    assert len({smaller.kind(job) for job in (long, short, three)}) == 1
    assert smaller.kind(score) != smaller.kind(long)  # one output
    seeds = [make_job([lora(seed=seed) for seed in range(count)]) for count in (1, 2, 5)]
    one, two, five = map(smaller.kind, seeds)
    assert one != two == five
    assert whole.kind(seeds[1]) != whole.kind(seeds[2])


def test_what_a_job_takes_is_read_from_the_times_of_its_events(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Loading at 1 s, steps at 5, 7 and 10, scored from there to 12 and 13, stored at 15."""
    events: list[tuple[float, dict[str, Any]]] = [
        (1.0, {"event": "loading", "device": "a CPU, 2 threads"}),
        (4.0, {"event": "rows", "scored_tokens": 30}),
        *((at, {"event": "step", "step": n}) for n, at in enumerate((5.0, 7.0, 10.0), 1)),
        *((at, {"event": "evaluation", "batches": 2}) for at in (12.0, 13.0)),
        (15.0, {"event": "stored"}),
    ]
    heard = Heard()
    for at, event in events:
        monkeypatch.setattr("time.monotonic", lambda at=at: at)
        heard.hear(event)
    assert heard.seconds == [2.0, 3.0]  # the first step warms up
    assert heard.seconds_a_token == pytest.approx(3 / 30)
    assert heard.beside == pytest.approx(14 - 8)  # all but from the first step to the last score
    assert heard.device == "a CPU, 2 threads"


def test_a_cpu_without_bf16_computes_its_products_in_fp32() -> None:
    """One rounding: within half a unit in the last place, 2^-9, of the product in fp64."""
    a, b, bias = torch.randn(33, 700), torch.randn(700, 21), torch.randn(21)
    given = [tensor.bfloat16() for tensor in (bias, a, b)]
    mode = compute_in_fp32()
    try:
        found = torch.addmm(*given)
    finally:
        mode.__exit__(None, None, None)
    exact = torch.addmm(*(tensor.double() for tensor in given))
    assert found.dtype == torch.bfloat16
    assert torch.allclose(found.double(), exact, rtol=2**-8, atol=1e-3)


def rehearsed(**changes: object) -> Rehearsed:
    figures = Rehearsed(2.0, 0.5, 1e-3, memory=7e9, batch=32, device="a CPU", fit=True)
    return replace(figures, **changes)  # type: ignore[arg-type]


def test_a_plan_uses_what_a_rehearsal_took(tmp_path: Path) -> None:
    """RTE has 2,490 training and 277 validation rows of 68 tokens; batches of 32, 2 epochs:
    156 steps of 2 s, and 554 rows of 68 tokens at 0.001 s each: 312 + 37.672 s. Steps spread by a
    quarter.
    """
    job = make_job([lora(recipe__batch_size=32, recipe__epochs=2)])
    store_rehearsed(tmp_path, "cpu", {kind_of(job): rehearsed()})
    speed = stored_speed(tmp_path, "cpu")
    found = estimate(job, speed)
    seconds = 312 + 37.672 + speed.job
    assert found.seconds == pytest.approx(seconds)
    assert [found.low, found.high] == pytest.approx([0.75 * seconds, 1.25 * seconds])
    assert found.memory_bytes == 7e9
    assert estimate(job, stored_speed(tmp_path, "cuda")).memory_bytes != 7e9
    store_rehearsed(tmp_path, "cpu", {kind_of(job): rehearsed(fit=False)})  # on a busy machine
    assert estimate(job, stored_speed(tmp_path, "cpu")).memory_bytes != 7e9
    (tmp_path / "rehearsed.json").write_text(json.dumps({"cpu": {"a": {"other": 1}}}))
    assert stored_speed(tmp_path, "cpu") == ASSUMED["cpu"]
