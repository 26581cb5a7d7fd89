"""All that the training loop needs of SQuAD, made once a job.

Scored is every feature convention x decoding x evaluation set, from one pass of the model. A
protocol is named "<convention>/<decoding>". The headline is that of ResAdapters: legacy windows,
argmax pair, the CS224N split. The others are stored with it, and cost no training.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from repro.spec import SquadTask
from repro.tasks.data import check_ids, score
from repro.tasks.squad2.decoding import Answers, Outcomes, answers, decode_batch, join
from repro.tasks.squad2.features import Convention, Window, make_windows, union
from repro.tasks.squad2.questions import (
    Question,
    evaluation_questions,
    evaluation_sets,
    training_questions,
)

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

HEADLINE = "legacy/argmax-pair"
SPAN_DECODING = "best-span"
HEADLINES = {
    "squad2": (HEADLINE, "ALL", ("em", "f1", "null_rate")),
    "squad1": (f"legacy/{SPAN_DECODING}", "HasAns", ("span_f1",)),
}
"""Task -> protocol, group and metrics that are shown; the best span answers SQuAD 1.1."""


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


class SquadCollector:
    """Decodes one run's batches as they come, so that no logits are kept."""

    def __init__(self, scoring: Evaluation) -> None:
        self.scoring = scoring
        self.parts: list[Outcomes] = []
        self.order: list[int] = []

    def add(self, indices: list[int], outputs: NDArray[np.float32]) -> None:
        """Takes the start and end logits (2, batch, length) of the windows `indices`.

        Raises FloatingPointError where one is not finite.
        """
        windows = [self.scoring.windows[i] for i in indices]
        self.parts.append(decode_batch(outputs[0], outputs[1], windows))
        self.order.extend(indices)

    def outcomes(self) -> Outcomes:
        """Those of all windows, in the evaluation's order."""
        return join(self.parts, self.order)

    def scores(self, epoch: int) -> list[dict[str, Any]]:
        """Every protocol's scores after `epoch`, as `result.json` holds them."""
        return [{**score, "epoch": epoch} for score in score_run(self.outcomes(), self.scoring)]

    def predictions(self) -> dict[str, Any]:
        """What `predictions.json` holds."""
        return predictions_document(self.outcomes(), self.scoring)


@dataclass(frozen=True, slots=True)
class SquadData:
    """Training windows and the scoring of one task, cut for one tokenizer."""

    training: list[Window]
    scoring: Evaluation
    pad_id: int

    @property
    def evaluation(self) -> list[Window]:
        """The windows that the model runs over to be scored."""
        return self.scoring.windows

    @property
    def watched(self) -> int:
        """All of them: every split is scored after every epoch."""
        return len(self.evaluation)

    @property
    def drawn(self) -> None:
        """Nothing is stored of a plain cap: its seed and rows are in the spec."""

    def collector(self) -> SquadCollector:
        """A new one, for one run and one evaluation."""
        return SquadCollector(self.scoring)

    def headline(self, scores: list[dict[str, Any]]) -> dict[str, float]:
        """Those of the headline protocol, by "split/metric"."""
        protocol, group, metrics = HEADLINES[self.scoring.task]
        return {
            f"{score['split']}/{score['metric']}": score["value"]
            for score in scores
            if (score["protocol"], score["group"]) == (protocol, group)
            and score["metric"] in metrics
        }

    def monitor(self, scores: list[dict[str, Any]]) -> float | None:
        """F1 of the whole evaluation set under the headline protocol."""
        metric = "f1" if self.scoring.task == "squad2" else "span_f1"
        return self.headline(scores).get(f"{next(iter(self.scoring.sets))}/{metric}")

    def collapsed(self, scores: list[dict[str, Any]]) -> bool:
        """Whether the run answers nothing at all under the headline protocol."""
        named = self.headline(scores).items()
        rates = [value for name, value in named if name.endswith("/null_rate")]
        return bool(rates) and all(rate == 100.0 for rate in rates)


def load_squad(
    task: SquadTask, tokenizer: PreTrainedTokenizerBase, cache: Path | None = None
) -> SquadData:
    """Reads, draws and cuts the questions; raises what the sources raise for missing data."""
    training = _windows(task, training_questions(task), tokenizer, cache, task.features)
    scoring = prepare_evaluation(task, tokenizer, cache)
    return SquadData(training, scoring, int(tokenizer.pad_token_id))


def _windows(
    task: SquadTask,
    questions: Sequence[Question],
    tokenizer: PreTrainedTokenizerBase,
    cache: Path | None,
    convention: Convention,
) -> list[Window]:
    return make_windows(
        questions,
        tokenizer,
        convention,
        max_length=task.max_length,
        stride=task.stride,
        max_query=task.max_query,
        cache=cache,
    )


def prepare_evaluation(
    task: SquadTask, tokenizer: PreTrainedTokenizerBase, cache: Path | None = None
) -> Evaluation:
    """The evaluation of a task; raises what the sources raise for missing or other data."""
    questions = evaluation_questions(task)
    cut = partial(_windows, task, questions, tokenizer, cache)
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
