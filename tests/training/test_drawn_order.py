"""Rows drawn with replacement, one task a batch: by the mixture's law, the same when resumed."""

from __future__ import annotations

from collections import Counter

import numpy as np
from run_samples import run_spec, written

from repro.spec import RunSpec
from repro.spec.glue import GLUE
from repro.spec.text_to_text import MIXTURE, probabilities
from repro.training.batches import drawn_order

TASKS = [0] * 30 + [1] * 6 + [2] * 600
"""Which task each of 636 training rows is of."""


def run(seed: int = 0, **changes: object) -> RunSpec:
    task = written("cola", "sst2", "rte", **changes)
    return run_spec(
        seed=seed, task=task, recipe__look_steps=4_000, recipe__batch_size=5, recipe__epochs=3
    )


def test_glue_is_drawn_as_the_released_code_draws_it() -> None:
    """Printed in the notes on the method: rows of GLUE, temperature 10; and 1, by size."""
    rows = tuple(GLUE[name].rows["train"] for name in MIXTURE)  # type: ignore[index]
    found = dict(zip(MIXTURE, probabilities(rows, 10), strict=True))
    expected = {
        "rte": 0.096, "sst2": 0.134, "mrpc": 0.100, "stsb": 0.105, "qqp": 0.158, "mnli": 0.159,
        "qnli": 0.140, "cola": 0.109,
    }  # fmt: skip
    for name, share in expected.items():
        assert abs(found[name] - share) < 0.0006, name  # type: ignore[index]
    by_size = dict(zip(MIXTURE, probabilities(rows, 1), strict=True))
    assert round(by_size["mnli"], 3) == 0.414
    assert round(by_size["rte"], 3) == 0.003


def test_a_temperature_near_zero_draws_the_largest_tasks_alone() -> None:
    """1/8 to the thousandth power is no number that a float can be."""
    assert probabilities((50,) * 8, 1e-3) == (0.125,) * 8
    assert probabilities((30, 6, 30), 1e-4) == (0.5, 0.0, 0.5)


def test_a_batch_is_of_one_task_and_tasks_come_as_often_as_the_law_says() -> None:
    batches = drawn_order(run(), 1, TASKS)
    assert len(batches) == 4_000
    seen = Counter[int]()
    for batch in batches:
        assert len(batch) == 5
        (task,) = {TASKS[i] for i in batch}
        seen[task] += 1
    for task, share in enumerate(probabilities((30, 6, 600), 10)):
        deviation = (share * (1 - share) / 4_000) ** 0.5
        assert abs(seen[task] / 4_000 - share) < 5 * deviation


def test_rows_of_a_task_are_drawn_alike_and_with_replacement() -> None:
    batches = drawn_order(run(), 1, TASKS)
    small = [i for batch in batches for i in batch if TASKS[i] == 1]
    assert set(small) == set(range(30, 36))
    counts = Counter(small)
    mean = len(small) / 6
    assert all(abs(count - mean) < 5 * mean**0.5 for count in counts.values())
    assert any(len(set(batch)) < 5 for batch in batches)


def test_any_look_can_be_had_without_those_before_it() -> None:
    looks = [drawn_order(run(), look, TASKS) for look in (1, 2, 3)]
    again = drawn_order(run(), 2, TASKS)
    assert np.array_equal(looks[1], again)
    assert not np.array_equal(looks[0], looks[1])
    assert not np.array_equal(looks[0], drawn_order(run(seed=1), 1, TASKS))


def test_full_tuning_with_its_prefix_reads_the_same_rows() -> None:
    plain, named = drawn_order(run(), 1, TASKS), drawn_order(run(prefix=True), 1, TASKS)
    assert np.array_equal(plain, named)
