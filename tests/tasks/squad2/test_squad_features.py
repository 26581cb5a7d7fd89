"""Windows, against transformers' own and against slow readings of both conventions."""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from squad_examples import dev_questions, minilm, model_folder, question, tokenizer

from repro.errors import ReproError
from repro.tasks.squad2.features import (
    Convention,
    Window,
    answer_tokens,
    make_windows,
    union,
    window_text,
)
from repro.tasks.squad2.questions import Question
from repro.tasks.squad2.template import Template, template

WORDS = [
    "the",
    "a",
    "Zürich",
    "naïve",
    "co-operate",
    "3.141",
    "don't",
    "(un)likely",
    "東京",
    "résumé",
]
WORDS += ["état", "x", "Straße", "ok", ",", ".", "!"]
CONVENTIONS: tuple[Convention, ...] = ("legacy", "overlap")


def _xlm_r() -> Any:
    return tokenizer(model_folder("e5-small-enpt-12layer"))


def _made_up(count: int, longest: int = 150) -> list[Question]:
    """Questions over random contexts of 1 to `longest` words, half of them answerable."""
    draw = random.Random(7)
    questions = []
    for number in range(count):
        words = draw.choices(WORDS, k=draw.randint(1, longest))
        first = draw.randrange(len(words))
        start = len(" ".join(words[:first])) + (first > 0)
        answer = " ".join(words[first : first + draw.randint(1, 4)])
        golds, starts = ((answer,), (start,)) if number % 2 else ((), ())
        asked = " ".join(draw.choices(WORDS, k=draw.randint(1, 8)))
        questions.append(Question(f"q{number}", "T", " ".join(words), asked, golds, starts))
    return questions


def _windows(
    questions: Sequence[Question],
    tokens: Any,
    convention: Convention,
    *cut: int,
) -> list[Window]:
    """Cut to max_length, stride, max_query; those not given are the paper's."""
    max_length, stride, max_query = cut + (384, 128, 64)[len(cut) :]
    return make_windows(
        questions, tokens, convention, max_length=max_length, stride=stride, max_query=max_query
    )


@lru_cache(maxsize=3_000)
def _pieces(context: str, tokens: Callable[[], Any] = minilm) -> list[tuple[int, int]]:
    """The characters [begin, end) of each token of a context, from the tokenizer itself."""
    found = tokens()(context, add_special_tokens=False, return_offsets_mapping=True, verbose=False)
    return list(found["offset_mapping"])


@lru_cache
def _dev_windows(convention: Convention) -> list[Window]:
    return _windows(dev_questions(), minilm(), convention)


def _of_transformers(
    questions: Sequence[Question], tokens: Any, max_length: int, stride: int
) -> list[tuple[int, list[int], list[int], list[tuple[int, int]]]]:
    """(question, ids, types, offsets of its context tokens), as its example makes them."""
    found = tokens(
        [each.question for each in questions],
        [each.context for each in questions],
        truncation="only_second",
        max_length=max_length,
        stride=stride,
        return_overflowing_tokens=True,
        return_offsets_mapping=True,
    )
    rows = []
    for number, owner in enumerate(found["overflow_to_sample_mapping"]):
        ids = found["input_ids"][number]
        types = found["token_type_ids"][number] if "token_type_ids" in found else [0] * len(ids)
        parts = found.sequence_ids(number)
        pairs = zip(found["offset_mapping"][number], parts, strict=True)
        rows.append((owner, ids, types, [offset for offset, part in pairs if part == 1]))
    return rows


def _as_rows(
    windows: Sequence[Window],
) -> list[tuple[int, list[int], list[int], list[tuple[int, int]]]]:
    rows = []
    for window in windows:
        offsets = [(b, e) for b, e in window.offsets.tolist()]
        rows.append((window.question, window.input_ids.tolist(), window.type_ids.tolist(), offsets))
    return rows


