"""Span corruption."""

from __future__ import annotations

import random
from itertools import pairwise
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repro.backbones.tiny_t5 import tiny_tokenizer
from repro.errors import ReproError
from repro.tasks.text_to_text.examples import corrupted, sentinels

MARKS = [9_999, 9_998, 9_997, 9_996, 9_995, 9_994, 9_993]


def restored(read: list[int], written: list[int]) -> list[int]:
    """The text again: every sentinel of what is read replaced by what is written behind it."""
    spans: dict[int, list[int]] = {}
    for token in written:
        if token in MARKS:
            spans[token] = []
            last = token
        else:
            spans[last].append(token)
    return [token for place in read for token in spans.get(place, [place])]


@given(length=st.integers(2, 200), seed=st.integers(0, 10_000))
def test_what_is_read_and_written_together_is_the_text(length: int, seed: int) -> None:
    text = list(range(length))
    read, written = corrupted(text, MARKS, random.Random(seed))
    assert restored(read, written) == text
    used = [token for token in read if token in MARKS]
    assert used == MARKS[: len(used)] == [token for token in written if token in MARKS]
    assert all(first not in MARKS or second not in MARKS for first, second in pairwise(read))


@pytest.mark.parametrize(
    ("length", "dropped", "spans"),
    # 15 % and a third of that, rounded: Raffel et al. 2020 drop 15 in 5 spans of 100 tokens
    [(100, 15, 5), (40, 6, 2), (20, 3, 1), (13, 2, 1), (4, 1, 1), (2, 1, 1), (200, 30, 7)],
)
def test_a_share_of_15_percent_is_dropped_in_spans_of_3(
    length: int, dropped: int, spans: int
) -> None:
    _, written = corrupted(list(range(length)), MARKS, random.Random(1))
    assert len([token for token in written if token in MARKS]) == spans
    assert len(written) - spans == dropped


def test_every_place_is_dropped_now_and_then() -> None:
    gone = [0] * 20
    for seed in range(2_000):
        _, written = corrupted(list(range(20)), MARKS, random.Random(seed))
        for token in written[1:]:
            gone[token] += 1
    # 3 of 20 tokens in one span of 18 places; a token at the end is in one of them only
    assert gone[0] == pytest.approx(2_000 / 18, rel=0.3)
    assert fmean(gone[2:-2]) == pytest.approx(3 * 2_000 / 18, rel=0.05)


def test_a_draw_is_the_same_again() -> None:
    first, again = (corrupted(list(range(50)), MARKS, random.Random(4)) for _ in range(2))
    assert first == again


def test_a_text_of_one_token_has_no_span() -> None:
    with pytest.raises(ReproError, match="fewer than two tokens"):
        corrupted([1], MARKS, random.Random(0))


def test_sentinels_go_downwards_and_a_tokenizer_without_any_is_told() -> None:
    tokenizer = tiny_tokenizer()
    marks = sentinels(tokenizer)
    assert tokenizer.convert_ids_to_tokens(marks)[:2] == ["<extra_id_0>", "<extra_id_1>"]
    assert marks == sorted(marks, reverse=True)

    class Bare:
        def get_vocab(self) -> dict[str, int]:
            return {"a": 0}

    with pytest.raises(ReproError, match="needs T5's sentinels"):
        sentinels(Bare())
