"""A GLUE task as the training loop sees it: outputs that come batch by batch, and their scores."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from glue_samples import task
from numpy.typing import NDArray
from tiny_models import minilm_tokenizer

from repro.spec.glue import GLUE
from repro.spec.tasks import GlueName
from repro.tasks.data import TaskData
from repro.tasks.metrics.glue_scores import accuracy, f1, matthews, pearson, spearman
from repro.tasks.sentences.task import (
    SentenceCollector,
    SentenceData,
    load_sentences,
    majority_share,
)

Scores = list[dict[str, Any]]
REVISION = "seed=5,train=12,validation=30"


def load(name: GlueName, **changes: Any) -> SentenceData:
    return load_sentences(
        task(name, source="generated", revision=REVISION, **changes), minilm_tokenizer()
    )


def outputs_of(data: SentenceData, seed: int = 0) -> NDArray[np.float32]:
    """Made outputs (rows, outputs), of STS-B around its range."""
    draw = np.random.default_rng(seed)
    made = draw.normal(size=(len(data.evaluation), data.facts.outputs))
    return (made if data.facts.labels else 2.5 + 3 * made).astype(np.float32)


def collected(
    data: SentenceData, outputs: NDArray[np.float32], batch: int = 7
) -> SentenceCollector:
    """The outputs handed over in batches of a random order."""
    order = np.random.default_rng(1).permutation(len(outputs)).tolist()
    collector = data.collector()
    for begin in range(0, len(order), batch):
        indices = order[begin : begin + batch]
        collector.add(indices, outputs[indices])
    return collector


def by_metric(scores: Scores, split: str = "validation") -> dict[str, float]:
    return {score["metric"]: score["value"] for score in scores if score["split"] == split}


@pytest.mark.parametrize("name", list(GLUE))
def test_every_task_is_what_the_training_loop_asks_for(name: GlueName) -> None:
    made = task(name, source="generated", revision=REVISION)
    data: TaskData = made.load(minilm_tokenizer())
    assert isinstance(data, SentenceData)
    splits = data.facts.evaluation
    assert (len(data.training), len(data.evaluation)) == (12, 30 * len(splits))
    assert data.pad_id == 0
    scores = collected(data, outputs_of(data)).scores(2)
    assert {score["split"] for score in scores} == set(splits)
    fixed = {"task": name, "protocol": "glue", "group": "ALL", "n": 30, "epoch": 2}
    assert all(score.items() >= fixed.items() for score in scores)
    assert all(type(score["value"]) is float for score in scores)
    metrics = {*data.facts.metrics, *(["majority_share"] if data.facts.labels else [])}
    assert {score["metric"] for score in scores} == metrics
    assert set(data.headline(scores)) == {
        f"{split}/{metric}" for split in splits for metric in data.facts.metrics
    }
    assert data.monitor(scores) == by_metric(scores, splits[0])[data.facts.monitor]


def test_scores_are_percent_of_the_predicted_classes() -> None:
    data = load("cola")
    outputs = outputs_of(data)
    predicted = (outputs[:, 1] > outputs[:, 0]).astype(int).tolist()
    gold = [int(example.target) for example in data.evaluation]
    right = sum(p == g for p, g in zip(predicted, gold, strict=True))
    ones = sum(predicted)
    assert by_metric(collected(data, outputs).scores(1)) == pytest.approx(
        {
            "matthews": 100 * matthews(predicted, gold),
            "accuracy": 100 * right / 30,
            "majority_share": 100 * max(ones, 30 - ones) / 30,
        }
    )


def test_f1_is_that_of_the_positive_class() -> None:
    data = load("mrpc")
    outputs = outputs_of(data)
    gold = [int(example.target) for example in data.evaluation]
    scores = by_metric(collected(data, outputs).scores(1))
    assert scores["f1"] == 100 * f1(outputs.argmax(1), gold)
    assert scores["accuracy"] == 100 * accuracy(outputs.argmax(1), gold)


def test_the_matched_and_the_mismatched_rows_are_scored_apart() -> None:
    data = load("mnli")
    outputs = np.zeros((60, 3), dtype=np.float32)
    for row, example in enumerate(data.evaluation):
        outputs[row, int(example.target) if row < 30 else (int(example.target) + 1) % 3] = 1
    scores = collected(data, outputs).scores(1)
    assert by_metric(scores, "validation_matched")["accuracy"] == 100
    assert by_metric(scores, "validation_mismatched")["accuracy"] == 0
    assert data.monitor(scores) == 100


def test_similarities_are_clipped_to_their_range_before_they_are_scored() -> None:
    data = load("stsb")
    outputs = outputs_of(data)
    assert outputs.min() < 0
    assert outputs.max() > 5
    clipped = np.minimum(np.maximum(outputs[:, 0], 0), 5)
    gold = [float(example.target) for example in data.evaluation]
    collector = collected(data, outputs)
    rho, r = spearman(clipped, gold), pearson(clipped, gold)
    assert rho is not None
    assert r is not None
    assert by_metric(collector.scores(1)) == {"spearman": 100 * rho, "pearson": 100 * r}
    document = collector.predictions()["validation"]
    assert document["predictions"] == pytest.approx(clipped.tolist(), abs=1e-6)
    assert min(document["predictions"]) == 0.0
    assert max(document["predictions"]) == 5.0


def test_a_constant_class_is_collapsed_with_zero_matthews() -> None:
    data = load("cola")
    outputs = np.tile(np.array([[0.0, 1.0]], dtype=np.float32), (30, 1))
    scores = collected(data, outputs).scores(1)
    found = by_metric(scores)
    assert (found["matthews"], found["majority_share"]) == (0.0, 100.0)
    assert data.collapsed(scores)
    assert data.monitor(scores) == 0.0
    outputs[3] = [1.0, 0.0]
    assert not data.collapsed(collected(data, outputs).scores(1))


def test_constant_similarities_are_collapsed_and_have_no_correlation() -> None:
    data = load("stsb")
    # all above the range: one prediction once they are clipped
    outputs = 6 + np.arange(30, dtype=np.float32)[:, None]
    scores = collected(data, outputs).scores(1)
    assert by_metric(scores) == {"majority_share": 100.0}
    assert data.collapsed(scores)
    assert data.monitor(scores) is None
    assert data.headline(scores) == {}


@pytest.mark.parametrize("name", ["cola", "stsb", "mnli"])
def test_the_order_and_size_of_batches_do_not_matter(name: GlueName) -> None:
    data = load(name)
    outputs = outputs_of(data)
    first, second = (collected(data, outputs, batch) for batch in (1, 100))
    assert first.scores(1) == second.scores(1)
    assert first.predictions() == second.predictions()


@pytest.mark.parametrize("broken", [np.nan, np.inf])
def test_outputs_that_are_not_finite_are_refused(broken: float) -> None:
    with pytest.raises(FloatingPointError):
        load("cola").collector().add([0], np.array([[0.0, broken]], dtype=np.float32))


def test_scores_of_a_part_of_the_rows_are_refused() -> None:
    collector = load("cola").collector()
    collector.add([0, 1], np.zeros((2, 2), dtype=np.float32))
    with pytest.raises(ValueError, match="28 examples have no outputs yet"):
        collector.scores(1)


def test_predicted_classes_are_whole_numbers() -> None:
    data = load("rte")
    outputs = outputs_of(data)
    found = collected(data, outputs).predictions()["validation"]["predictions"]
    assert found == outputs.argmax(1).tolist()
    assert all(type(value) is int for value in found)


def test_a_long_row_is_cut_to_the_tasks_length() -> None:
    data = load("rte", max_length=16)
    lengths = {len(example.input_ids) for example in [*data.training, *data.evaluation]}
    assert max(lengths) == 16


@pytest.mark.parametrize(
    ("predicted", "share"), [([0, 0, 0], 1.0), ([0, 1, 1, 2], 0.5), ([2], 1.0), ([0, 1], 0.5)]
)
def test_the_majority_share_is_that_of_the_majority_prediction(
    predicted: list[int], share: float
) -> None:
    assert majority_share(np.array(predicted)) == share
