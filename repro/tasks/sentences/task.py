"""All that the training loop needs of a task of one or two texts, made once a job.

Rows become tokens as BERT reads them: `[CLS] a [SEP]` or `[CLS] a [SEP] b [SEP]`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from repro.spec.facts import Facts
from repro.spec.tasks import SentenceTask
from repro.tasks.data import SplitCollector, check_ids, digest_of_ids, joined, score, value_of
from repro.tasks.sentences.rows import DEVELOPMENT, Row, task_rows
from repro.tasks.tokenised import Columns, Tokenisation, arrays, tokenised

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

MAJORITY = "majority_share"


@dataclass(frozen=True, slots=True, eq=False)
class SentenceExample:
    """One row as tokens, not padded."""

    task: ClassVar[int] = 0

    idx: int
    input_ids: NDArray[np.int32]
    """(tokens,)"""
    type_ids: NDArray[np.int8]
    """(tokens,); 0 everywhere for a tokenizer without token types."""
    target: int | float
    """A class, or STS-B's similarity from 0 to 5."""


def make_examples(
    rows: Sequence[Row],
    tokenizer: PreTrainedTokenizerBase,
    max_length: int,
    cache: Path | None = None,
) -> list[SentenceExample]:
    """Every row's tokens; of a pair that is too long the longer text loses its end first."""
    from datasets import Dataset

    columns = zip(*(row.texts for row in rows), strict=True)
    texts = Dataset.from_dict({f"text{place}": column for place, column in enumerate(columns)})
    mapped = tokenised(texts, PAIRS, tokenizer, cache, max_length=max_length)
    parts = (arrays(mapped, name) for name in PAIRS.columns)
    return [
        SentenceExample(row.idx, ids, types, row.label)
        for row, ids, types in zip(rows, *parts, strict=True)
    ]


def _tokens(texts: Columns, tokenizer: PreTrainedTokenizerBase, max_length: int) -> Columns:
    encoded = tokenizer(
        *texts.values(),
        truncation="longest_first",
        max_length=max_length,
        padding=False,
        return_attention_mask=False,
    )
    types = encoded.get("token_type_ids") or [[0] * len(ids) for ids in encoded["input_ids"]]
    return {"input_ids": encoded["input_ids"], "type_ids": types}


PAIRS = Tokenisation(_tokens, {"input_ids": ["int32"], "type_ids": ["int8"]}, revision=1)


@dataclass(frozen=True, slots=True)
class SentenceData:
    """Training examples and those of every scored split, cut for one tokenizer."""

    task: SentenceTask
    training: list[SentenceExample]
    evaluation: list[SentenceExample]
    splits: dict[str, slice]
    """Where each scored split stands in `evaluation`."""
    pad_id: int

    @property
    def facts(self) -> Facts:
        """What the task is."""
        return self.task.facts

    @property
    def divided(self) -> bool:
        """Whether training rows were set aside as development rows, which are watched."""
        return DEVELOPMENT in self.splits

    @property
    def watched(self) -> int:
        """The development rows where there are some; else every scored row."""
        return self.splits[DEVELOPMENT].stop if self.divided else len(self.evaluation)

    @property
    def drawn(self) -> dict[str, str] | None:
        """The digests of training and development rows, where there are some."""
        if not self.divided:
            return None
        parts = {"train": self.training, DEVELOPMENT: self.evaluation[self.splits[DEVELOPMENT]]}
        return {split: digest_of_ids(one.idx for one in of) for split, of in parts.items()}

    def collector(self) -> SentenceCollector:
        """A new one, for one run and one evaluation."""
        return SentenceCollector(self)

    def headline(self, scores: list[dict[str, Any]]) -> dict[str, float]:
        """The task's metrics, by "split/metric"."""
        return {
            f"{score['split']}/{score['metric']}": score["value"]
            for score in scores
            if score["group"] == "ALL" and score["metric"] != MAJORITY
        }

    def monitor(self, scores: list[dict[str, Any]]) -> float | None:
        """The task's monitored metric on its first scored split."""
        return value_of(scores, next(iter(self.splits)), self.facts.monitor)

    def collapsed(self, scores: list[dict[str, Any]]) -> bool:
        """Whether every row of the first scored split got the same prediction; of the official one
        where there are development rows: these are few.
        """
        judged = list(self.splits)[-1 if self.divided else 0]
        return value_of(scores, judged, MAJORITY) == 100.0