@pytest.mark.parametrize("tokens", [minilm, _xlm_r])
@pytest.mark.parametrize(("max_length", "stride"), [(384, 128), (64, 16), (48, 0)])
def test_overlap_windows_are_those_of_transformers(
    tokens: Callable[[], Any], max_length: int, stride: int
) -> None:
    questions, loaded = _made_up(120), tokens()
    expected = _of_transformers(questions, loaded, max_length, stride)
    assert _as_rows(_windows(questions, loaded, "overlap", max_length, stride)) == expected


def test_overlap_windows_of_the_real_dev_set_are_those_of_transformers() -> None:
    # eval_samples of the card of madlag/bert-large-uncased-whole-word-masking-finetuned-squadv2,
    # which was scored by transformers' example with the same vocabulary
    assert len(_dev_windows("overlap")) == 12_134
    part = dev_questions()[::12]
    windows = _windows(part, minilm(), "overlap")
    assert _as_rows(windows) == _of_transformers(part, minilm(), 384, 128)


def _legacy_by_hand(
    each: Question, tokens: Any, max_length: int, stride: int, max_query: int
) -> list[list[int]]:
    """The ids of a question's windows: BERT's [CLS] question [SEP] part of the context [SEP]."""
    asked = tokens.convert_tokens_to_ids(tokens.tokenize(each.question))[:max_query]
    context = tokens.convert_tokens_to_ids(tokens.tokenize(each.context))
    room = max_length - 3 - len(asked)
    begin, rows = 0, []
    while True:
        part = context[begin : begin + room]
        rows.append([tokens.cls_token_id, *asked, tokens.sep_token_id, *part, tokens.sep_token_id])
        if begin + len(part) == len(context):
            return rows
        begin += min(len(part), stride)


@pytest.mark.parametrize(
    ("max_length", "stride", "max_query"), [(384, 128, 64), (64, 16, 4), (40, 60, 2), (33, 1, 64)]
)
def test_legacy_windows_step_by_the_stride_and_cut_the_question(
    max_length: int, stride: int, max_query: int
) -> None:
    questions, tokens = _made_up(60), minilm()
    windows = _windows(questions, tokens, "legacy", max_length, stride, max_query)
    by_question: dict[int, list[list[int]]] = defaultdict(list)
    for window in windows:
        by_question[window.question].append(window.input_ids.tolist())
    for index, each in enumerate(questions):
        assert by_question[index] == _legacy_by_hand(each, tokens, max_length, stride, max_query)


@pytest.mark.parametrize("convention", CONVENTIONS)
def test_windows_cover_every_token_of_every_context_in_order(convention: Convention) -> None:
    questions = dev_questions()
    windows = _dev_windows(convention)
    seen: dict[int, list[Window]] = defaultdict(list)
    for window in windows:
        assert len(window.input_ids) == len(window.type_ids) <= 384
        seen[window.question].append(window)
    assert [window.question for window in windows] == sorted(window.question for window in windows)
    assert len(seen) == len(questions)
    for index, parts in seen.items():
        spans = [(w.context_token, w.context_token + w.last - w.first) for w in parts]
        assert spans[0][0] == 0
        assert spans[-1][1] == len(_pieces(questions[index].context))
        assert all(a < b <= end < last for (a, end), (b, last) in pairwise(spans))


def _covering(offsets: Sequence[tuple[int, int]], begin: int, end: int) -> tuple[int, int]:
    """First and last token that has a character of [begin, end), by looking at every token."""
    touched = [number for number, (b, e) in enumerate(offsets) if b < end and begin < e]
    return touched[0], touched[-1]


def test_every_gold_answer_of_the_real_dev_set_is_recovered_from_tokens() -> None:
    questions = dev_questions()
    inexact = total = 0
    for each in questions:
        spans = _pieces(each.context)
        for answer, start in zip(each.answers, each.starts, strict=True):
            total += 1
            found = answer_tokens(answer, start, np.array(spans))
            assert found == _covering(spans, start, start + len(answer))
            assert found is not None
            text = each.context[spans[found[0]][0] : spans[found[1]][1]]
            inexact += text != answer
            assert answer in text
    # 70 annotations (39 distinct) start or end inside a word, such as "Japan" in "Japanese" and
    # "3,60" in "3,600": read one by one; every other answer is recovered to the character
    assert (total, inexact) == (20_302, 70)


