"""Training and development rows drawn by a seed, and the scored rows that no seed changes."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from glue_samples import glue_folder, rows, task, write_split
from numpy.typing import NDArray
from scipy.stats import pearsonr, spearmanr
from sklearn.metrics import accuracy_score, f1_score
from tiny_models import minilm_tokenizer

from repro.errors import MissingData, ReproError
from repro.spec.glue import GLUE
from repro.spec.tasks import GlueName, trained_of
from repro.tasks import catalogue
from repro.tasks.catalogue import data_revision, pool, unavailable
from repro.tasks.sentences.rows import task_rows
from repro.tasks.sentences.task import SentenceData, load_sentences

SEEDS = (42, 92, 111, 245, 651)
SIZES = "seed=0,train=120,validation=40"


def ids(name: GlueName = "rte", seed: int = 42, **changes: Any) -> dict[str, list[int]]:
    """The ids of every split of a generated task."""
    own = {"source": "generated", "revision": SIZES, "development": 0.25, "subset_seed": seed}
    return {
        s: [row.idx for row in found] for s, found in task_rows(task(name, **own | changes)).items()
    }


def load(name: GlueName, **changes: Any) -> SentenceData:
    own = {"source": "generated", "revision": SIZES, "development": 0.25, "train_rows": 40}
    return load_sentences(task(name, **own | changes), minilm_tokenizer())


def scored(
    data: SentenceData, outputs: NDArray[np.float32], count: int | None = None
) -> dict[str, dict[str, float]]:
    """Split -> metric -> value, of the first `count` examples."""
    collector = data.collector()
    indices = list(range(len(data.evaluation) if count is None else count))
    collector.add(indices, outputs[indices])
    found: dict[str, dict[str, float]] = {}
    for score in collector.scores(1):
        found.setdefault(score["split"], {})[score["metric"]] = score["value"]
    return found


def noise(data: SentenceData) -> NDArray[np.float32]:
    shape = (len(data.evaluation), data.facts.outputs)
    return np.random.default_rng(0).normal(2, 1, shape).astype(np.float32)


@pytest.mark.parametrize(
    ("drawn", "share", "trained"),
    [
        (100, 0.25, 75), (300, 0.25, 225), (500, 0.25, 375),  # Moosavi et al. 2022, section 4.4
        (10, 0.25, 7), (2, 0.25, 1), (10, 0.1, 9), (100, 0.29, 71), (1_000, 0.001, 999),
        (363_846, 0.25, 272_884),
    ],
)  # fmt: skip
def test_a_share_of_the_drawn_rows_is_set_aside(drawn: int, share: float, trained: int) -> None:
    assert trained_of(drawn, share) == trained


@pytest.mark.parametrize("seed", SEEDS)
def test_drawn_rows_are_those_of_datasets_own_shuffle(seed: int) -> None:
    """As the released code draws them: `set_seed(seed)`, then `shuffle()` without a seed."""
    from datasets import Dataset
    from transformers import set_seed

    set_seed(seed)
    order = Dataset.from_dict({"idx": range(120)}).shuffle()["idx"]
    found = ids(seed=seed, train_rows=100)
    assert found["train"] == order[:75]
    assert found["development"] == order[75:100]


def test_without_a_cap_all_training_rows_are_divided() -> None:
    found = ids()
    assert (len(found["train"]), len(found["development"])) == (90, 30)
    assert sorted(found["train"] + found["development"]) == list(range(120))


def test_fewer_rows_are_a_prefix_of_more() -> None:
    small, large = (ids(train_rows=count) for count in (40, 100))
    drawn = small["train"] + small["development"]
    assert drawn == (large["train"] + large["development"])[:40]


def test_every_seed_is_scored_on_the_same_rows() -> None:
    found = [ids(seed=seed, train_rows=40, evaluation_rows=15) for seed in SEEDS]
    assert len({tuple(one["train"]) for one in found}) == 5
    assert len({tuple(one["validation"]) for one in found}) == 1
    ranks = sorted(range(40), key=lambda i: hashlib.sha256(f"scored\n0\n{i}".encode()).digest())
    assert found[0]["validation"] == sorted(ranks[:15])
    assert ids(train_rows=40)["validation"] == list(range(40))


def test_development_rows_come_first_and_only_the_matched_rows_are_scored() -> None:
    assert list(ids("mnli", train_rows=40)) == ["train", "development", "validation_matched"]
    data = load("mnli")
    assert data.splits == {"development": slice(0, 10), "validation_matched": slice(10, 50)}
    assert data.watched == 10


def test_a_row_alone_cannot_be_divided() -> None:
    with pytest.raises(ReproError, match="1 rows of RTE cannot be divided"):
        ids(train_rows=1)


def test_rows_drawn_from_the_validation_set_are_scored_for_no_seed() -> None:
    found = [ids(seed=seed, train_rows=16, drawn_from="validation") for seed in SEEDS]
    assert {(len(one["train"]), len(one["development"])) for one in found} == {(12, 4)}
    ranks = sorted(range(40), key=lambda i: hashlib.sha256(f"pool\n0\n{i}".encode()).digest())
    assert [one["validation"] for one in found] == [sorted(ranks[20:])] * 5
    drawn = [set(one["train"] + one["development"]) for one in found]
    assert len({frozenset(one) for one in drawn}) > 1
    assert all(one < set(ranks[:20]) for one in drawn)


def test_more_rows_than_half_the_validation_set_are_refused() -> None:
    assert len(ids(train_rows=20, drawn_from="validation")["train"]) == 15
    with pytest.raises(MissingData, match=r"21 rows of RTE cannot be drawn .*: 20 may be drawn"):
        ids(train_rows=21, drawn_from="validation")


def test_the_drawn_rows_have_digests() -> None:
    data, found = load("rte", subset_seed=7), ids(seed=7, train_rows=40)
    assert data.drawn == {
        split: hashlib.sha256(json.dumps(found[split], separators=(",", ":")).encode()).hexdigest()
        for split in ("train", "development")
    }
    assert load("rte", subset_seed=8).drawn != data.drawn
    assert load("rte", development=None).drawn is None


@pytest.mark.parametrize("name", list(GLUE))
def test_few_rows_of_every_task_can_be_scored(name: GlueName) -> None:
    data = load(name)
    assert (len(data.training), len(data.evaluation), data.watched) == (30, 50, 10)
    found = scored(data, noise(data))
    own = {*data.facts.metrics, *(["combined"] if name in ("mrpc", "qqp", "stsb") else [])}
    assert list(found) == list(data.splits)
    assert all(own <= set(metrics) for metrics in found.values())


def test_the_combined_score_is_the_mean_of_both_metrics() -> None:
    """Against scikit-learn and scipy, on development and on validation rows."""
    data = load("mrpc")
    outputs = noise(data)
    for split, metrics in scored(data, outputs).items():
        gold = [int(example.target) for example in data.evaluation[data.splits[split]]]
        called = outputs[data.splits[split]].argmax(1)
        mean = (f1_score(gold, called) + accuracy_score(gold, called)) / 2
        assert metrics["combined"] == pytest.approx(100 * mean)
    data = load("stsb")
    outputs = noise(data)
    for split, metrics in scored(data, outputs).items():
        numbers = [float(example.target) for example in data.evaluation[data.splits[split]]]
        clipped = outputs[data.splits[split], 0].clip(0, 5)
        mean = (spearmanr(clipped, numbers).statistic + pearsonr(clipped, numbers).statistic) / 2
        assert metrics["combined"] == pytest.approx(100 * mean)


def test_only_divided_rows_of_three_tasks_have_a_combined_score() -> None:
    assert {name for name, facts in GLUE.items() if facts.combined} == {"mrpc", "qqp", "stsb"}
    for data in (load("mrpc", development=None), load("cola")):
        assert all("combined" not in metrics for metrics in scored(data, noise(data)).values())


def test_an_undefined_correlation_leaves_no_combined_score_and_no_monitor() -> None:
    data = load("stsb")
    collector = data.collector()
    collector.add(list(range(50)), np.full((50, 1), 2.5, dtype=np.float32))
    scores = collector.scores(1)
    assert {score["metric"] for score in scores} == {"majority_share"}
    assert data.monitor(scores) is None
    assert data.collapsed(scores)


def test_development_rows_of_one_class_have_no_matthews_and_crash_nothing() -> None:
    data = load("cola")
    for example in data.evaluation[:10]:
        object.__setattr__(example, "target", 1)
    found = scored(data, noise(data), count=10)
    assert found["development"]["matthews"] == 0.0


def test_development_rows_are_scored_alone_and_others_only_whole() -> None:
    data = load("rte")
    outputs = noise(data)
    whole = scored(data, outputs)
    assert list(whole) == ["development", "validation"]
    assert scored(data, outputs, count=10) == {"development": whole["development"]}
    with pytest.raises(ValueError, match="39 examples have no outputs yet"):
        scored(data, outputs, count=11)
    with pytest.raises(ValueError, match="1 examples have no outputs yet"):
        scored(data, outputs, count=9)
    with pytest.raises(ValueError, match="10 examples have no outputs yet"):
        scored(data, outputs, count=0)


def test_development_rows_select_and_official_rows_tell_a_constant_answer() -> None:
    data = load("rte")
    outputs = np.tile(np.array([[1.0, 0.0]], dtype=np.float32), (50, 1))
    outputs[0] = [0.0, 1.0]  # a development row
    collector = data.collector()
    collector.add(list(range(50)), outputs)
    scores = collector.scores(1)
    gold = [int(example.target) for example in data.evaluation[:10]]
    right = (gold[0] == 1) + gold[1:].count(0)
    assert data.monitor(scores) == 10 * right
    assert data.collapsed(scores)


def test_where_training_rows_are_absent_only_the_validation_file_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REPRO_DATA", str(tmp_path))
    write_split(tmp_path, "qnli", "validation", rows("qnli", 40))
    write_split(tmp_path, "mnli", "validation_matched", rows("mnli", 40))
    assert [pool("reduced", name) for name in ("qnli", "mnli", "rte")] == [
        "validation", "validation", "train",
    ]  # fmt: skip
    assert {pool(scale, "qnli") for scale in ("smoke", "paper")} == {"train"}
    assert catalogue.pool("reduced", "qnli") == "validation"
    assert catalogue.pool("reduced", "squad2") == "train"
    assert unavailable("reduced", "qnli") == "glue_qnli/train is not in $REPRO_DATA"
    assert unavailable("reduced", "qnli", "validation") is None
    content = "".join(json.dumps(row) + "\n" for row in rows("qnli", 40)).encode()
    line = f"validation {hashlib.sha256(content).hexdigest()}\n"
    revision = data_revision("reduced", "qnli", "validation")
    assert revision == f"sha256:{hashlib.sha256(line.encode()).hexdigest()}"
    drawn = {"revision": revision, "development": 0.25, "drawn_from": "validation"}
    found = task_rows(task("qnli", train_rows=20, **drawn))
    assert [len(part) for part in found.values()] == [15, 5, 20]
    write_split(tmp_path, "qnli", "train", rows("qnli", 9))
    assert pool("reduced", "qnli") == "train"
    assert data_revision("reduced", "qnli") != revision


@pytest.mark.parametrize("seed", SEEDS[:2])
def test_real_questions_are_drawn_from_the_validation_set(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of QNLI's 5,463 rows 2,731 may be drawn; 100 become 75 and 25."""
    folder = glue_folder("qnli")
    if (folder / "glue_qnli" / "train.jsonl.gz").exists():
        pytest.skip("this folder has QNLI's training rows")
    monkeypatch.setenv("REPRO_DATA", str(folder))
    revision = data_revision("reduced", "qnli", pool("reduced", "qnli"))
    drawn = {"revision": revision, "development": 0.25, "drawn_from": "validation"}
    found = task_rows(task("qnli", train_rows=100, subset_seed=seed, **drawn))
    assert {split: len(part) for split, part in found.items()} == {
        "train": 75, "development": 25, "validation": 2_732,
    }  # fmt: skip
    parts = [{row.texts for row in part} for part in found.values()]
    assert len(set.union(*parts)) == 2_832
    other = task_rows(task("qnli", train_rows=2_731, evaluation_rows=1_000, **drawn))
    assert [len(part) for part in other.values()] == [2_048, 683, 1_000]
    assert set(other["validation"]) <= set(found["validation"])
