"""Rows made from a seed stand for every further text task."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from text_samples import text_task
from tiny_models import minilm_tokenizer

from repro.errors import ReproError
from repro.spec.tasks import TextName
from repro.spec.texts import HOULSBY, TEXTS
from repro.tasks.generated import default_revision
from repro.tasks.sentences.rows import generated_rows
from repro.tasks.sentences.task import load_sentences

DEFAULT = default_revision("airline")


@pytest.mark.parametrize("name", TEXTS)
def test_a_generated_set_has_the_tasks_schema(name: TextName) -> None:
    found = generated_rows(name, DEFAULT)
    facts = TEXTS[name]
    assert {split: len(rows) for split, rows in found.items()} == {
        "train": 240, "validation": 60, "test": 60,
    }  # fmt: skip
    every = [row for rows in found.values() for row in rows]
    assert all(len(row.texts) == len(facts.texts) for row in every)
    if facts.labels:
        assert {row.label for row in every} == set(range(len(facts.labels)))
    else:
        assert min(row.label for row in every) == 1.0
        assert max(row.label for row in every) == 5.0


@pytest.mark.parametrize("name", TEXTS)
def test_no_row_stands_in_two_splits(name: TextName) -> None:
    found = generated_rows(name, "seed=1,train=200,validation=100")
    parts = [{row.texts for row in rows} for rows in found.values()]
    assert sum(map(len, parts)) == len(set.union(*parts))


@pytest.mark.parametrize("name", HOULSBY)
def test_no_sentence_stands_in_two_splits(name: TextName) -> None:
    rows = [row.texts for part in generated_rows(name, DEFAULT).values() for row in part]
    assert len(set(rows)) == len(rows)


@pytest.mark.parametrize("name", ["airline", "emotion", "sms-spam"])
def test_words_tell_the_class_of_a_new_sentence(name: TextName) -> None:
    found = generated_rows(name, DEFAULT)
    texts = {split: [row.texts[0] for row in rows] for split, rows in found.items()}
    labels = {split: [row.label for row in rows] for split, rows in found.items()}
    words = CountVectorizer().fit(texts["train"])
    model = LogisticRegression(max_iter=500).fit(words.transform(texts["train"]), labels["train"])
    assert np.mean(model.predict(words.transform(texts["test"])) == labels["test"]) > 0.9


def test_a_generated_task_becomes_examples_of_three_splits() -> None:
    task = text_task("sick-e", source="generated", revision="seed=3,train=20,validation=6")
    data = load_sentences(task, minilm_tokenizer())
    assert (len(data.training), len(data.evaluation)) == (20, 12)
    assert list(data.splits) == ["validation", "test"]


def test_more_rows_than_there_are_sentences_are_refused() -> None:
    """3 classes of 5 wordings, 8 speakers and 8 times."""
    assert len(generated_rows("airline", "seed=0,train=900,validation=30")["train"]) == 900
    with pytest.raises(ReproError, match="at most 960 different rows"):
        generated_rows("airline", "seed=0,train=901,validation=30")
