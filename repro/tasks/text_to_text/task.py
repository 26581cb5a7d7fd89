"""All that the training loop needs of tasks of text to text, made once a job."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from repro.spec import TextToText
from repro.spec.facts import Metric
from repro.spec.tasks import WrittenName
from repro.spec.text_to_text import TEXT_TO_TEXT
from repro.tasks.data import check_ids, digest_of_ids, score
from repro.tasks.text_to_text.examples import SPANS, TextExample, make_examples
from repro.tasks.text_to_text.formats import INVALID, answer_text, parsed_class, parsed_number
from repro.tasks.text_to_text.rows import divided, task_rows

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

PROTOCOL = "text-to-text"
VALIDATION, TEST = "validation", "test"
INVALID_SHARE, MAJORITY = "invalid_share", "majority_share"


@dataclass(frozen=True, slots=True)
class Part:
    """The validation or test rows of one task, and where they stand among the scored ones."""

    name: WrittenName
    split: str
    place: slice

    @property
    def rows(self) -> int:
        """How many they are."""
        return int(self.place.stop) - int(self.place.start)


@dataclass(frozen=True, slots=True)
class TextToTextData:
    """The examples of every task of a mixture; those of all validation parts are watched."""

    task: TextToText
    tokenizer: PreTrainedTokenizerBase
    training: list[TextExample]
    evaluation: list[TextExample]
    parts: list[Part]
    """Validation parts in the order of the tasks, then test parts."""

    @property
    def watched(self) -> int:
        """The validation rows."""
        return sum(part.rows for part in self.parts if part.split == VALIDATION)

    @property
    def pad_id(self) -> int:
        """The token that fills a batch."""
        return int(self.tokenizer.pad_token_id)

    @property
    def drawn(self) -> dict[str, str]:
        """ "task/split" -> digest of the ids of its rows, in order."""
        trained = {
            f"{name}/train": digest_of_ids(e.idx for e in self.training if e.task == number)
            for number, name in enumerate(self.task.tasks)
        }
        scored = {
            f"{part.name}/{part.split}": digest_of_ids(e.idx for e in self.evaluation[part.place])
            for part in self.parts
        }
        return trained | scored

    def collector(self) -> TextCollector:
        """A new one, for one run and one evaluation."""
        return TextCollector(self)

    def headline(self, scores: list[dict[str, Any]]) -> dict[str, float]:
        """A single task's printed metrics, or the mean over the tasks, by "split/metric"."""
        if len(self.task.tasks) > 1:
            means = {split: self._mean(scores, split) for split in (VALIDATION, TEST)}
            return {f"{split}/mean": mean for split, mean in means.items() if mean is not None}
        metrics = printed(self.task.tasks[0])
        return {
            f"{score['split']}/{score['metric']}": score["value"]
            for score in scores
            if score["metric"] in metrics
        }

    def monitor(self, scores: list[dict[str, Any]]) -> float | None:
        """The plain mean of all metrics that the paper prints of all tasks, on validation rows."""
        return self._mean(scores, VALIDATION)

    def collapsed(self, scores: list[dict[str, Any]]) -> bool:
        """Whether every task got one answer for all of its test rows."""
        test = [s for s in scores if s["split"] == TEST]
        shares = [s["value"] for s in test or scores if s["metric"] == MAJORITY]
        return bool(shares) and all(share == 100.0 for share in shares)

    def _mean(self, scores: list[dict[str, Any]], split: str) -> float | None:
        found = {(s["task"], s["metric"]): s["value"] for s in scores if s["split"] == split}
        wanted = [(name, metric) for name in self.task.tasks for metric in printed(name)]
        return fmean(found[key] for key in wanted) if found.keys() >= set(wanted) else None


class TextCollector:
    """Keeps one run's answers, as texts, until all are there to be scored."""

    def __init__(self, data: TextToTextData) -> None:
        self.data = data
        self.answers: list[str | None] = [None] * len(data.evaluation)

    def add(self, indices: list[int], outputs: NDArray[Any]) -> None:
        """Takes the tokens (batch, longest) of the answers for the examples `indices`."""
        spans = self.data.task.tasks[self.data.evaluation[indices[0]].task] == SPANS
        texts = _texts(list(outputs), self.data.tokenizer, marks=spans)
        for index, text in zip(indices, texts, strict=True):
            self.answers[index] = text

    def scores(self, epoch: int) -> list[dict[str, Any]]:
        """Every task's scores of its validation rows, and of its test rows where some were seen, in
        percent. Raises ValueError where answers lack.
        """
        return [
            {**score, "epoch": epoch}
            for part, answers in self._parts()
            for score in split_scores(part.name, part.split, answers, self._gold(part))
        ]

    def predictions(self) -> dict[str, Any]:
        """`{task: {split: {"ids": [...], "texts": [...]}}}`, by row; a text is as it was written,
        blanks around it included.
        """
        found: dict[str, Any] = {}
        for part, answers in self._parts():
            ids = [example.idx for example in self.data.evaluation[part.place]]
            found.setdefault(part.name, {})[part.split] = {"ids": ids, "texts": answers}
        return found

    def _parts(self) -> Iterator[tuple[Part, list[str]]]:
        for part in self.data.parts:
            answers = self.answers[part.place]
            seen = [answer for answer in answers if answer is not None]
            if part.place.start >= self.data.watched and not seen:
                continue
            if len(seen) < len(answers):
                raise ValueError(f"{len(answers) - len(seen)} examples have no answers yet")
            yield part, seen

    def _gold(self, part: Part) -> list[str]:
        tokens = [example.target.tokens for example in self.data.evaluation[part.place]]
        return _texts(tokens, self.data.tokenizer, marks=part.name == SPANS)


