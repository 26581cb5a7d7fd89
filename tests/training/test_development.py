"""A group whose epochs are selected on development rows, and scored once on the official ones."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from group_samples import group_of, trained
from inside_groups import adapters, inside_spec
from tiny_models import minilm_tokenizer

from repro.spec import GlueTask, RunSpec
from repro.tasks.sentences.task import load_sentences
from repro.training.checkpoint import read_artefact

TASK = GlueTask(
    name="mrpc",
    source="generated",
    revision="seed=0,train=120,validation=40",
    train_rows=40,
    development=0.25,
    subset_seed=42,
)
EPOCHS = 4
METRICS = {"f1", "accuracy", "combined", "majority_share"}


def spec_of(keep: str) -> RunSpec:
    method = adapters(placement="pfeiffer", norms="none")
    return inside_spec(
        method,
        42,
        task=TASK,
        recipe__keep=keep,
        recipe__epochs=EPOCHS,
        recipe__learning_rate=3e-3,
    )


@pytest.mark.parametrize("keep", ["first-best", "last"])
def test_official_rows_are_scored_once_with_the_weights_that_are_kept(
    keep: str, tmp_path: Path
) -> None:
    spec, data = spec_of(keep), load_sentences(TASK, minilm_tokenizer())
    made = trained([spec], tmp_path / "made", data=data)
    [member] = made.members
    by_split = {split: Counter[int]() for split in data.splits}
    for score in member.scores:
        by_split[score["split"]][score["epoch"]] += 1
    kept = member.kept or EPOCHS
    assert by_split["development"] == dict.fromkeys(range(1, EPOCHS + 1), len(METRICS))
    assert by_split["validation"] == {kept: len(METRICS)}
    if keep == "first-best":
        f1 = [
            next(
                score["value"]
                for score in member.scores
                if (score["split"], score["metric"], score["epoch"]) == ("development", "f1", epoch)
            )
            for epoch in range(1, EPOCHS + 1)
        ]
        assert kept == 1 + f1.index(max(f1))

    again = group_of([spec], tmp_path / "again", data=data)
    again.cohorts[0].load_artefact(0, read_artefact(member.artefact))
    [(_, collector)] = again._evaluate(kept, len(data.evaluation))
    assert collector.scores(kept) == [s for s in member.scores if s["epoch"] == kept]
    predicted = json.loads(member.predictions.read_text())
    sizes = {split: len(found["ids"]) for split, found in predicted.items()}
    assert sizes == {"development": 10, "validation": 40}


def test_epochs_meet_development_rows_only(tmp_path: Path) -> None:
    """10 of 50 scored rows after each epoch, then all of them."""
    data = load_sentences(TASK, minilm_tokenizer())
    group = group_of([spec_of("first-best")], tmp_path, data=data)
    met: list[int] = []
    evaluate = group.cohorts[0].evaluate

    def noting(inputs):  # type: ignore[no-untyped-def]
        met.append(len(inputs.input_ids))
        return evaluate(inputs)

    group.cohorts[0].evaluate = noting  # type: ignore[method-assign]
    group.train()
    assert met[:EPOCHS] == [10] * EPOCHS
    assert sum(met[EPOCHS:]) == 50
