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
from repro.tasks.data import SplitCollector, check_ids, digest_of_ids, joined, score
from repro.tasks.text_to_text.examples import SPANS, TextExample, make_examples
from repro.tasks.text_to_text.formats import INVALID, answer_text, parsed_class, parsed_number
from repro.tasks.text_to_text.rows import divided, task_rows

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

PROTOCOL = "text-to-text"
VALIDATION, TEST = "validation", "test"
INVALID_SHARE, MAJORITY = "invalid_share", "majority_share"


@dataclass(frozen=True, slots=True)
class TextToTextData:
    """The examples of every task of a mixture; those of all validation parts are watched."""

    task: TextToText
    tokenizer: PreTrainedTokenizerBase
    training: list[TextExample]
    evaluation: list[TextExample]
    splits: dict[tuple[WrittenName, str], slice]
    """Where the validation rows of each task stand in `evaluation`, then its test rows."""

    @property
    def watched(self) -> int:
        """The validation rows."""
        return int(self.splits[self.task.tasks[-1], VALIDATION].stop)

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
            f"{name}/{split}": digest_of_ids(e.idx for e in self.evaluation[place])
            for (name, split), place in self.splits.items()
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


class TextCollector(SplitCollector):
    """Keeps one run's answers, as texts, until all are there to be scored."""

    data: TextToTextData

    def add(self, indices: list[int], outputs: NDArray[Any]) -> None:
        """Takes the tokens (batch, longest) of the answers for the examples `indices`."""
        spans = self.data.task.tasks[self.data.evaluation[indices[0]].task] == SPANS
        texts = _texts(list(outputs), self.data.tokenizer, marks=spans)
        for index, text in zip(indices, texts, strict=True):
            self.given[index] = text

    def scored(
        self, split: tuple[WrittenName, str], examples: Sequence[TextExample], given: Sequence[str]
    ) -> Iterator[dict[str, Any]]:
        """The scores of one task's validation or test rows."""
        tokens = [example.target.tokens for example in examples]
        gold = _texts(tokens, self.data.tokenizer, marks=split[0] == SPANS)
        return split_scores(*split, given, gold)

    def predictions(self) -> dict[str, Any]:
        """`{task: {split: {"ids": [...], "texts": [...]}}}`, by row; a text is as it was written,
        blanks around it included.
        """
        found: dict[str, Any] = {}
        for (name, split), examples, given in self.parts():
            ids = [example.idx for example in examples]
            found.setdefault(name, {})[split] = {"ids": ids, "texts": given}
        return found


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
    made = {}
    for name in task.tasks:
        rows = divided(task_rows(task, name), name, task)
        made[name] = make_examples(rows, name, task, tokenizer, cache)
    training = [example for parts in made.values() for example in parts["train"]]
    scored = {(name, split): made[name][split] for split in (VALIDATION, TEST) for name in made}
    return TextToTextData(task, tokenizer, training, *joined(scored))


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
