"""Entities and their F1, against a second reading of conlleval."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

import pytest

from repro.spec.tagging import TAGS
from repro.tasks.metrics.conll_scores import scores

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
    measured = scores([predicted.split()], [GOLD.split()])
    precision, recall = right / found if found else 0.0, right / 3
    assert measured["precision"] == pytest.approx(100 * precision)
    assert measured["recall"] == pytest.approx(100 * recall)
    harmonic = 2 * precision * recall / (precision + recall) if right else 0.0
    assert measured["f1"] == pytest.approx(100 * harmonic)


def test_f1_is_over_all_entities_not_the_mean_of_sentences() -> None:
    gold = [["B-LOC"], ["B-PER", "B-PER", "B-PER"]]
    predicted = [["B-LOC"], ["B-PER", "O", "O"]]
    found = scores(predicted, gold)  # 2 right of 2 found and 4 gold
    assert found["f1"] == pytest.approx(100 * 2 * 2 / (2 + 4))
    assert found["accuracy"] == pytest.approx(100 * 2 / 4)


def spans(tags: Sequence[str]) -> set[tuple[int, int, str]]:
    """A second reading: a letter a type, capital where conlleval begins an entity."""
    letters = {"PER": "p", "ORG": "o", "LOC": "l", "MISC": "m"}
    line, before = "", "-"
    for tag in tags:
        side, _, kind = tag.partition("-")
        letter = letters.get(kind, "-")
        begins = side == "B" or letter != before
        line += letter.upper() if begins and kind else letter
        before = letter
    kinds = {letter: kind for kind, letter in letters.items()}
    found = re.finditer(r"([POLM])([polm]*)", line)
    return {(hit.start(), hit.end() - 1, kinds[hit[1].lower()]) for hit in found}


def test_entities_agree_with_a_second_reading_of_random_tags() -> None:
    draw = random.Random(0)
    for _ in range(1_000):
        words = draw.randrange(1, 9)
        predicted, gold = (draw.choices(TAGS, k=words) for _ in range(2))
        there, wanted = spans(predicted), spans(gold)
        right = len(there & wanted)
        found = scores([predicted], [gold])
        assert found["precision"] == (100 * right / len(there) if there else 0), predicted
        assert found["recall"] == (100 * right / len(wanted) if wanted else 0), gold


def test_sentences_or_words_without_a_tag_are_refused() -> None:
    for predicted in ([["O"]], [["O"], ["O"]], [["O"], ["O", "O", "O"]]):
        with pytest.raises(ValueError, match="zip"):
            scores(predicted, [["O"], ["O", "O"]])
