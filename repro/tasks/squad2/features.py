"""Questions become windows: a question and as much of its context as a model can read at once.

Two conventions cut a long context. "legacy" is that of the BERT authors' script and of ResAdapters:
the question keeps its first `max_query` pieces and windows step by `stride` tokens. "overlap" is
that of transformers' question-answering example: consecutive windows share `stride` tokens, which
gives far fewer of them. It never cuts a question and stops at one that leaves no room to move on
through its context; here such a question alone keeps its first `max_query` pieces, as in "legacy".
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from repro.errors import ReproError
from repro.tasks.squad2.questions import Question
from repro.tasks.squad2.template import Template, template
from repro.tasks.tokenised import Columns, Tokenisation, arrays, tokenised, values

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

Convention = Literal["legacy", "overlap"]
NULL = 0
"""The position that stands for "no answer": the first special token."""


@dataclass(frozen=True, slots=True, eq=False)
class Window:
    """One input of the model. Arrays are read-only."""

    task: ClassVar[int] = 0

    question: int
    """Position of its question in the list that the windows were made from."""
    input_ids: NDArray[np.int32]
    """(tokens,), not padded."""
    type_ids: NDArray[np.int8]
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
    """(context tokens, 2): the context's characters [begin, end) that each is."""


@dataclass(frozen=True, slots=True)
class Union:
    """The distinct windows of both conventions, and where each convention's windows are."""

    windows: list[Window]
    indices: dict[Convention, list[int]]


def make_windows(
    questions: Sequence[Question],
    tokenizer: PreTrainedTokenizerBase,
    convention: Convention,
    *,
    max_length: int,
    stride: int,
    max_query: int,
    cache: Path | None = None,
) -> list[Window]:
    """The windows of every question, in the order of `questions` and of the context.

    `max_length` counts a window's tokens with the special ones; `stride` is the step ("legacy") or
    the overlap ("overlap") in tokens; `max_query` limits the question, of "overlap" only one that
    leaves no room to move on through its context. Raises ReproError when a question that is cut so
    leaves no room either.
    """
    from datasets import Dataset

    rows = Dataset.from_dict(
        {
            "number": range(len(questions)),
            "context": [each.context for each in questions],
            "question": [each.question for each in questions],
            "answer": [each.answers[0] if each.answerable else None for each in questions],
            "start": [each.starts[0] if each.answerable else None for each in questions],
        }
    )
    limits = {"max_length": max_length, "stride": stride, "max_query": max_query}
    mapped = tokenised(rows, WINDOWS, tokenizer, cache, convention=convention, **limits)
    of, first, last, notes = (values(mapped, name) for name in ("of", "first", "last", "note"))
    cut = {of[row]: None for row, note in enumerate(notes) if note == CUT}
    stuck = [(first[row], questions[of[row]]) for row, note in enumerate(notes) if note == STUCK]
    if stuck:
        needed = _needed(convention, stride)
        raise _no_room(stuck, max_length, template(tokenizer), needed, tokenizer.model_max_length)
    if cut:
        named = ", ".join(questions[number].id for number in cut)
        print(
            f"Too long for windows of {max_length} tokens, and cut to their first {max_query} "
            f"pieces: questions {named}.",
            file=sys.stderr,
        )
    columns = zip(
        of,
        arrays(mapped, "input_ids"),
        arrays(mapped, "type_ids"),
        first,
        last,
        values(mapped, "context_token"),
        zip(values(mapped, "answer_first"), values(mapped, "answer_last"), strict=True),
        (offsets.reshape(-1, 2) for offsets in arrays(mapped, "offsets")),
        strict=True,
    )
    return [Window(*fields) for fields in columns]


