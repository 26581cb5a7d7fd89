"""The questions of SQuAD that a run trains on and is scored on.

They are read or made, then cut down to those of the task's articles, its share of answerable
questions and its cap.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from repro.errors import ReproError
from repro.spec import SquadTask
from repro.spec.facts import KNOWN
from repro.spec.tasks import SPLIT_OF_TRAIN
from repro.tasks.draws import drawn
from repro.tasks.rows import Size, generated, load, published

if TYPE_CHECKING:
    from datasets import Dataset

Subset = Literal["file-order", "shuffled"]
CS224N_TITLES = frozenset(
    {
        "1973_oil_crisis",
        "Computational_complexity_theory",
        "European_Union_law",
        "Force",
        "French_and_Indian_War",
        "Harvard_University",
        "Huguenot",
        "Immune_system",
        "Imperialism",
        "Islamism",
        "Normans",
        "Packet_switching",
        "Scottish_Parliament",
        "Steam_engine",
        "Warsaw",
        "Yuan_dynasty",
    }
)
"""Articles of the official dev set in the Stanford CS224N dev split, which ResAdapters scored.

The course's data/dev-v2.0.json (github minggg/squad, commit 3b6aa9c); its test split is the rest.
"""

EXPECTED = {
    "official-dev": published(KNOWN["squad2"], "validation"),
    "cs224n": Size(6_078, 3_168),
}
"""Of SQuAD 2.0."""


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


def training_questions(task: SquadTask) -> list[Question]:
    """The questions a run trains on: the task's rows, its share, its cap; in file order.

    Raises MissingData where the rows cannot be had or are not those of `task.revision`.
    """
    questions = _read(task, SPLIT_OF_TRAIN[task.train])
    if task.train == "dev-minus-cs224n":
        questions = [question for question in questions if not in_cs224n(question)]
    if task.answerable_share is not None:
        questions = with_share(questions, task.answerable_share, task.subset_seed)
    kept = capped(questions, task.train_rows, task.subset, task.subset_seed, task.answerable_share)
    return _some(kept, "train on")


def evaluation_questions(task: SquadTask) -> list[Question]:
    """The questions a run is scored on, capped, in file order; raises like training_questions."""
    questions = _read(task, "validation")
    if task.evaluation == "cs224n":
        questions = [question for question in questions if in_cs224n(question)]
    kept = capped(questions, task.evaluation_rows, task.subset, task.subset_seed)
    return _some(kept, "score")


def _read(task: SquadTask, split: str) -> list[Question]:
    kinds = {task.source == "generated", task.train == "generated", task.evaluation == "generated"}
    if len(kinds) > 1:
        raise ReproError(
            f"A task is generated as a whole or not at all; this one has source {task.source}, "
            f"train {task.train}, evaluation {task.evaluation}. Set all three to 'generated', or "
            "none."
        )
    if task.source == "generated":
        return questions_of(generated(task.name, task.revision)[split])
    splits = task.splits(task.name)
    return questions_of(load(task.name, task.revision, splits, wanted=[split])[split])


def _some(questions: list[Question], purpose: str) -> list[Question]:
    if not questions:
        raise ReproError(f"The task leaves no question to {purpose}. Raise its cap or its share.")
    return questions


def in_cs224n(question: Question) -> bool:
    """Whether the question belongs to the CS224N dev split."""
    return question.title in CS224N_TITLES


def size(questions: Iterable[Question]) -> Size:
    """How many questions there are, and how many have no answer."""
    answerable = [question.answerable for question in questions]
    return Size(len(answerable), answerable.count(False))


def evaluation_sets(task: SquadTask, questions: Sequence[Question]) -> dict[str, list[int]]:
    """The sets that are scored, as positions in `questions` (of `evaluation_questions(task)`).

    SQuAD 2.0's "official-dev" is scored whole and on its CS224N part. A set that a cap leaves empty
    is absent. Raises ReproError when an uncapped set has not its published size.
    """
    every = list(range(len(questions)))
    sets = {task.evaluation: every}
    if task.name == "squad2" and task.evaluation == "official-dev":
        sets["cs224n"] = [index for index in every if in_cs224n(questions[index])]
    if task.name == "squad2" and task.evaluation_rows is None:
        for name, indices in sets.items():
            _check_size(name, size(questions[index] for index in indices))
    return {name: indices for name, indices in sets.items() if indices}


def _check_size(name: str, found: Size) -> None:
    expected = EXPECTED.get(name, found)
    if found != expected:
        raise ReproError(
            f"The evaluation set {name} has {found}; published are {expected}. Use SQuAD 2.0's "
            "official dev set as squad_v2/validation.jsonl.gz, or cap the evaluated rows."
        )


def with_share(questions: list[Question], share: float, seed: int) -> list[Question]:
    """The largest part with this share of answerable questions; drops rows of one class only.

    Which ones are dropped is drawn by `seed`; the rest stays in its order. Raises ReproError where
    a class is needed but absent.
    """
    answerable = sum(question.answerable for question in questions)
    unanswerable = len(questions) - answerable
    if not answerable or (share < 1 and not unanswerable):
        raise ReproError(
            f"A share of {share:.3g} answerable questions cannot be drawn from {size(questions)}. "
            "Leave the share out, or train on a set that has both kinds."
        )
    if answerable > share * len(questions):
        answerable = round(unanswerable * share / (1 - share))
    else:
        unanswerable = round(answerable * (1 - share) / share)
    return _keep(questions, answerable, unanswerable, "shuffled", seed)


def capped(
    questions: list[Question],
    rows: int | None,
    subset: Subset,
    seed: int,
    share: float | None = None,
) -> list[Question]:
    """At most `rows` questions, the first or drawn by `seed`, in their order.

    With a share, each class is capped by itself so that the share survives the cap.
    """
    if rows is None or rows >= len(questions):
        return questions
    if share is None:
        kept = _first(questions, rows, subset, seed)
        return [question for question in questions if question.id in kept]
    answerable = round(rows * share)
    return _keep(questions, answerable, rows - answerable, subset, seed)


def _keep(
    questions: list[Question],
    answerable: int,
    unanswerable: int,
    subset: Subset,
    seed: int,
) -> list[Question]:
    """So many questions of each class, in their order."""
    kept: set[str] = set()
    for kind, count in ((True, answerable), (False, unanswerable)):
        rows = [question for question in questions if question.answerable is kind]
        kept |= _first(rows, count, subset, seed)
    return [question for question in questions if question.id in kept]


def _first(questions: Sequence[Question], count: int, subset: Subset, seed: int) -> set[str]:
    ids = [question.id for question in questions]
    return set(ids[:count]) if subset == "file-order" else drawn(ids, count, seed)
