"""Both decodings, against slow readings of their definitions."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
import pytest
from numpy.typing import NDArray
from squad_examples import always_null, question

from repro.tasks.squad2.decoding import (
    NO_SPAN_MARGIN,
    Answers,
    Decoding,
    Outcomes,
    answers,
    decode_batch,
    join,
)
from repro.tasks.squad2.features import Window
from repro.tasks.squad2.questions import Question

Logits = NDArray[np.float32]
WORD = 4  # "w12 "


def _context(words: int) -> str:
    return " ".join(f"w{number:02d}" for number in range(words))


def _text(first: int, last: int) -> str:
    return " ".join(f"w{number:02d}" for number in range(first, last + 1))


def _window(owner: int, asked: int, begin: int, end: int) -> Window:
    """[CLS], `asked` question tokens, [SEP], the context words [begin, end), [SEP]."""
    starts = np.arange(begin, end) * WORD
    return Window(
        question=owner,
        input_ids=np.zeros(asked + end - begin + 3, np.int32),
        type_ids=np.zeros(asked + end - begin + 3, np.int32),
        first=asked + 2,
        last=asked + 2 + end - begin,
        context_token=begin,
        target=(0, 0),
        offsets=np.stack([starts, starts + WORD - 1], axis=1).astype(np.int32),
    )


@dataclass(frozen=True)
class Case:
    """Questions, their windows, and each window's logits (not padded)."""

    questions: list[Question]
    windows: list[Window]
    start: list[Logits]
    end: list[Logits]

    def batch(self, indices: Sequence[int]) -> Outcomes:
        """Decodes some windows, padded with logits that would win if they were read."""
        windows = [self.windows[index] for index in indices]
        longest = max(len(window.input_ids) for window in windows) + 2
        padded = np.full((2, len(windows), longest), 1e6, np.float32)
        for row, index in enumerate(indices):
            padded[0, row, : len(self.start[index])] = self.start[index]
            padded[1, row, : len(self.end[index])] = self.end[index]
        return decode_batch(padded[0], padded[1], windows)

    def answers(self) -> dict[Decoding, Answers]:
        """Both decodings, by the code under test."""
        every = range(len(self.windows))
        return answers(self.batch(every), self.windows, self.questions, every)


def _random_case(seed: int, kind: str, count: int = 40) -> Case:
    draw = np.random.Generator(np.random.PCG64(seed))
    questions, windows = [], []
    for owner in range(count):
        words = int(draw.integers(1, 70))
        questions.append(question(f"q{owner}", _context(words)))
        size, step = int(draw.integers(1, 50)), int(draw.integers(1, 20))
        asked = int(draw.integers(0, 12))
        begin = 0
        while True:
            end = min(begin + size, words)
            windows.append(_window(owner, asked, begin, end))
            if end == words:
                break
            begin += min(step, size)
    lengths = [len(window.input_ids) for window in windows]
    return Case(
        questions,
        windows,
        [_logits(draw, kind, length) for length in lengths],
        [_logits(draw, kind, length) for length in lengths],
    )


def _logits(draw: np.random.Generator, kind: str, length: int) -> Logits:
    if kind == "constant":
        return np.zeros(length, np.float32)
    values = draw.standard_normal(length) * 3
    if kind == "ties":
        values = np.round(values / 3)
    if kind == "null-heavy":
        values[0] += 4
    return values.astype(np.float32)


KINDS = ("plain", "ties", "null-heavy", "constant")


def _grouped(case: Case) -> dict[int, list[int]]:
    owned: dict[int, list[int]] = defaultdict(list)
    for index, window in enumerate(case.windows):
        owned[window.question].append(index)
    return owned


def _words_of(case: Case, index: int, start: int, end: int) -> str:
    window = case.windows[index]
    shift = window.context_token - window.first
    return _text(start + shift, end + shift)