def _cut(
    rows: Columns,
    tokenizer: PreTrainedTokenizerBase,
    convention: Convention,
    max_length: int,
    stride: int,
    max_query: int,
) -> Columns:
    """The windows of a batch of questions; a question without room for any has one, STUCK."""
    layout = template(tokenizer)
    contexts, asked = (_tokenise(tokenizer, rows[name]) for name in ("context", "question"))
    room, needed = max_length - layout.specials, _needed(convention, stride)
    windows = []
    for number, text, question, answer, start in zip(*(rows[name] for name in ROWS), strict=True):
        (context, offsets), query = contexts[text], asked[question][0]
        fits = _fits(len(context), room - len(query), needed)
        if convention == "legacy" or not fits:
            query = query[:max_query]
        note = ORDINARY if convention == "legacy" or fits else CUT
        capacity = room - len(query)
        step = min(stride, capacity) if convention == "legacy" else capacity - stride
        slices = _cuts(len(context), capacity, step)
        if not _fits(len(context), capacity, needed):
            note, slices = STUCK, iter([(0, 0)])
        gold = None if answer is None else answer_tokens(answer, start, offsets)
        first = len(layout.before) + len(query) + len(layout.between)
        for begin, end in slices:
            target = (NULL, NULL)
            if gold is not None and begin <= gold[0] and gold[1] < end:
                target = (gold[0] - begin + first, gold[1] - begin + first)
            ids, types = layout.filled(query, context[begin:end])
            place = (first, first + end - begin, begin, *target)
            windows.append((number, ids, types, *place, offsets[begin:end].ravel(), note))
    return dict(zip(WINDOWS.columns, map(list, zip(*windows, strict=True)), strict=True))


ROWS = ("number", "context", "question", "answer", "start")
ORDINARY, CUT, STUCK = range(3)
WINDOWS = Tokenisation(
    _cut,
    {
        "of": "int32",
        "input_ids": ["int32"],
        "type_ids": ["int8"],
        "first": "int32",
        "last": "int32",
        "context_token": "int32",
        "answer_first": "int32",
        "answer_last": "int32",
        "offsets": ["int32"],
        "note": "int8",
    },
    revision=1,
)
"""`of` is the question's place; `note` says whether the question was cut, or left no room."""


def _needed(convention: Convention, stride: int) -> int:
    """How many context tokens a window that moves on must have."""
    return 1 if convention == "legacy" else stride + 1


def _fits(tokens: int, capacity: int, needed: int) -> bool:
    """Whether windows of `capacity` context tokens show a whole context of `tokens`."""
    return capacity >= 1 and (tokens <= capacity or capacity >= needed)


def _no_room(
    stuck: Sequence[tuple[int, Question]],
    max_length: int,
    layout: Template,
    needed: int,
    longest: int,
) -> ReproError:
    """The error of questions that leave too little of a window, with each setting that helps.

    `stuck` gives each with the position where its context would begin, `needed` how many tokens a
    context must have, `longest` the window that the tokenizer allows.
    """
    first, question = max(stuck, key=lambda one: one[0])
    pieces, room = first - len(layout.before) - len(layout.between), max_length - layout.specials
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
    begin = window.offsets[start - window.first, 0]
    stop = window.offsets[end - window.first, 1]
    return question.context[begin:stop].strip()


def answer_tokens(text: str, start: int, offsets: NDArray[np.int32]) -> tuple[int, int] | None:
    """First and last context token of the smallest span that covers an answer.

    None where no token has any of its characters.
    """
    begin, stop = start + len(text) - len(text.lstrip()), start + len(text.rstrip())
    first = int(np.searchsorted(offsets[:, 1], begin, side="right"))
    last = int(np.searchsorted(offsets[:, 0], stop, side="left")) - 1
    return (first, last) if first <= last else None


def _tokenise(
    tokenizer: PreTrainedTokenizerBase, texts: Sequence[str]
) -> dict[str, tuple[NDArray[np.int32], NDArray[np.int32]]]:
    """Every distinct text's tokens (tokens,), no special ones, and characters (tokens, 2)."""
    distinct = list(dict.fromkeys(texts))
    encoded = tokenizer(
        distinct,
        add_special_tokens=False,
        truncation=False,
        padding=False,
        return_offsets_mapping=True,
        return_attention_mask=False,
        return_token_type_ids=False,
        verbose=False,
    )
    tokens = (np.array(each, np.int32) for each in encoded["input_ids"])
    offsets = (np.array(each, np.int32).reshape(-1, 2) for each in encoded["offset_mapping"])
    return dict(zip(distinct, zip(tokens, offsets, strict=True), strict=True))


def _cuts(tokens: int, capacity: int, step: int) -> Iterator[tuple[int, int]]:
    """The context tokens [begin, end) of each window, until one reaches the end."""
    begin = 0
    while begin + capacity < tokens:
        yield begin, begin + capacity
        begin += step
    yield begin, tokens
