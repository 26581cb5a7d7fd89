"""Entities, their F1, and what becomes of words that the model does not read."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray
from tagging_samples import numbers, sentence, tagging_data, tagging_task
from tiny_models import minilm_tokenizer

from repro.spec.tagging import TAGS, UNTAGGED
from repro.tasks.tagging import metric
from repro.tasks.tagging.examples import make_examples
from repro.tasks.tagging.task import TaggingData
from repro.training.batches import collate

GOLD = "B-PER I-PER O B-LOC O B-ORG I-ORG I-ORG"


@pytest.mark.parametrize(
    ("predicted", "right", "found"),
    [
        (GOLD, 3, 3),
        ("O O O O O O O O", 0, 0),
        ("B-PER O O B-LOC O B-ORG I-ORG I-ORG", 2, 3),  # a wrong end is no entity
        ("B-PER I-PER O B-ORG O B-ORG I-ORG I-ORG", 2, 3),  # nor is a wrong type
        ("B-PER B-PER O B-LOC O B-ORG I-ORG I-ORG", 2, 4),  # nor are the halves of one
        ("I-PER I-PER O I-LOC O I-ORG I-ORG I-ORG", 3, 3),  # conlleval: I- may begin one
        ("B-PER I-LOC O B-LOC O B-ORG I-ORG I-ORG", 2, 4),  # and does at another type
    ],
)
def test_an_entity_is_right_if_words_and_type_are(predicted: str, right: int, found: int) -> None:
    scores = metric.scores([numbers(predicted)], [numbers(GOLD)])
    precision, recall = right / found if found else 0.0, right / 3
    assert scores["precision"] == pytest.approx(100 * precision)
    assert scores["recall"] == pytest.approx(100 * recall)
    harmonic = 2 * precision * recall / (precision + recall) if right else 0.0
    assert scores["f1"] == pytest.approx(100 * harmonic)


def test_f1_is_over_all_entities_not_the_mean_of_sentences() -> None:
    gold = [numbers("B-LOC"), numbers("B-PER B-PER B-PER")]
    predicted = [numbers("B-LOC"), numbers("B-PER O O")]
    scores = metric.scores(predicted, gold)  # 2 right of 2 found and 4 gold
    assert scores["f1"] == pytest.approx(100 * 2 * 2 / (2 + 4))
    assert scores["accuracy"] == pytest.approx(100 * 2 / 4)


def spans(tags: Sequence[int]) -> set[tuple[int, int, str]]:
    """A second reading: a letter a type, capital where conlleval begins an entity."""
    letters = {"PER": "p", "ORG": "o", "LOC": "l", "MISC": "m"}
    line, before = "", "-"
    for tag in tags:
        side, _, kind = TAGS[tag].partition("-")
        letter = letters.get(kind, "-")
        begins = side == "B" or letter != before
        line += letter.upper() if begins and kind else letter
        before = letter
    kinds = {letter: kind for kind, letter in letters.items()}
    found = re.finditer(r"([POLM])([polm]*)", line)
    return {(hit.start(), hit.end() - 1, kinds[hit[1].lower()]) for hit in found}


def test_entities_agree_with_a_second_reading_of_random_tags() -> None:
    draw = random.Random(0)
    for _ in range(2_000):
        tags = [draw.randrange(len(TAGS)) for _ in range(draw.randrange(1, 9))]
        assert metric.entities(tags) == spans(tags), [TAGS[tag] for tag in tags]


def outputs_for(data: TaggingData, wanted: list[list[int]]) -> NDArray[np.float32]:
    """Outputs (rows, length, tags) whose largest is the wanted tag of each word's first piece."""
    length = max(len(example.input_ids) for example in data.evaluation)
    outputs = np.zeros((len(wanted), length, len(TAGS)), dtype=np.float32)
    outputs[..., 7] = 1.0  # what stands elsewhere says B-MISC and must not be read
    for row, (example, tags) in enumerate(zip(data.evaluation, wanted, strict=True)):
        for place, tag in zip(example.firsts, tags, strict=True):
            if place >= 0:
                outputs[row, place, :] = 0.0
                outputs[row, place, tag] = 1.0
    return outputs