@pytest.mark.parametrize("convention", CONVENTIONS)
@pytest.mark.parametrize("tokens", [minilm, _xlm_r])
def test_targets_point_at_the_first_gold_answer_where_it_is_wholly_inside(
    convention: Convention, tokens: Callable[[], Any]
) -> None:
    questions = [each for each in _made_up(200) if each.answerable]
    several = [
        replace(each, answers=(*each.answers, "the"), starts=(*each.starts, 0))
        for each in questions
    ]
    reached: set[int] = set()
    for window in _windows(several, tokens(), convention, 64, 16):
        each = several[window.question]
        end = window.context_token + window.last - window.first
        first, last = _covering(_pieces(each.context, tokens), each.starts[0], _end(each))
        inside = window.context_token <= first and last < end
        assert (window.target != (0, 0)) == inside
        if inside:
            shift = window.first - window.context_token
            assert window.target == (first + shift, last + shift)
            assert window.first <= window.target[0] <= window.target[1] < window.last
            assert each.answers[0] in window_text(window, *window.target, each)
            reached.add(window.question)
    assert len(reached) > 0.9 * len(several)


def _end(each: Question) -> int:
    return each.starts[0] + len(each.answers[0])


def test_unanswerable_questions_have_the_null_target() -> None:
    questions = [each for each in _made_up(50) if not each.answerable]
    assert {window.target for window in _windows(questions, minilm(), "legacy")} == {(0, 0)}


def test_an_answer_across_a_window_s_edge_is_null_there() -> None:
    context = "one two three four five six seven eight nine ten " * 3
    each = question("q", context.strip(), "seven eight nine", text="x")
    # [CLS] x [SEP] + 8 context tokens + [SEP]: the answer's tokens are 6, 7, 8
    windows = _windows([each], minilm(), "legacy", 12, 4)
    targets = {window.context_token: window.target for window in windows}
    assert targets[0] == (0, 0)
    assert targets[4] == (3 + 2, 3 + 4)
    assert targets[8] == (0, 0)


def test_a_sentencepiece_span_is_read_without_the_space_before_it() -> None:
    each = question("q", "It is a café, really.", "a café", text="What is it?")
    (window,) = _windows([each], _xlm_r(), "legacy")
    assert window_text(window, *window.target, each) in ("a café", "a café,")
    assert window_text(window, window.first, window.last - 1, each) == each.context


def test_templates_are_those_of_bert_and_xlm_r() -> None:
    assert template(minilm()) == Template(((101, 0),), ((102, 0),), ((102, 1),), 0, 1)
    assert template(_xlm_r()) == Template(((0, 0),), ((2, 0), (2, 0)), ((2, 0),), 0, 0)


def test_each_distinct_window_is_kept_once() -> None:
    questions, tokens = _made_up(80), minilm()
    legacy, overlap = (_windows(questions, tokens, name, 64, 16) for name in CONVENTIONS)
    both = union(legacy, overlap)
    for convention, windows in zip(CONVENTIONS, (legacy, overlap), strict=True):
        picked = [both.windows[index] for index in both.indices[convention]]
        assert _as_rows(picked) == _as_rows(windows)
        assert [window.context_token for window in picked] == [w.context_token for w in windows]
    distinct = {(w.question, w.context_token, tuple(w.input_ids.tolist())) for w in both.windows}
    assert len(distinct) == len(both.windows) < len(legacy) + len(overlap)


def test_equal_tokens_at_two_places_of_a_context_stay_two_windows() -> None:
    each = question("q", ("ann " * 60).strip(), text="who")
    parts = [_windows([each], minilm(), name, 34, 15) for name in CONVENTIONS]
    both = union(*parts)
    places = {window.context_token for part in parts for window in part}
    assert {window.context_token for window in both.windows} == places
    ids = {tuple(window.input_ids.tolist()) for window in both.windows}
    assert len(ids) < len(both.windows) == len(places)


