"""The questions of a task: read or made, then those of its articles, its share and its cap."""

from __future__ import annotations

from repro.errors import ReproError
from repro.spec import SquadTask
from repro.spec.tasks import SPLIT_OF_TRAIN
from repro.tasks.rows import generated, load
from repro.tasks.squad2 import subsets
from repro.tasks.squad2.questions import Question, questions_of


def training_questions(task: SquadTask) -> list[Question]:
    """The questions a run trains on: the task's rows, its share, its cap; in file order.

    Raises MissingData where the rows cannot be had or are not those of `task.revision`.
    """
    questions = _read(task, SPLIT_OF_TRAIN[task.train])
    if task.train == "dev-minus-cs224n":
        questions = [question for question in questions if not subsets.in_cs224n(question)]
    if task.answerable_share is not None:
        questions = subsets.with_share(questions, task.answerable_share, task.subset_seed)
    kept = subsets.capped(
        questions, task.train_rows, task.subset, task.subset_seed, task.answerable_share
    )
    return _some(kept, "train on")


def evaluation_questions(task: SquadTask) -> list[Question]:
    """The questions a run is scored on, capped, in file order; raises like training_questions."""
    questions = _read(task, "validation")
    if task.evaluation == "cs224n":
        questions = [question for question in questions if subsets.in_cs224n(question)]
    kept = subsets.capped(questions, task.evaluation_rows, task.subset, task.subset_seed)
    return _some(kept, "score")


def _read(task: SquadTask, split: str) -> list[Question]:
    _check_consistent(task)
    if task.source == "generated":
        return questions_of(generated(task.name, task.revision)[split])
    splits = task.splits(task.name)
    return questions_of(load(task.name, task.revision, splits, wanted=[split])[split])


def _check_consistent(task: SquadTask) -> None:
    kinds = {task.source == "generated", task.train == "generated", task.evaluation == "generated"}
    if len(kinds) > 1:
        raise ReproError(
            f"A task is generated as a whole or not at all; this one has source {task.source}, "
            f"train {task.train}, evaluation {task.evaluation}. Set all three to 'generated', or "
            "none."
        )


def _some(questions: list[Question], purpose: str) -> list[Question]:
    if not questions:
        raise ReproError(f"The task leaves no question to {purpose}. Raise its cap or its share.")
    return questions
