"""One question of SQuAD, and the questions of a data set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datasets import Dataset


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


def questions_of(found: Dataset) -> list[Question]:
    """The questions of a split, in their order; equal contexts are one string."""
    columns, contexts = found[:], dict[str, str]()
    texts = (columns[name] for name in ("id", "title", "context", "question", "answers"))
    return [
        Question(
            id,
            title,
            contexts.setdefault(context, context),
            question,
            tuple(answers["text"]),
            tuple(answers["answer_start"]),
        )
        for id, title, context, question, answers in zip(*texts, strict=True)
    ]