def _slow_best_span(case: Case) -> dict[str, tuple[str, str, float]]:
    """(text, best span, margin) by question: transformers' example, candidate by candidate."""
    found = {}
    for owner, indices in _grouped(case).items():
        candidates, nulls = [], []
        for index in indices:
            start, end, window = case.start[index], case.end[index], case.windows[index]
            nulls.append(start[0] + end[0])
            best_starts = sorted(range(len(start)), key=lambda at: (-start[at], at))[:20]
            best_ends = sorted(range(len(end)), key=lambda at: (-end[at], at))[:20]
            for s in best_starts:
                for e in best_ends:
                    inside = window.first <= s and e < window.last
                    if inside and s <= e and e - s + 1 <= 30:
                        candidates.append((-(start[s] + end[e]), index, s, e))
        margin, span = NO_SPAN_MARGIN, ""
        if candidates:
            cost, index, s, e = min(candidates)
            margin, span = float(min(nulls) + cost), _words_of(case, index, s, e)
        found[f"q{owner}"] = ("" if margin > 0 else span, span, margin)
    return found


def _slow_argmax_pair(case: Case) -> dict[str, tuple[str, str, float]]:
    found = {}
    for owner, indices in _grouped(case).items():
        winner, winning = "", -math.inf
        span, best_span, best_null = "", -math.inf, -math.inf
        for index in indices:
            start, end, window = case.start[index], case.end[index], case.windows[index]
            s, e = list(start).index(max(start)), list(end).index(max(end))
            score = start[s] + end[e]
            valid = s <= e and all(window.first <= at < window.last for at in (s, e))
            text = _words_of(case, index, s, e) if valid else ""
            if score > winning:
                winner, winning = text, score
            if valid and score > best_span:
                span, best_span = text, score
            best_null = max(best_null, start[0] + end[0] if valid else score)
        margin = float(best_null - best_span) if span else NO_SPAN_MARGIN
        found[f"q{owner}"] = (winner, span, margin)
    return found


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(4))
def test_decodings_are_those_of_a_slow_reading(kind: str, seed: int) -> None:
    case = _random_case(seed, kind)
    expected = {"best-span": _slow_best_span(case), "argmax-pair": _slow_argmax_pair(case)}
    for decoding, found in case.answers().items():
        assert {
            id: (found.texts[id], found.spans[id], found.margins[id]) for id in found.texts
        } == expected[decoding]
        assert list(found.texts) == [each.id for each in case.questions]


@pytest.mark.parametrize("seed", range(4))
def test_the_margin_s_sign_says_whether_a_question_is_answered(seed: int) -> None:
    case = _random_case(seed, "null-heavy", 150)
    for found in case.answers().values():
        assert any(found.texts.values())
        assert not all(found.texts.values())
        for id, text in found.texts.items():
            assert bool(text) == (found.margins[id] < 0)


@pytest.mark.parametrize("kind", KINDS)
def test_batches_and_their_order_do_not_change_a_window_s_outcome(kind: str) -> None:
    case = _random_case(5, kind)
    order = sorted(range(len(case.windows)), key=lambda index: len(case.windows[index].input_ids))
    parts = [case.batch(order[begin : begin + 7]) for begin in range(0, len(order), 7)]
    whole, joined = case.batch(range(len(order))), join(parts, order)
    for field in fields(Outcomes):
        np.testing.assert_array_equal(getattr(joined, field.name), getattr(whole, field.name))


def _one(words: int, peaks: dict[str, dict[int, float]], asked: int = 1) -> dict[Decoding, Answers]:
    """One question in one window; logits are 0 but at the given positions."""
    window = _window(0, asked, 0, words)
    start, end = np.zeros((2, len(window.input_ids)), np.float32)
    for position, value in peaks.get("start", {}).items():
        start[position] = value
    for position, value in peaks.get("end", {}).items():
        end[position] = value
    return Case([question("q0", _context(words))], [window], [start], [end]).answers()


def test_a_span_in_the_context_is_answered_with_its_text() -> None:
    # positions: 0 [CLS], 1 question, 2 [SEP], 3 w00, 4 w01, ...
    for found in _one(10, {"start": {5: 4.0}, "end": {7: 3.0}}).values():
        assert found.texts == {"q0": "w02 w03 w04"}
        assert found.margins == {"q0": -7.0}


def test_an_end_before_its_start_is_null_for_the_argmax_pair_only() -> None:
    found = _one(10, {"start": {7: 4.0}, "end": {5: 3.0}})
    assert found["argmax-pair"].texts == {"q0": ""}
    assert found["argmax-pair"].margins == {"q0": NO_SPAN_MARGIN}
    assert found["best-span"].texts == {"q0": "w04"}  # the start's 4 with the next best end, 0
    assert found["best-span"].margins == {"q0": -4.0}


