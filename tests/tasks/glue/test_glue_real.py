"""The real sets of GLUE, where they are at hand: sizes, labels, and that every row passes."""

from __future__ import annotations

from collections import Counter

import pytest
from glue_samples import glue_folder, task
from tiny_models import minilm_tokenizer

from repro.errors import MissingData
from repro.spec.glue import GLUE
from repro.spec.tasks import GlueName
from repro.tasks.catalogue import data_revision, unavailable
from repro.tasks.sentences.rows import Row, submission_rows, task_rows
from repro.tasks.sentences.task import load_sentences

COMPLETE: list[GlueName] = ["cola", "mrpc", "stsb", "rte", "wnli"]
PARTIAL: list[GlueName] = ["qqp", "mnli"]


@pytest.fixture(autouse=True)
def real(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder of real data; skips where it lacks the test's task."""
    name = request.node.callspec.params["name"] if hasattr(request.node, "callspec") else "cola"
    monkeypatch.setenv("REPRO_DATA", str(glue_folder(name)))


def read(name: GlueName) -> dict[str, list[Row]]:
    return task_rows(task(name, revision=data_revision("reduced", name)))


@pytest.mark.parametrize("name", COMPLETE)
def test_a_complete_set_has_its_published_sizes_and_is_taken_at_paper_scale(name: GlueName) -> None:
    assert data_revision("paper", name) is None
    assert unavailable("paper", name) is None
    published = {split: len(rows) for split, rows in task_rows(task(name)).items()}
    tests = {split: len(rows) for split, rows in submission_rows(name).items()}
    assert published | tests == GLUE[name].rows


@pytest.mark.parametrize("name", PARTIAL)
def test_a_partial_set_is_taken_at_reduced_scale_only(name: GlueName) -> None:
    sizes = {split: len(rows) for split, rows in read(name).items()}
    assert all(0 < sizes[split] <= GLUE[name].rows[split] for split in sizes)
    assert sizes["train"] < GLUE[name].rows["train"]
    with pytest.raises(MissingData, match="not the published train set"):
        data_revision("paper", name)


@pytest.mark.parametrize("name", ["qnli"])
def test_a_set_without_its_training_rows_is_a_gap(name: GlueName) -> None:
    if (glue_folder(name) / "glue_qnli" / "train.jsonl.gz").exists():
        pytest.skip("this folder has QNLI's training rows")
    assert unavailable("reduced", name) == "glue_qnli/train is not in $REPRO_DATA"
    with pytest.raises(MissingData, match=r"but not train\.jsonl\.gz"):
        data_revision("reduced", name)


@pytest.mark.parametrize(
    ("name", "label", "count", "rows", "percent"),
    [
        # Warstadt et al. 2019 and Dolan and Brockett 2005, as counted in the published files
        ("cola", 1, 721, 1_043, 69.1),
        ("mrpc", 1, 279, 408, 68.4),
        ("rte", 0, 146, 277, 52.7),
        ("wnli", 0, 40, 71, 56.3),
    ],
)
def test_the_majority_of_a_validation_set(
    name: GlueName, label: int, count: int, rows: int, percent: float
) -> None:
    found = read(name)["validation"]
    assert (Counter(row.label for row in found)[label], len(found)) == (count, rows)
    assert round(100 * count / rows, 1) == percent


@pytest.mark.parametrize("name", ["ax"])
def test_the_diagnostic_set_has_no_labels(name: str) -> None:
    found = submission_rows("ax")["test"]
    assert (len(found), {row.label for row in found}) == (1_104, {-1})


@pytest.mark.parametrize("name", ["cola", "mrpc"])
def test_a_constant_answer_scores_the_majoritys_share(name: GlueName) -> None:
    """Accuracy 69.1 and Matthews 0 on CoLA; accuracy 68.4 and F1 2 * 279 / (279 + 408) on MRPC."""
    import numpy as np

    revision = data_revision("reduced", name)
    data = load_sentences(task(name, revision=revision, train_rows=8), minilm_tokenizer())
    outputs = np.tile(np.array([[0.0, 1.0]], dtype=np.float32), (len(data.evaluation), 1))
    collector = data.collector()
    collector.add(list(range(len(outputs))), outputs)
    scores = {score["metric"]: score["value"] for score in collector.scores(1)}
    expected = {
        "cola": {"matthews": 0.0, "accuracy": 100 * 721 / 1_043},
        "mrpc": {"f1": 100 * 2 * 279 / (279 + 408), "accuracy": 100 * 279 / 408},
    }
    assert scores == pytest.approx(expected[name] | {"majority_share": 100.0})


@pytest.mark.parametrize("name", ["stsb"])
def test_similarities_are_numbers_from_0_to_5(name: GlueName) -> None:
    labels = [row.label for rows in read(name).values() for row in rows]
    assert (min(labels), max(labels)) == (0.0, 5.0)
    assert {type(label) for label in labels} == {float}
