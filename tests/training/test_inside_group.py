"""Runs inside the encoder, of several seeds and sizes in one group, are the runs trained alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from group_samples import Watched, compare, group_of, losses, remains, watched
from inside_groups import adapters, data_of, inside_group, inside_spec

from repro.methods.fine_tuning import FullFineTuning, LayerNorms
from repro.training import cohort as cohort_module
from repro.training.checkpoint import read_artefact

__all__ = ["watched"]


@pytest.mark.parametrize("placement", ["houlsby", "pfeiffer"])
def test_seeds_and_sizes_in_one_group_agree_with_each_run_alone(
    placement: Any, tmp_path: Path, watched: Watched
) -> None:
    specs = [
        inside_spec(adapters(size, placement=placement), seed) for seed in (0, 1) for size in (4, 8)
    ]
    together = inside_group(specs, tmp_path / "all")
    assert together.steps >= 12
    assert any(len(cohort.members) > 1 for cohort in together.cohorts)
    alone = [inside_group([spec], tmp_path / str(n)) for n, spec in enumerate(specs)]
    compare(watched, together, alone, steps=12)
    assert len({tuple(losses(together, member)) for member in range(4)}) == 4


def test_seeds_read_batches_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    specs = [inside_spec(LayerNorms(pooler="trained"), seed) for seed in (0, 1)]
    made = group_of(specs, tmp_path, data=data_of())
    seen: list[list[list[int]]] = []
    [cohort] = made.cohorts

    def noting(inputs: Any, targets: Any, share: float, call: Any = cohort.accumulate) -> Any:
        rows, batch = inputs.input_ids, targets.shape[1]
        seen.append([row.tolist() for row in rows[:batch]])
        assert targets.shape[0] == 2
        assert len(rows) == 2 * batch
        return call(inputs, targets, share)

    monkeypatch.setattr(cohort, "accumulate", noting)
    made.train()
    alone = group_of(specs[:1], tmp_path / "alone", data=data_of())
    [single] = alone.cohorts
    wanted: list[list[list[int]]] = []

    def noting_alone(inputs: Any, targets: Any, share: float, call: Any = single.accumulate) -> Any:
        wanted.append([row.tolist() for row in inputs.input_ids])
        return call(inputs, targets, share)

    monkeypatch.setattr(single, "accumulate", noting_alone)
    alone.train()
    cut = [[[i for i in row if i] for row in batch] for batch in seen]
    assert cut == [[[i for i in row if i] for row in batch] for batch in wanted]


def test_a_regression_learns_numbers(tmp_path: Path) -> None:
    spec = inside_spec(adapters(), name="stsb", recipe__epochs=4)
    found = losses(inside_group([spec], tmp_path))
    assert sum(found[-10:]) < sum(found[:10])


def test_the_best_epoch_is_kept_and_scored_from_what_is_stored(tmp_path: Path) -> None:
    spec = inside_spec(
        adapters(), recipe__epochs=5, recipe__keep="best", recipe__learning_rate=3e-3
    )
    made = inside_group([spec], tmp_path)
    [member] = made.members
    by_epoch = [
        made.data.monitor([s for s in member.scores if s["epoch"] == epoch])
        for epoch in range(1, 6)
    ]
    numbers = [-1.0 if number is None else number for number in by_epoch]
    assert member.kept == max(epoch for epoch in range(1, 6) if numbers[epoch - 1] == max(numbers))
    assert member.artefact.exists()
    assert len(list(tmp_path.glob("adapter-*"))) == 1
    kept = [score for score in member.scores if score["epoch"] == member.kept]
    document = json.loads(member.predictions.read_text())
    again = group_of([spec], tmp_path / "again", data=data_of())
    [cohort] = again.cohorts
    cohort.load_artefact(0, read_artefact(member.artefact))
    [(_, collector)] = again._evaluate(1, len(again.data.evaluation))
    rescored = collector.scores(member.kept or 0)
    assert rescored == kept
    assert collector.predictions() == document


def test_a_group_of_seeds_that_is_cut_continues_byte_for_byte(tmp_path: Path) -> None:
    specs = [inside_spec(adapters(), seed, recipe__keep="best") for seed in (0, 1)]
    whole = inside_group(specs, tmp_path / "whole")

    class Cut(Exception):
        pass

    def report(event: dict[str, Any]) -> None:
        if event["event"] == "step" and event["step"] == 7:
            raise Cut

    with pytest.raises(Cut):
        inside_group(specs, tmp_path / "cut", report=report, checkpoint_steps=4)
    assert remains(inside_group(specs, tmp_path / "cut", checkpoint_steps=4)) == remains(whole)


def test_a_checkpoint_remembers_which_runs_were_stacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    specs = [inside_spec(adapters(), seed) for seed in (0, 1)]
    together = inside_group(specs, tmp_path)
    monkeypatch.setitem(cohort_module.STACKED_TOKENS, "cpu", 1)
    assert [c.members for c in group_of(specs, tmp_path, data=data_of()).cohorts] == [[0, 1]]
    assert [c.members for c in together.cohorts] == [[0, 1]]
    alone = group_of(specs, tmp_path / "new", data=data_of())
    assert [c.members for c in alone.cohorts] == [[0], [1]]


def test_full_fine_tuning_trains_the_pooler_too(tmp_path: Path) -> None:
    made = inside_group([inside_spec(FullFineTuning(), name="sst2")], tmp_path)
    tensors = read_artefact(made.members[0].artefact)
    assert any("pooler" in name for name in tensors)
    assert all(torch.isfinite(tensor).all() for tensor in tensors.values())
