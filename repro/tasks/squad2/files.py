"""The published rows of SQuAD 2.0 and 1.1, checked row by row."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from repro.errors import MissingData
from repro.tasks import files, hub
from repro.tasks.files import DataSet
from repro.tasks.squad2.questions import Question, question_from_row

DATA = {
    "squad2": DataSet("SQuAD 2.0", "squad_v2", "rajpurkar/squad_v2", "squad_v2"),
    "squad1": DataSet("SQuAD 1.1", "squad", "rajpurkar/squad", "plain_text"),
}
"""Name of the task -> where its files are."""
COLUMNS = ["id", "title", "context", "question", "answers"]

_EMPTY_STARTS = re.compile(rb'"answer_start":\s*\[\s*\]')


@dataclass(frozen=True, slots=True)
class Size:
    """How many questions a set has, and how many of them have no answer."""

    rows: int
    unanswerable: int

    def __str__(self) -> str:
        return f"{self.rows:,} questions, {self.unanswerable:,} of them unanswerable"


PUBLISHED = {
    "squad2": {"train": Size(130_319, 43_498), "validation": Size(11_873, 5_945)},
    "squad1": {"train": Size(87_599, 0), "validation": Size(10_570, 0)},
}
"""Rajpurkar, Jia and Liang 2018, Table 2 (train and development): both data sets."""


def quick_size(content: bytes) -> Size:
    """The size of a .jsonl file without parsing it, so that `plan` stays fast.

    Quotes inside a JSON text are escaped, so the pattern only meets the field itself.
    """
    return Size(files.count_lines(content), sum(1 for _ in _EMPTY_STARTS.finditer(content)))


def parse_lines(content: bytes, file: str, name: str = "squad2") -> list[Question]:
    """The questions of a .jsonl file of a task; `file` is its name in errors."""
    return _questions(files.json_rows(content, file), name)


def hub_questions(name: str, split: str, revision: str | None) -> list[Question]:
    """The split's questions from the hub, or its cache, at a revision (None: the newest).

    Raises MissingData where the file cannot be had, or is not the published set.
    """
    data = DATA[name]
    questions = _questions(hub.rows(data, split, COLUMNS, revision), name)
    file = f"{data.hub_id} {hub.file_name(data, split)}"
    check_published(size(questions), name, split, file, "Plan with another revision of it.")
    return questions


def size(questions: Iterable[Question]) -> Size:
    """How many questions there are, and how many have no answer."""
    answerable = [question.answerable for question in questions]
    return Size(len(answerable), answerable.count(False))


def check_published(found: Size, name: str, split: str, file: str, mend: str) -> None:
    """Raises MissingData, which ends with `mend`, unless `found` is the published split's size."""
    expected = PUBLISHED[name][split]
    if found != expected:
        raise MissingData(
            f"{file} is not the published {split} set of {DATA[name].title}: it has {found}; the "
            f"published set has {expected}. {mend}"
        )


def _questions(rows: Iterable[tuple[Any, str]], name: str) -> list[Question]:
    """Checks every row; equal contexts become one string, and ids have to be unique."""
    contexts: dict[str, str] = {}
    seen: set[str] = set()
    questions = []
    for row, place in rows:
        question = question_from_row(row, place, contexts)
        if question.id in seen:
            raise MissingData(
                f"{place}: the id {question.id} stands twice. Remove one of the rows."
            )
        if name == "squad1" and not question.answerable:
            raise MissingData(
                f"{place}: the question {question.id} has no answer, and every question of "
                "SQuAD 1.1 has an answer. Replace the file by the published one."
            )
        seen.add(question.id)
        questions.append(question)
    return questions
