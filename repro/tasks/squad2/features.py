"""Questions become windows: a question and as much of its context as a model can read at once.

Two conventions cut a long context. "legacy" is that of the BERT authors' script and of ResAdapters:
the question keeps its first `max_query` pieces and windows step by `stride` tokens. "overlap" is
that of transformers' question-answering example: consecutive windows share `stride` tokens, which
gives far fewer of them. It never cuts a question and stops at one that leaves no room to move on
through its context; here such a question alone keeps its first `max_query` pieces, as in "legacy".
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from repro.errors import ReproError
from repro.tasks.squad2.questions import Question
from repro.tasks.squad2.template import Pieces, Template, template

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

Convention = Literal["legacy", "overlap"]
NULL = 0
"""The position that stands for "no answer": the first special token."""
TEXTS_AT_ONCE = 2_000


@dataclass(frozen=True, slots=True, eq=False)
class Window:
    """One input of the model. Arrays are read-only and shared between windows where equal."""

    task: ClassVar[int] = 0

    question: int
    """Position of its question in the list that the windows were made from."""
    input_ids: NDArray[np.int32]
    """(tokens,), not padded."""
    type_ids: NDArray[np.int32]
    """(tokens,)"""
    first: int
    """Position in the window of its first context token."""
    last: int
    """Position after its last context token."""
    context_token: int
    """Index among the context's tokens of the one at position `first`."""
    target: tuple[int, int]
    """Positions of the first gold answer's first and last token; (0, 0) where it is not wholly
    inside, or there is none."""
    offsets: NDArray[np.int32]
    """(tokens of the whole context, 2): the characters [begin, end) of each."""


@dataclass(frozen=True, slots=True)
class Union:
    """The distinct windows of both conventions, and where each convention's windows are."""

    windows: list[Window]
    indices: dict[Convention, list[int]]


@dataclass(frozen=True, slots=True, eq=False)
class _Text:
    ids: NDArray[np.int32]  # (tokens,)
    offsets: NDArray[np.int32]  # (tokens, 2)


@dataclass(frozen=True, slots=True, eq=False)
class _Pair:
    index: int
    question: NDArray[np.int32]  # (question tokens,)
    context: _Text
    answer: tuple[int, int] | None


def make_windows(
    questions: Sequence[Question],
    tokenizer: PreTrainedTokenizerBase,
    convention: Convention,
    *,
    max_length: int,
    stride: int,
    max_query: int,
) -> list[Window]:
    """The windows of every question, in the order of `questions` and of the context.

    `max_length` counts a window's tokens with the special ones; `stride` is the step ("legacy") or
    the overlap ("overlap") in tokens; `max_query` limits the question, of "overlap" only one that
    leaves no room to move on through its context. Raises ReproError when a question that is cut so
    leaves no room either.
    """
    layout = template(tokenizer)
    contexts = _tokenise(tokenizer, (question.context for question in questions))
    asked = _tokenise(tokenizer, (question.question for question in questions))
    types: dict[tuple[int, int], NDArray[np.int32]] = {}
    windows = []
    room = max_length - layout.specials
    needed = 1 if convention == "legacy" else stride + 1  # context tokens of a window that moves on
    cut: list[Question] = []
    stuck: list[tuple[int, Question]] = []
    for index, question in enumerate(questions):
        context, ids = contexts[question.context], asked[question.question].ids
        fits = _fits(len(context.ids), room - len(ids), needed)
        if convention == "legacy" or not fits:
            ids = ids[:max_query]
        capacity = room - len(ids)
        if not _fits(len(context.ids), capacity, needed):
            stuck.append((len(ids), question))
            continue
        if convention == "overlap" and not fits:
            cut.append(question)
        pair = _Pair(index, ids, context, answer_tokens(question, context.offsets))
        step = min(stride, capacity) if convention == "legacy" else capacity - stride
        for begin, end in _cuts(len(context.ids), capacity, step):
            key = (len(ids), end - begin)
            if key not in types:
                types[key] = _type_ids(layout, *key)
            windows.append(_window(layout, pair, types[key], begin, end))
    if stuck:
        raise _no_room(stuck, max_length, room, needed, tokenizer.model_max_length)
    if cut:
        named = ", ".join(question.id for question in cut)
        print(
            f"Too long for windows of {max_length} tokens, and cut to their first {max_query} "
            f"pieces: questions {named}.",
            file=sys.stderr,
        )
    return windows


def _fits(tokens: int, capacity: int, needed: int) -> bool:
    """Whether windows of `capacity` context tokens show a whole context of `tokens`."""
    return capacity >= 1 and (tokens <= capacity or capacity >= needed)