def test_a_tag_stands_on_the_first_piece_of_its_word() -> None:
    tokenizer = minilm_tokenizer()
    example = make_examples([sentence("Wolfgang lives", "B-PER O")], tokenizer, 32)[0]
    pieces = tokenizer.convert_ids_to_tokens(example.input_ids.tolist())
    assert pieces[0] == "[CLS]"
    assert pieces[-1] == "[SEP]"
    rebuilt = "".join(piece.removeprefix("##") for piece in pieces[1:-1])
    assert rebuilt == "wolfganglives"
    tagged = {place: tag for place, tag in enumerate(example.target) if tag != UNTAGGED}
    assert list(tagged.values()) == [1, 0]
    assert [pieces[place].startswith("##") for place in tagged] == [False, False]
    rare = make_examples([sentence("Xyzzyqwk Oslo", "B-PER B-LOC")], tokenizer, 32)[0]
    assert len(rare.input_ids) > 4  # the first word has several pieces
    assert rare.target.tolist()[1] == 1
    assert rare.target.tolist()[2:-2] == [UNTAGGED] * (len(rare.input_ids) - 4)
    assert rare.target.tolist()[-2:] == [5, UNTAGGED]


def test_words_that_are_cut_off_count_as_outside() -> None:
    tokenizer = minilm_tokenizer()
    long = sentence("Ann met Bob in Rome and Oslo", "B-PER O B-PER O B-LOC O B-LOC")
    cut = make_examples([long], tokenizer, 5)  # [CLS] ann met bob [SEP]
    assert cut[0].firsts.tolist() == [1, 2, 3, -1, -1, -1, -1]
    data = TaggingData(tagging_task(), [], cut, {"validation": slice(0, 1)}, 0)
    collector = data.collector()
    collector.add([0], outputs_for(data, [list(long.tags)]))
    assert collector.predictions()["validation"]["predictions"] == [
        ["B-PER", "O", "B-PER", "O", "O", "O", "O"]
    ]
    found = {score["metric"]: score for score in collector.scores(1)}
    assert found["recall"]["value"] == 50.0
    assert found["precision"]["value"] == 100.0
    assert found["read_share"]["value"] == pytest.approx(100 * 3 / 7)
    assert found["read_share"]["n"] == 7


def test_scores_of_every_split_and_the_collapsed_answer() -> None:
    data = tagging_data()
    gold = [list(example.sentence.tags) for example in data.evaluation]
    right, nothing = data.collector(), data.collector()
    backwards = list(reversed(range(len(gold))))
    right.add(backwards, outputs_for(data, gold)[backwards])
    nothing.add(list(range(len(gold))), outputs_for(data, [[0] * len(tags) for tags in gold]))
    scores = right.scores(3)
    assert data.headline(scores) == {"validation/f1": 100.0, "test/f1": 100.0}
    assert data.monitor(scores) == 100.0
    assert not data.collapsed(scores)
    assert {score["epoch"] for score in scores} == {3}
    assert data.collapsed(nothing.scores(3))
    assert data.monitor(nothing.scores(3)) == 0.0


def test_outputs_that_are_not_finite_or_lack_are_no_score() -> None:
    data = tagging_data()
    collector = data.collector()
    bad = np.full((1, 40, len(TAGS)), np.nan, dtype=np.float32)
    with pytest.raises(FloatingPointError):
        collector.add([0], bad)
    with pytest.raises(ValueError, match="24 sentences have no outputs yet"):
        collector.scores(1)


def test_a_batch_pads_tags_like_tokens() -> None:
    examples = tagging_data().training[:4]
    for length in (None, 50):
        batch = collate(examples, pad_id=0, length=length)
        assert batch.targets.shape == batch.input_ids.shape
        for row, example in enumerate(examples):
            size = len(example.target)
            assert batch.targets[row, :size].tolist() == example.target.tolist()
            assert (batch.targets[row, size:] == UNTAGGED).all()