@pytest.mark.parametrize(("start", "end"), [(0, 0), (1, 4), (2, 4), (4, 13), (0, 5), (13, 13)])
def test_a_pair_not_wholly_in_the_context_is_null(start: int, end: int) -> None:
    found = _one(10, {"start": {start: 9.0}, "end": {end: 9.0}})
    assert found["argmax-pair"].texts == {"q0": ""}


def test_a_best_span_has_at_most_thirty_tokens() -> None:
    for words, text in ((30, _text(0, 29)), (31, "w00")):
        found = _one(31, {"start": {3: 5.0}, "end": {2 + words: 5.0}})["best-span"]
        assert found.spans["q0"] == text
    far = _one(60, {"start": {3: 5.0}, "end": {50: 6.0}})
    assert far["argmax-pair"].texts["q0"] == _text(0, 47)


def test_only_the_twenty_best_starts_and_ends_are_tried() -> None:
    # 20 starts in the question are better than the best in the context
    peaks = {"start": dict.fromkeys(range(1, 21), 9.0) | {24: 1.0}, "end": {24: 5.0}}
    found = _one(10, peaks, asked=21)["best-span"]
    assert found.margins == {"q0": NO_SPAN_MARGIN}
    assert found.texts == found.spans == {"q0": ""}
    fewer = {"start": dict.fromkeys(range(1, 20), 9.0) | {24: 1.0}, "end": {24: 5.0}}
    assert _one(10, fewer, asked=21)["best-span"].spans == {"q0": "w01"}


def test_the_null_score_must_beat_the_span_to_win() -> None:
    tie = {"start": {0: 2.0, 4: 3.0}, "end": {0: 2.0, 4: 1.0}}
    assert _one(5, tie)["best-span"].texts == {"q0": "w01"}
    assert _one(5, tie)["best-span"].margins == {"q0": 0.0}
    beaten = {"start": {0: 2.5, 4: 3.0}, "end": {0: 2.0, 4: 1.0}}
    assert _one(5, beaten)["best-span"].texts == {"q0": ""}
    assert _one(5, beaten)["best-span"].spans == {"q0": "w01"}
    assert _one(5, beaten)["best-span"].margins == {"q0": 0.5}


def test_the_null_score_is_the_lowest_and_the_best_pair_the_highest_over_windows() -> None:
    windows = [_window(0, 1, 0, 4), _window(0, 1, 4, 8)]
    start, end = (np.zeros((2, 8), np.float32) for _ in range(2))
    start[:, 0] = (6.0, 1.0)  # null scores 6 and 1
    start[1, 4], end[1, 5] = 2.0, 1.5  # the span w05 w06 scores 3.5
    case = Case([question("q0", _context(8))], windows, list(start), list(end))
    found = case.answers()
    assert found["best-span"].texts == {"q0": "w05 w06"}
    assert found["best-span"].margins == {"q0": 1.0 - 3.5}
    assert found["argmax-pair"].texts == {"q0": ""}  # the first window's null pair scores 6
    assert found["argmax-pair"].spans == {"q0": "w05 w06"}
    assert found["argmax-pair"].margins == {"q0": 6.0 - 3.5}


def test_always_null_answers_nothing_and_offers_nothing() -> None:
    case = _random_case(1, "plain")
    found = answers(
        always_null(case.windows), case.windows, case.questions, range(len(case.windows))
    )
    for each in found.values():
        assert set(each.texts.values()) == set(each.spans.values()) == {""}
        assert set(each.margins.values()) == {NO_SPAN_MARGIN}


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_logits_that_are_not_finite_are_a_failure(value: float) -> None:
    window = _window(0, 1, 0, 4)
    good = np.zeros((1, len(window.input_ids)), np.float32)
    bad = good.copy()
    bad[0, 5] = value
    with pytest.raises(FloatingPointError):
        decode_batch(bad, good, [window])
    with pytest.raises(FloatingPointError):
        decode_batch(good, bad, [window])


def test_windows_of_a_question_that_do_not_stand_side_by_side_are_refused() -> None:
    case = _random_case(2, "plain")
    every = list(range(len(case.windows)))
    with pytest.raises(ValueError, match="side by side"):
        answers(case.batch(every), case.windows, case.questions, [*every[1:], 0])