class SentenceCollector(SplitCollector):
    """Keeps one run's outputs until all are there to be scored."""

    data: SentenceData

    def add(self, indices: list[int], outputs: NDArray[np.float32]) -> None:
        """Takes the outputs (batch, outputs) for the examples `indices`.

        Raises FloatingPointError where one is not finite.
        """
        if not np.isfinite(outputs).all():
            raise FloatingPointError("an output is not finite")
        for index, output in zip(indices, np.array(outputs, dtype=np.float32), strict=True):
            self.given[index] = output

    def scored(
        self, split: str, examples: Sequence[SentenceExample], given: Sequence[NDArray[np.float32]]
    ) -> Iterator[dict[str, Any]]:
        """A split's scores in percent; a correlation that is undefined has none.

        The metrics are the task's, their mean "combined" where `Facts.combined` says so, and
        "majority_share": the share of the commonest prediction, which for STS-B stands only where
        all predictions are equal.
        """
        gold = [example.target for example in examples]
        predicted = self._predicted(np.stack(given))
        return split_scores(self.data.task, split, predicted, gold, divided=self.data.divided)

    def predictions(self) -> dict[str, Any]:
        """`{split: {"ids": [...], "predictions": [...], "outputs": [[...], ...]}}`, by row.

        A prediction is a class, or STS-B's number clipped to its range. Numbers are the shortest
        decimals of their float32 values, so scoring them again gives the same scores.
        """
        return {
            split: {
                "ids": [example.idx for example in examples],
                "predictions": [_plain(value) for value in self._predicted(np.stack(given))],
                "outputs": [[_plain(value) for value in row] for row in given],
            }
            for split, examples, given in self.parts()
        }

    def _predicted(self, outputs: NDArray[np.float32]) -> NDArray[Any]:
        classes: NDArray[Any] = outputs.argmax(axis=1)
        return classes if self.data.facts.labels else outputs[:, 0].clip(*self.data.facts.bounds)


def split_scores(
    task: SentenceTask,
    split: str,
    predicted: NDArray[Any],
    gold: Sequence[int | float],
    *,
    divided: bool,
) -> Iterator[dict[str, Any]]:
    """Every score of one split, but for its epoch; see `SentenceCollector.scored`. `divided`:
    whether the run has development rows.
    """
    from repro.tasks.metrics.glue_scores import scores

    facts = task.facts
    values = scores(facts.metrics, predicted, gold, combined=divided and facts.combined)
    if facts.labels:
        values[MAJORITY] = majority_share(predicted)
    elif np.ptp(predicted) == 0:
        values[MAJORITY] = 1.0
    for metric, value in values.items():
        if value is not None:
            yield score(task.name, split, task.protocol, metric, 100 * value, len(predicted))


def rescored(task: SentenceTask, document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """See `repro.spec.task.Task.rescored`."""
    rows = task_rows(task)
    for split, stored in document.items():
        check_ids(split, stored["ids"], [row.idx for row in rows[split]])
        kind = np.int64 if task.facts.labels else np.float32
        predicted = np.array(stored["predictions"], dtype=kind)
        gold = [row.label for row in rows[split]]
        yield from split_scores(task, split, predicted, gold, divided=DEVELOPMENT in rows)


def majority_share(predicted: NDArray[np.integer]) -> float:
    """The share of rows that got the majority prediction: 1 for a constant one."""
    return float(np.unique(predicted, return_counts=True)[1].max() / len(predicted))


def load_sentences(
    task: SentenceTask, tokenizer: PreTrainedTokenizerBase, cache: Path | None = None
) -> SentenceData:
    """Reads, draws and cuts the rows; raises what the sources raise for missing data."""
    cut = {
        split: make_examples(rows, tokenizer, task.max_length, cache)
        for split, rows in task_rows(task).items()
    }
    training = cut.pop("train")
    return SentenceData(task, training, *joined(cut), int(tokenizer.pad_token_id))


def _plain(value: np.generic) -> int | float:
    return int(value) if isinstance(value, np.integer) else float(str(value))