def _no_room(
    stuck: Sequence[tuple[int, Question]], max_length: int, room: int, needed: int, longest: int
) -> ReproError:
    """The error of questions that leave too little of a window, with each setting that helps.

    `stuck` gives each with its pieces, `room` the tokens of a window that are not special, `needed`
    how many of them a context must have, `longest` the window that the tokenizer allows.
    """
    pieces, question = max(stuck, key=lambda one: one[0])
    capacity = room - pieces
    helps = {
        f"task.max_length={max_length + needed - capacity}": max_length + needed - capacity
        <= longest,
        f"task.stride={capacity - 1}": 2 <= capacity < needed,
        f"task.max_query={room - needed}": room - needed >= 1,
    }
    settings = " or ".join(f"--set {setting}" for setting, does in helps.items() if does)
    others = f" ({len(stuck) - 1} others have too few as well)" if len(stuck) > 1 else ""
    return ReproError(
        f"Question {question.id} ('{question.question[:60]}') has {pieces} pieces, which leave "
        f"{max(capacity, 0)} context tokens of a window of {max_length}; {needed} are needed to "
        f"move on through its context{others}. Give {settings or 'another --backbone'}."
    )


def union(legacy: Sequence[Window], overlap: Sequence[Window]) -> Union:
    """The windows of both conventions, each distinct one once.

    Windows are the same when question, token ids and place in the context are: the model then gives
    the same logits, and the same positions mean the same text.
    """
    places: dict[tuple[int, int, bytes], int] = {}
    windows: list[Window] = []
    indices: dict[Convention, list[int]] = {"legacy": [], "overlap": []}
    parts: tuple[tuple[Convention, Sequence[Window]], ...]
    parts = (("legacy", legacy), ("overlap", overlap))
    for convention, part in parts:
        for window in part:
            key = (window.question, window.context_token, window.input_ids.tobytes())
            place = places.setdefault(key, len(windows))
            if place == len(windows):
                windows.append(window)
            indices[convention].append(place)
    return Union(windows, indices)


def window_text(window: Window, start: int, end: int, question: Question) -> str:
    """The context's own text from the token at position `start` to that at `end`, inclusive.

    Spaces around it are dropped: a SentencePiece token includes the space before it.
    """
    shift = window.context_token - window.first
    begin, stop = window.offsets[start + shift, 0], window.offsets[end + shift, 1]
    return question.context[begin:stop].strip()


def answer_tokens(question: Question, offsets: NDArray[np.int32]) -> tuple[int, int] | None:
    """First and last context token of the smallest span that covers the first gold answer.

    None where there is no answer, or no token has any of its characters.
    """
    if not question.answerable:
        return None
    text = question.answers[0]
    begin = question.starts[0] + len(text) - len(text.lstrip())
    stop = question.starts[0] + len(text.rstrip())
    first = int(np.searchsorted(offsets[:, 1], begin, side="right"))
    last = int(np.searchsorted(offsets[:, 0], stop, side="left")) - 1
    return (first, last) if first <= last else None


def _tokenise(tokenizer: PreTrainedTokenizerBase, texts: Iterable[str]) -> dict[str, _Text]:
    """Every distinct text's tokens, without special ones."""
    distinct = list(dict.fromkeys(texts))
    found: dict[str, _Text] = {}
    for begin in range(0, len(distinct), TEXTS_AT_ONCE):
        part = distinct[begin : begin + TEXTS_AT_ONCE]
        encoded = tokenizer(
            part,
            add_special_tokens=False,
            truncation=False,
            padding=False,
            return_offsets_mapping=True,
            verbose=False,
        )
        for text, ids, offsets in zip(
            part, encoded["input_ids"], encoded["offset_mapping"], strict=True
        ):
            found[text] = _Text(_array(ids), _array(offsets).reshape(-1, 2))
    return found


def _cuts(tokens: int, capacity: int, step: int) -> Iterator[tuple[int, int]]:
    """The context tokens [begin, end) of each window, until one reaches the end."""
    begin = 0
    while begin + capacity < tokens:
        yield begin, begin + capacity
        begin += step
    yield begin, tokens


def _window(
    layout: Template, pair: _Pair, type_ids: NDArray[np.int32], begin: int, end: int
) -> Window:
    """The window that shows the context tokens [begin, end)."""
    slices = (pair.question, _ids(layout.between), pair.context.ids[begin:end])
    first = len(layout.before) + len(pair.question) + len(layout.between)
    target = (NULL, NULL)
    if pair.answer is not None and begin <= pair.answer[0] and pair.answer[1] < end:
        target = (pair.answer[0] - begin + first, pair.answer[1] - begin + first)
    return Window(
        question=pair.index,
        input_ids=_frozen(np.concatenate((_ids(layout.before), *slices, _ids(layout.after)))),
        type_ids=type_ids,
        first=first,
        last=first + end - begin,
        context_token=begin,
        target=target,
        offsets=pair.context.offsets,
    )


def _type_ids(layout: Template, question: int, context: int) -> NDArray[np.int32]:
    """(tokens,) for a question and a context slice of so many tokens."""
    types = [kind for _, kind in layout.before] + [layout.question_type] * question
    types += [kind for _, kind in layout.between] + [layout.context_type] * context
    return _array(types + [kind for _, kind in layout.after])


def _ids(pieces: Pieces) -> NDArray[np.int32]:
    return np.array([token for token, _ in pieces], dtype=np.int32)


def _array(values: object) -> NDArray[np.int32]:
    return _frozen(np.array(values, dtype=np.int32))


def _frozen(array: NDArray[np.int32]) -> NDArray[np.int32]:
    array.flags.writeable = False
    return array