def split_scores(
    name: WrittenName, split: str, answers: Sequence[str], gold: Sequence[str]
) -> Iterator[dict[str, Any]]:
    """Every score of one part of a task, in percent, but for its epoch; see `measured`."""
    for metric, value in measured(name, answers, gold).items():
        yield score(name, split, PROTOCOL, metric, 100 * value, len(answers))


def rescored(task: TextToText, document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """See `repro.spec.task.Task.rescored`; all but span corruption, whose right answers are tokens
    of the model's own tokenizer.
    """
    for name in (name for name in task.tasks if name in document and name != SPANS):
        rows = divided(task_rows(task, name), name, task)
        for split in (VALIDATION, TEST):
            if split in document[name]:
                stored = document[name][split]
                check_ids(f"{name}, {split}", stored["ids"], [row.idx for row in rows[split]])
                gold = [answer_text(name, row.label, task.grid) for row in rows[split]]
                yield from split_scores(name, split, stored["texts"], gold)


def measured(name: WrittenName, answers: Sequence[str], gold: Sequence[str]) -> dict[str, float]:
    """What the paper prints of a task, accuracy of any that has classes, the share of answers that
    are no label or no number, and that of the majority answer: fractions, by metric.

    `gold` are the right answers, in the same order. Span corruption has accuracy alone, of answers
    written exactly, and the majority answer's share. After rabeehk/hyperformer, metrics/metrics.py:
    an answer that is no label is wrong; for F1 it counts as the label that its row does not have,
    for Matthews' correlation as a class of its own; an answer that is no number counts as -1, and a
    correlation that is undefined as 0.
    """
    from repro.tasks.metrics.glue_scores import scores

    majority = {MAJORITY: Counter(map(str.strip, answers)).most_common(1)[0][1] / len(answers)}
    if name == SPANS:
        exact = [answer == right for answer, right in zip(answers, gold, strict=True)]
        return {"accuracy": sum(exact) / len(exact), **majority}
    labels, metrics = TEXT_TO_TEXT[name].labels, printed(name)
    parse: Callable[[str], float] = partial(parsed_class, name) if labels else parsed_number
    said, right = (np.array([parse(text) for text in texts]) for texts in (answers, gold))
    invalid = said == INVALID
    if "f1" in metrics:
        said = np.where(invalid, 1 - right, said)
    found = scores([*metrics, "accuracy"] if labels else metrics, said, right)
    undefined_as_0 = {metric: value or 0.0 for metric, value in found.items()}
    return {**undefined_as_0, INVALID_SHARE: float(invalid.mean()), **majority}


def printed(name: WrittenName) -> tuple[Metric, ...]:
    """The metrics that enter a mean over tasks."""
    return TEXT_TO_TEXT[name].metrics


def load_text_to_text(
    task: TextToText, tokenizer: PreTrainedTokenizerBase, cache: Path | None = None
) -> TextToTextData:
    """Reads, divides and cuts the rows of every task; raises what the sources raise."""
    training: list[TextExample] = []
    scored: dict[str, list[list[TextExample]]] = {VALIDATION: [], TEST: []}
    for name in task.tasks:
        rows = divided(task_rows(task, name), name, task)
        made = make_examples(rows, name, task, tokenizer, cache)
        training += made.pop("train")
        for split, examples in made.items():
            scored[split].append(examples)
    evaluation: list[TextExample] = []
    parts = []
    for split, of in scored.items():
        for name, examples in zip(task.tasks, of, strict=True):
            begin = len(evaluation)
            evaluation += examples
            parts.append(Part(name, split, slice(begin, len(evaluation))))
    return TextToTextData(task, tokenizer, training, evaluation, parts)


def _texts(
    rows: Sequence[NDArray[Any]], tokenizer: PreTrainedTokenizerBase, *, marks: bool
) -> list[str]:
    """What the tokens say up to the first end of text, without padding; `marks` keeps sentinels."""
    end, pad = tokenizer.eos_token_id, tokenizer.pad_token_id
    cut = []
    for row in rows:
        ends = np.flatnonzero(row == end)
        written = row[: ends[0]] if len(ends) else row
        cut.append(written[written != pad].tolist())
    return list(tokenizer.batch_decode(cut, skip_special_tokens=not marks))
