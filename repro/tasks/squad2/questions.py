"""One question of SQuAD 2.0, and how a row of the published files becomes one.

A row is `{"id", "title", "context", "question", "answers": {"text": [], "answer_start": []}}`, as
on the hub (rajpurkar/squad_v2); an unanswerable question has two empty lists.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from repro.errors import MissingData

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Question:
    """A question about one paragraph; `context[starts[i]:][: len(answers[i])] == answers[i]`."""

    id: str
    title: str
    context: str
    question: str
    answers: tuple[str, ...]
    """Gold answers, one per annotator, repetitions kept; empty when there is none."""
    starts: tuple[int, ...]
    """Character of the context at which each gold answer starts."""

    @property
    def answerable(self) -> bool:
        """Whether the context holds an answer."""
        return bool(self.answers)


def question_from_row(row: object, place: str, contexts: dict[str, str] | None = None) -> Question:
    """Checks a row and makes a `Question` of it.

    `place` names the row for the reader of an error ("train.jsonl.gz, line 7"). `contexts` lets the
    rows of one paragraph share one string (a set repeats each context about seven times). Raises
    MissingData when a field is missing or of a wrong type, or when an answer is not at its start.
    """
    fields = _mapping(row, "the row", place)
    texts = {name: _text(fields, name, place) for name in ("id", "title", "context", "question")}
    answers = _mapping(fields.get("answers"), "'answers'", place)
    found = tuple(_items(answers, "text", str, place))
    starts = tuple(_items(answers, "answer_start", int, place))
    if len(found) != len(starts):
        raise _bad(place, f"it has {len(found)} answer texts but {len(starts)} answer starts")
    for answer, start in zip(found, starts, strict=True):
        _check_answer(texts["context"], answer, start, place)
    if contexts is not None:
        texts["context"] = contexts.setdefault(texts["context"], texts["context"])
    return Question(**texts, answers=found, starts=starts)


def _check_answer(context: str, answer: str, start: int, place: str) -> None:
    if not answer:
        raise _bad(place, "an answer is empty (an unanswerable question has no answers at all)")
    if not 0 <= start < len(context):
        raise _bad(
            place,
            f"answer start {start} lies outside the context, which has {len(context)} characters",
        )
    there = context[start : start + len(answer)]
    if there != answer:
        # Copies written by `datasets` before 1.10 lost the contexts' leading spaces
        # (huggingface/datasets#2585), which moves every answer of such a paragraph.
        raise _bad(place, f"the context has '{there}' at {start}, not the answer '{answer}'")


def _mapping(value: object, name: str, place: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise _bad(place, f"{name} is {_kind(value)}, not an object")
    return value


def _text(fields: Mapping[str, Any], name: str, place: str) -> str:
    value = fields.get(name)
    if not isinstance(value, str):
        raise _bad(place, f"'{name}' is {_kind(value)}, not text")
    return value


def _items(fields: Mapping[str, Any], name: str, kind: type[Item], place: str) -> Sequence[Item]:
    values = fields.get(name)
    # bool is an int to Python, never an answer start
    if not isinstance(values, (list, tuple)) or any(type(value) is not kind for value in values):
        raise _bad(place, f"'answers.{name}' is not a list of {kind.__name__}")
    return values


def _kind(value: object) -> str:
    return "missing" if value is None else f"of type {type(value).__name__}"


def _bad(place: str, problem: str) -> MissingData:
    return MissingData(
        f"{place}: {problem}. Expected a row of SQuAD with id, title, context, question and "
        "answers {text, answer_start}; replace the file by the published one."
    )
