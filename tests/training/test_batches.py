"""The order of batches is a function of task and seed; padding and length buckets."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from run_samples import cells, run_spec
from tiny_models import tiny_data

from repro.methods.fine_tuning import FullFineTuning
from repro.methods.linear_probe import LinearProbe
from repro.methods.untrained import AlwaysNull
from repro.spec import RunSpec
from repro.training.batches import collate, epoch_order, length_sorted

LENGTHS = [int(n) for n in np.random.default_rng(0).integers(10, 380, size=1003)]


def order(spec: RunSpec, epoch: int = 1) -> list[list[int]]:
    return [batch.tolist() for batch in epoch_order(spec, epoch, LENGTHS)]


@pytest.mark.parametrize("kind", ["shuffled", "length-buckets"])
@pytest.mark.parametrize("size", [1, 4, 8, 1003, 2000])
def test_an_epoch_holds_every_window_once(kind: str, size: int) -> None:
    batches = order(run_spec(recipe__order=kind, recipe__batch_size=size))
    assert sorted(i for batch in batches for i in batch) == list(range(1003))
    assert len(batches) == -(-1003 // size)
    assert sum(len(batch) == size for batch in batches) == 1003 // size
    assert max(map(len, batches)) == min(size, 1003)


@pytest.mark.parametrize("kind", ["shuffled", "length-buckets"])
def test_all_methods_of_one_task_and_seed_read_the_same_batches(kind: str) -> None:
    first = order(run_spec(cells(), recipe__order=kind))
    others: list[Any] = [
        cells("resnext", "attention"),
        LinearProbe(layer=1),
        FullFineTuning(),
        AlwaysNull(),
    ]
    for method in others:
        assert order(run_spec(method, recipe__order=kind)) == first
    other_recipe = run_spec(recipe__order=kind, recipe__learning_rate=0.5, recipe__epochs=9)
    assert order(other_recipe) == first


@pytest.mark.parametrize(
    ("seed", "epoch", "changes"), [(1, 1, {}), (0, 2, {}), (0, 1, {"task__subset_seed": 1})]
)
def test_other_seeds_epochs_and_tasks_have_other_orders(
    seed: int, epoch: int, changes: dict[str, Any]
) -> None:
    first = order(run_spec())
    other = order(run_spec(seed=seed, **changes), epoch)
    assert sum(a == b for a, b in zip(first, other, strict=True)) <= 2


def padded_tokens(batches: list[list[int]]) -> int:
    return sum(len(batch) * max(LENGTHS[i] for i in batch) for batch in batches)


def test_length_buckets_pad_far_less_and_mix_lengths_over_the_epoch() -> None:
    shuffled = order(run_spec(recipe__batch_size=8))
    buckets = order(run_spec(recipe__batch_size=8, recipe__order="length-buckets"))
    real = sum(LENGTHS)
    assert padded_tokens(shuffled) > 1.5 * real
    assert padded_tokens(buckets) < 1.05 * real
    means = [np.mean([LENGTHS[i] for i in batch]) for batch in buckets]
    assert abs(np.corrcoef(np.arange(len(means)), means)[0, 1]) < 0.3


def test_a_batch_is_padded_to_its_longest_window_or_to_a_given_length() -> None:
    windows = tiny_data().training[:3]
    lengths = [len(window.input_ids) for window in windows]
    assert len(set(lengths)) > 1
    dynamic, fixed = collate(windows, pad_id=7), collate(windows, pad_id=7, length=40)
    assert dynamic.input_ids.shape == (3, max(lengths))
    assert fixed.input_ids.shape == (3, 40)
    for batch in (dynamic, fixed):
        assert batch.attention_mask.sum(1).tolist() == lengths
        for row, window in enumerate(windows):
            n = lengths[row]
            assert batch.input_ids[row, :n].tolist() == window.input_ids.tolist()
            assert batch.type_ids[row, :n].tolist() == window.type_ids.tolist()
            assert (batch.input_ids[row, n:] == 7).all()
            assert not batch.attention_mask[row, n:].any()
            assert not batch.type_ids[row, n:].any()
        assert batch.targets.tolist() == [list(window.target) for window in windows]
        assert batch.input_ids.dtype == batch.targets.dtype == torch.int64


@pytest.mark.parametrize("tokens", [1, 64, 200, 100_000])
def test_evaluation_batches_hold_every_window_once_within_the_limit(tokens: int) -> None:
    windows = tiny_data().evaluation
    batches = length_sorted(windows, tokens)
    assert sorted(i for batch in batches for i in batch) == list(range(len(windows)))
    for batch in batches:
        padded = len(batch) * max(len(windows[i].input_ids) for i in batch)
        assert padded <= tokens or len(batch) == 1
