"""What is scored: every feature convention x decoding x evaluation set, from one pass of the model.

A protocol is named "<convention>/<decoding>". The headline is that of ResAdapters: legacy windows,
argmax pair, the CS224N split; the others stand beside it at no cost in training.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from repro.spec import SquadTask
from repro.tasks.data import check_ids, score
from repro.tasks.squad2.decoding import Answers, Outcomes, answers
from repro.tasks.squad2.features import Convention, Window, make_windows, union
from repro.tasks.squad2.questions import Question, evaluation_questions, evaluation_sets

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

HEADLINE = "legacy/argmax-pair"
SPAN_DECODING = "best-span"


@dataclass(frozen=True, slots=True, eq=False)
class Evaluation:
    """All that scoring a run needs, made once a job."""

    task: str
    questions: list[Question]
    windows: list[Window]
    """The distinct windows of both conventions: what the model runs over."""
    indices: dict[Convention, list[int]]
    """Each convention's windows, as positions in `windows`."""
    sets: dict[str, list[int]]
    """Each scored set, as positions in `questions`."""


def prepare_evaluation(
    task: SquadTask, tokenizer: PreTrainedTokenizerBase, cache: Path | None = None
) -> Evaluation:
    """The evaluation of a task; raises what the sources raise for missing or other data."""
    questions = evaluation_questions(task)
    cut = partial(
        make_windows,
        questions,
        tokenizer,
        max_length=task.max_length,
        stride=task.stride,
        max_query=task.max_query,
        cache=cache,
    )
    both = union(cut("legacy"), cut("overlap"))
    sets = evaluation_sets(task, questions)
    return Evaluation(task.name, questions, both.windows, both.indices, sets)


def score_run(outcomes: Outcomes, evaluation: Evaluation) -> list[dict[str, Any]]:
    """Every score of one model; `outcomes` are those of `evaluation.windows`, in their order.
    Scores are in percent, thresholds in logits.

    Metrics: "em", "f1" for ALL, HasAns, NoAns; "best_em", "best_f1" and their thresholds, and
    "null_rate" (share of questions left unanswered) for ALL; for best-span "span_f1" on HasAns, the
    F1 of the best span whatever the null score says. A group without questions has no scores.
    """
    found = answers_by_protocol(outcomes, evaluation)
    return score_answers(found, evaluation.task, evaluation.questions, evaluation.sets)


def score_answers(
    found: Mapping[str, Answers],
    task: str,
    questions: Sequence[Question],
    sets: Mapping[str, Sequence[int]],
) -> list[dict[str, Any]]:
    """The same of the answers under every protocol; `sets` are positions in `questions`."""
    return [
        score(task, split, protocol, metric, value, count, group)
        for split, positions in sets.items()
        for protocol, answered in found.items()
        for group, metric, value, count in _scores(
            protocol, answered, [questions[position] for position in positions]
        )
    ]


def answers_by_protocol(outcomes: Outcomes, evaluation: Evaluation) -> dict[str, Answers]:
    """The answers to all questions under every protocol."""
    return {
        f"{convention}/{decoding}": found
        for convention, indices in evaluation.indices.items()
        for decoding, found in answers(
            outcomes, evaluation.windows, evaluation.questions, indices
        ).items()
    }


def predictions_document(outcomes: Outcomes, evaluation: Evaluation) -> dict[str, Any]:
    """The predictions as strict JSON data, enough to score them again without the model.

    `{protocol: {"text": {id: answer}, "margin": {id: number}, "span_text": {id: best span}}}`; a
    "text" object is a prediction file of the official evaluation script.
    """
    return {
        protocol: {"text": found.texts, "margin": found.margins, "span_text": found.spans}
        for protocol, found in answers_by_protocol(outcomes, evaluation).items()
    }


def rescored(task: SquadTask, document: dict[str, Any]) -> list[dict[str, Any]]:
    """See `repro.spec.task.Task.rescored`."""
    questions = evaluation_questions(task)
    ids = sorted(question.id for question in questions)
    for protocol, stored in document.items():
        check_ids(protocol, sorted(stored["text"]), ids)
    found = {
        protocol: Answers(stored["text"], stored["margin"], stored["span_text"])
        for protocol, stored in document.items()
    }
    return score_answers(found, task.name, questions, evaluation_sets(task, questions))


def _scores(
    protocol: str, found: Answers, questions: list[Question]
) -> Iterator[tuple[str, str, float, int]]:
    """(group, metric, value, questions) of one protocol on one set."""
    from repro.tasks.metrics import squad_scores

    answers = {question.id: question.answers for question in questions}
    groups = squad_scores.score(found.texts, answers, found.margins, found.spans)
    for group, values in groups.items():
        count = int(values.pop("n"))
        for metric, value in values.items():
            yield group, metric, value, count
    unanswered = sum(not found.texts[question.id] for question in questions)
    yield "ALL", "null_rate", 100 * unanswered / len(questions), len(questions)
    answerable = {id: golds for id, golds in answers.items() if golds}
    if answerable and protocol.endswith(SPAN_DECODING):
        spans = squad_scores.score(found.spans, answerable)["HasAns"]
        yield "HasAns", "span_f1", spans["f1"], len(answerable)
