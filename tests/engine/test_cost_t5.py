"""What runs inside T5 cost, by hand: steps, rows that are scored, the hours of each table."""

from __future__ import annotations

import pytest
from run_samples import changed

from repro.engine.cost import (
    ASSUMED,
    Speed,
    estimate,
    estimate_all,
    launching,
    method_cost,
    passed_rows,
    steps_of,
)
from repro.engine.jobs import make_job
from repro.papers.hyperformer.runs import BASE_T5, SMALL_T5, table_runs
from repro.papers.hyperformer.setting import MULTI, PLUS, TUNED
from repro.papers.registry import ARTEFACTS
from repro.papers.request import Request
from repro.spec import RunSpec

STEPS, BATCH, LOOKS = 65_536, 128, 66


def run(model: str = PLUS, size: str = BASE_T5) -> RunSpec:
    return table_runs(model, size, "rte", Request("Hyperformer-1", "paper", 1)).run(42)


def test_a_multi_task_run_passes_its_steps_and_scores_validation_rows_at_every_look() -> None:
    """Validation: halves of 1,043, 408, 1,500 and 277, three times 1,000, and 9,832 of MNLI; test:
    the other halves, 872, 40,430, 5,463 and 9,815.
    """
    validation = 521 + 204 + 750 + 138 + 3_000 + 9_832
    test = 522 + 204 + 750 + 139 + 872 + 40_430 + 5_463 + 9_815
    assert steps_of(run()) == STEPS
    assert passed_rows(run()) == (STEPS * BATCH, LOOKS * validation + test)


def test_tokens_are_the_means_of_the_tasks_as_often_as_they_are_drawn() -> None:
    """Shares as printed for GLUE at temperature 10, times the mean tokens of each task."""
    shares = {
        "cola": (0.109, 11), "sst2": (0.134, 13), "mrpc": (0.100, 53), "qqp": (0.158, 31),
        "stsb": (0.105, 31), "mnli": (0.159, 40), "qnli": (0.140, 51), "rte": (0.096, 68),
    }  # fmt: skip
    expected = sum(share * tokens for share, tokens in shares.values())
    assert run().task.tokens() == pytest.approx(expected, rel=2e-3)
    assert run(TUNED).task.tokens() == 68  # RTE alone


def test_a_token_costs_encoder_and_what_the_decoder_makes_of_it() -> None:
    """T5-base, inputs of 40 tokens, answers of 3, twelve layers of width 768.

    Encoder layer: four maps 8 d^2, feed-forward 4 d f, attention 4 T d. Decoder layer: keys and
    values of the input 4 d^2; a written token: eight maps, feed-forward, attention; the output
    layer over 32,128 pieces once. HyperFormer++ adds 24 adapters of width 24.
    """
    d, f, length, layers = 768, 3_072, 40.0, 12
    encoder = 8 * d * d + 4 * d * f + 4 * length * d
    decoder = 16 * d * d + 4 * d * f + 4 * length * d
    token = layers * (encoder + 4 * d * d)
    token += 3 / length * (layers * decoder + 2 * 32_128 * d)
    assert method_cost(run(MULTI), length)[0] == pytest.approx(token)
    assert method_cost(run(PLUS), length)[0] == pytest.approx(token + 24 * 4 * d * 24)


def test_adapters_pass_twice_fine_tuning_three_times() -> None:
    slow = Speed(flops=1.0, bytes=1.0, device="a slide rule", measured=True)
    for model, passes in ((PLUS, 2), (MULTI, 3)):
        job = make_job([run(model)])
        rows, scored = passed_rows(job.lead)
        length = job.lead.task.tokens()
        token = method_cost(job.lead, length)[0]
        expected = token * length * (passes * rows + scored)
        assert estimate(job, slow).seconds == pytest.approx(expected, rel=1e-9)


def test_a_gpu_is_bound_by_the_launches_of_both_stacks() -> None:
    """24 layers of T5-base at 3 ms in each of 65,536 steps: 78.6 minutes; T5-small a half."""
    gpu = ASSUMED["cuda"]
    base, small = (launching(make_job([run(size=size)]), gpu) for size in (BASE_T5, SMALL_T5))
    assert base == pytest.approx(STEPS * 24 * 0.003) == pytest.approx(78.6 * 60, rel=1e-3)
    assert small == pytest.approx(base / 2)


@pytest.mark.parametrize(
    ("table", "base", "small", "few"),
    [("Hyperformer-1", 20, 20, 0), ("Hyperformer-2", 3, 0, 390), ("Hyperformer-4", 0, 6, 0)],
)
def test_the_hours_of_a_table_are_those_of_its_runs(
    table: str, base: int, small: int, few: int
) -> None:
    """By hand for one multi-task run: HyperFormer++ on T5-base takes 78.6 min of launches, and
    3.07e8 trained tokens of 2.24e8 FLOP twice and 3.7e7 scored ones once, at 3e13 a second in fp32:
    81 min. On T5-small half the launches, and a fifth of the arithmetic.
    """
    request = Request(table, "paper", 5 if few else 1)
    specs = [*ARTEFACTS[table].matrix(request).runs.values()]
    assert len(specs) == base + small + few
    whole = estimate(make_job([run()]), ASSUMED["cuda"]).seconds / 60
    assert whole == pytest.approx(78.6 + 81, rel=0.02)
    tiny = estimate(make_job([run(size=SMALL_T5)]), ASSUMED["cuda"]).seconds / 60
    assert tiny == pytest.approx(39.3 + 81 / 5, rel=0.1)
    hours = estimate_all([make_job([spec]) for spec in specs], ASSUMED["cuda"]).seconds / 3600
    least, most = (0.6, 1.7)  # single tasks of short and of long rows; fine-tuning passes thrice
    about = (base * whole + small * tiny) / 60
    assert least * about < hours < most * about + few * 4 / 60


def test_steps_set_by_hand_change_the_estimate() -> None:
    spec = changed(changed(run(), ("recipe", "steps"), None), ("recipe", "epochs"), 2)
    assert steps_of(spec) == 2_000
