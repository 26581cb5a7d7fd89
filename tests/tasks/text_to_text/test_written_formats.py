"""How rows are written and answers are read."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
import pytest

from repro.spec.tasks import WrittenName
from repro.tasks.text_to_text.formats import (
    answer_text,
    answer_texts,
    input_text,
    parsed_class,
    parsed_number,
)


@pytest.mark.parametrize(
    ("name", "bare", "prefixed"),
    [
        # rabeehk/hyperformer, data/tasks.py, each task's preprocessor
        ("cola", "sentence: A", "cola sentence: A"),
        ("sst2", "sentence: A", "sst2 sentence: A"),
        ("mrpc", "sentence1: A sentence2: B", "mrpc sentence1: A sentence2: B"),
        ("stsb", "sentence1: A sentence2: B", "stsb sentence1: A sentence2: B"),
        ("rte", "sentence1: A sentence2: B", "rte sentence1: A sentence2: B"),
        ("qqp", "question1: A question2: B", "qqp question1: A question2: B"),
        ("qnli", "question: A sentence: B", "qnli question: A sentence: B"),
        ("mnli", "premise: A hypothesis: B", "mnli premise: A hypothesis: B"),
        ("cb", "premise: A hypothesis: B", "superglue-cb premise: A hypothesis: B"),
        ("scitail", "sentence1: A sentence2: B", "scitail sentence1: A sentence2: B"),
        ("imdb", "A", "imdb A"),
        ("yelp-polarity", "sentence: A", "yelp_polarity sentence: A"),
    ],
)
def test_an_input_is_what_the_released_code_writes(
    name: WrittenName, bare: str, prefixed: str
) -> None:
    texts = ("A", "B")[: 1 + (" B" in bare)]
    assert input_text(name, texts) == bare
    assert input_text(name, texts, prefix=True) == prefixed


def test_as_released_mnli_has_no_second_colon_and_other_tasks_have_theirs() -> None:
    assert input_text("mnli", ("A", "B"), colon=False) == "premise: A hypothesis B"
    assert input_text("cb", ("A", "B"), colon=False) == "premise: A hypothesis: B"


def test_a_class_is_written_as_its_number() -> None:
    assert [answer_text("mnli", label, "0.2") for label in range(3)] == ["0", "1", "2"]
    assert answer_texts("mnli", "0.2") == ("0", "1", "2")
    assert answer_texts("qqp", "0.1") == ("0", "1")


@pytest.mark.parametrize(
    ("similarity", "intended", "released"),
    [(0.0, "0.0", "0.0"), (5.0, "5.0", "5.0"), (2.533, "2.6", "2.5"), (3.111, "3.2", "3.1"),
     (1.25, "1.2", "1.2"), (4.75, "4.8", "4.8"), (0.071, "0.0", "0.1")],
)  # fmt: skip
def test_a_similarity_is_rounded_to_fifths_or_as_released_to_tenths(
    similarity: float, intended: str, released: str
) -> None:
    assert answer_text("stsb", similarity, "0.2") == intended
    assert answer_text("stsb", similarity, "0.1") == released
    # the released function, round_stsb_target
    assert released == str(np.round((similarity * 5) / 5, decimals=1))


@pytest.mark.parametrize(("grid", "count"), [("0.2", 26), ("0.1", 51)])
def test_every_similarity_is_written_as_a_point_of_the_grid(
    grid: Literal["0.2", "0.1"], count: int
) -> None:
    texts = answer_texts("stsb", grid)
    assert len(set(texts)) == count
    assert (texts[0], texts[-1]) == ("0.0", "5.0")
    # the 26 classes of the released code
    if grid == "0.2":
        assert list(texts) == [str(np.round(y, decimals=1)) for y in np.arange(0, 5.2, 0.2)]
    assert {answer_text("stsb", y / 100, grid) for y in range(501)} == set(texts)


@pytest.mark.parametrize(
    ("text", "label"),
    [("0", 0), ("1", 1), (" 1 ", 1), ("2", -1), ("", -1), ("01", -1), ("1.0", -1), ("yes", -1)],
)
def test_a_class_is_read_only_from_its_exact_text(text: str, label: int) -> None:
    assert parsed_class("cola", text) == label


@pytest.mark.parametrize(
    ("text", "number"),
    [("3.8", 3.8), (" 3.8 ", 3.8), ("4", 4.0), ("", -1.0), ("3 . 8", -1.0), ("much", -1.0),
     ("nan", -1.0), ("inf", -1.0)],
)  # fmt: skip
def test_a_number_is_read_or_counts_as_minus_one(text: str, number: float) -> None:
    assert parsed_number(text) == number
    assert math.isfinite(parsed_number(text))