def test_the_real_dev_set_has_few_windows_beyond_one_convention_s() -> None:
    legacy, overlap = map(_dev_windows, CONVENTIONS)
    assert (len(legacy), len(overlap), len(union(legacy, overlap).windows)) == (
        12_232,
        12_134,
        12_493,
    )


def test_the_arrays_of_a_window_are_read_only() -> None:
    (window,) = _windows([question("a", "Ann met Bo.", "Bo")], minilm(), "overlap")
    for array in (window.input_ids, window.type_ids, window.offsets):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 7


def test_only_a_question_that_leaves_no_room_is_cut_as_bert_cuts_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """BERT's run_squad keeps max_query_length pieces; transformers' example raises an error."""
    ordinary, long = (
        question("short", "word " * 100),
        question("long", "word " * 100, text="a " * 300),
    )
    fits = question("fits", "Ann.", text="who " * 70)  # longer than max_query
    windows = _windows([ordinary, long, fits], minilm(), "overlap", 128, 32)
    assert capsys.readouterr().err == (
        "Too long for windows of 128 tokens, and cut to their first 64 pieces: questions long.\n"
    )
    alone = _windows([ordinary, replace(fits)], minilm(), "overlap", 128, 32)
    assert _as_rows([w for w in windows if w.question == 0]) == _as_rows(alone[:-1])
    (whole,) = (window for window in windows if window.question == 2)
    assert whole.first == 72  # [CLS], seventy pieces, [SEP]
    cut = [window for window in windows if window.question == 1]
    assert {window.first for window in cut} == {66}
    # room for 128 - 3 - 64 = 61 tokens: windows begin at 0 and 29, and the second ends the context
    spans = [(w.context_token, w.context_token + w.last - w.first) for w in cut]
    assert spans == [(0, 61), (29, 90), (58, 100)]


@pytest.mark.parametrize("convention", CONVENTIONS)
@pytest.mark.parametrize(
    ("max_length", "stride", "max_query"), [(32, 8, 40), (32, 8, 25), (48, 30, 40), (36, 32, 64)]
)
def test_a_question_without_room_names_itself_and_settings_that_help(
    convention: Convention, max_length: int, stride: int, max_query: int
) -> None:
    """Each printed setting is tried: with it there are windows, without it there are none."""
    asked = [question(f"q{n}", "word " * 90, text="who " * n) for n in (25, 28)]
    given: dict[str, Any] = {"max_length": max_length, "stride": stride, "max_query": max_query}
    try:
        windows = make_windows(asked, minilm(), convention, **given)
    except ReproError as problem:
        said = str(problem)
    else:
        assert convention == "legacy"
        assert {window.question for window in windows} == {0, 1}
        return
    assert said.startswith("Question q")
    assert "('who who who" in said
    settings = re.findall(r"--set task\.(\w+)=(\d+)", said)
    assert settings
    for name, value in settings:
        made = make_windows(asked, minilm(), convention, **given | {name: int(value)})
        assert {window.question for window in made} == {0, 1}, name


def test_a_longer_window_than_the_encoder_reads_is_no_mend() -> None:
    each = question("q", "word " * 600, text="who " * 600)
    with pytest.raises(ReproError, match=r"has 600 pieces, .* Give --set task.max_query=380\."):
        _windows([each], minilm(), "legacy", 384, 128, 600)


def test_a_tokenizer_without_a_token_for_null_is_an_error() -> None:
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    bare = Tokenizer(models.WordLevel({"question": 0, "context": 1}, unk_token="question"))
    bare.pre_tokenizer = pre_tokenizers.Whitespace()
    with pytest.raises(ReproError, match="does not write a special token, the question"):
        template(PreTrainedTokenizerFast(tokenizer_object=bare))


def test_a_tokenizer_without_offsets_is_an_error() -> None:
    class Slow:
        is_fast = False

    slow: Any = Slow()
    with pytest.raises(ReproError, match="Slow cannot say where its tokens lie"):
        template(slow)
