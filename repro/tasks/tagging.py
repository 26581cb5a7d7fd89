"""CoNLL-2003: named entities as a tag for every word (Tjong Kim Sang and De Meulder 2003).

Sentences become tokens, `[CLS] pieces of every word [SEP]`, and as in Devlin et al. 2019, section
5.3, the first piece of a word gives its tag.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from repro.spec import TaggingTask
from repro.spec.tagging import TAGS, UNTAGGED
from repro.tasks.data import SplitCollector, check_ids, joined, score, value_of
from repro.tasks.draws import capped
from repro.tasks.rows import generated, load
from repro.tasks.tokenised import Columns, Tokenisation, arrays, tokenised

if TYPE_CHECKING:
    from datasets import Dataset
    from transformers import PreTrainedTokenizerBase

PROTOCOL = "conll"
OUTSIDE = TAGS.index("O")
SHOWN, OUTSIDE_SHARE, READ_SHARE = "f1", "outside_share", "read_share"


@dataclass(frozen=True, slots=True)
class Sentence:
    """Words and their tags, as numbers in the order of TAGS; `idx` is its place in the split."""

    idx: int
    words: tuple[str, ...]
    tags: tuple[int, ...]


def task_rows(task: TaggingTask) -> dict[str, list[Sentence]]:
    """The sentences of "train", "validation" and "test", capped, in file order.

    Raises MissingData where they cannot be had, are damaged or are not those of `task.revision`.
    """
    of = generated if task.source == "generated" else load
    found = {split: _sentences(rows) for split, rows in of(task.name, task.revision).items()}
    return capped(found, task, task.subset_seed)


def _sentences(found: Dataset) -> list[Sentence]:
    columns = found[:]
    words, tags = (map(tuple, columns[name]) for name in ("tokens", "ner_tags"))
    return list(map(Sentence, columns["idx"], words, tags))


@dataclass(frozen=True, slots=True, eq=False)
class TaggedExample:
    """One sentence as tokens, not padded."""

    task: ClassVar[int] = 0

    sentence: Sentence
    input_ids: NDArray[np.int32]
    """(tokens,)"""
    type_ids: NDArray[np.int8]
    """(tokens,)"""
    target: NDArray[np.int64]
    """(tokens,): the tag of a word at its first piece, UNTAGGED elsewhere."""
    firsts: NDArray[np.int64]
    """(words,): where each word's first piece stands; -1 of a word that is cut off, or of
    characters that the tokenizer drops."""


def make_examples(
    sentences: Sequence[Sentence],
    tokenizer: PreTrainedTokenizerBase,
    max_length: int,
    cache: Path | None = None,
) -> list[TaggedExample]:
    """Every sentence's tokens; one that is too long loses its end."""
    from datasets import Dataset

    columns = {"words": [s.words for s in sentences], "tags": [s.tags for s in sentences]}
    mapped = tokenised(
        Dataset.from_dict(columns), FIRST_PIECES, tokenizer, cache, max_length=max_length
    )
    found = zip(sentences, *(arrays(mapped, name) for name in FIRST_PIECES.columns), strict=True)
    return [
        TaggedExample(sentence, ids, np.zeros(len(ids), np.int8), target, firsts)
        for sentence, ids, target, firsts in found
    ]


def _pieces(sentences: Columns, tokenizer: PreTrainedTokenizerBase, max_length: int) -> Columns:
    words = sentences["words"]
    encoded = tokenizer(
        words, is_split_into_words=True, truncation=True, max_length=max_length, padding=False
    )
    found: dict[str, list[Any]] = {"input_ids": encoded["input_ids"], "target": [], "firsts": []}
    for row, tags in enumerate(sentences["tags"]):
        firsts = np.full(len(tags), -1, dtype=np.int64)
        for place, word in enumerate(encoded.word_ids(row)):
            if word is not None and firsts[word] < 0:
                firsts[word] = place
        read = firsts >= 0
        target = np.full(len(encoded["input_ids"][row]), UNTAGGED, dtype=np.int64)
        target[firsts[read]] = np.asarray(tags)[read]
        found["target"].append(target)
        found["firsts"].append(firsts)
    return found


FIRST_PIECES = Tokenisation(
    _pieces, {"input_ids": ["int32"], "target": ["int64"], "firsts": ["int64"]}, revision=1
)


@dataclass(frozen=True, slots=True)
class TaggingData:
    """Training sentences and those of every scored split, cut for one tokenizer."""

    task: TaggingTask
    training: list[TaggedExample]
    evaluation: list[TaggedExample]
    splits: dict[str, slice]
    """Where each scored split stands in `evaluation`."""
    pad_id: int

    @property
    def watched(self) -> int:
        """All of them: every split is scored after every epoch."""
        return len(self.evaluation)

    @property
    def drawn(self) -> None:
        """Nothing is stored of a plain cap: its seed and rows are in the spec."""

    def collector(self) -> TagCollector:
        """A new one, for one run and one evaluation."""
        return TagCollector(self)

    def headline(self, scores: list[dict[str, Any]]) -> dict[str, float]:
        """Entity F1, by "split/f1"."""
        return {
            f"{score['split']}/{SHOWN}": score["value"]
            for score in scores
            if score["metric"] == SHOWN
        }

    def monitor(self, scores: list[dict[str, Any]]) -> float | None:
        """Entity F1 on the first scored split."""
        return value_of(scores, next(iter(self.splits)), SHOWN)

    def collapsed(self, scores: list[dict[str, Any]]) -> bool:
        """Whether every word of the first scored split is tagged O."""
        return value_of(scores, next(iter(self.splits)), OUTSIDE_SHARE) == 100.0


class TagCollector(SplitCollector):
    """Keeps the tags of one run's words until all are there to be scored."""

    data: TaggingData

    def add(self, indices: list[int], outputs: NDArray[np.float32]) -> None:
        """Takes the outputs (batch, length, tags) for the sentences `indices`.

        A word without a piece that the model reads is O. Raises FloatingPointError where an output
        is not finite.
        """
        if not np.isfinite(outputs).all():
            raise FloatingPointError("an output is not finite")
        best = outputs.argmax(axis=2)  # (batch, length)
        for row, index in enumerate(indices):
            firsts = self.data.evaluation[index].firsts
            self.given[index] = np.where(firsts < 0, OUTSIDE, best[row, firsts]).tolist()

    def scored(
        self, split: str, examples: Sequence[TaggedExample], given: Sequence[list[int]]
    ) -> Iterator[dict[str, Any]]:
        """A split's scores in percent.

        F1, precision and recall are those of entities and count sentences as `n`. Over words stand
        their accuracy, "outside_share" (tagged O), and "read_share": those with a piece among the
        tokens that the model reads, 100 where no sentence was cut.
        """
        gold = _named([example.sentence.tags for example in examples])
        for name, value, n in (*_of_tags(_named(given), gold), _of_reading(examples)):
            yield score(self.data.task.name, split, PROTOCOL, name, value, n)

    def predictions(self) -> dict[str, Any]:
        """`{split: {"ids": [...], "predictions": [["B-PER", ...], ...]}}`, by sentence."""
        return {
            split: {
                "ids": [example.sentence.idx for example in examples],
                "predictions": _named(given),
            }
            for split, examples, given in self.parts()
        }


def _of_tags(
    predicted: Sequence[list[str]], gold: Sequence[list[str]]
) -> Iterator[tuple[str, float, int]]:
    """(metric, percent, what it is over) of one split's tags by name."""
    from repro.tasks.metrics.conll_scores import scores

    words = sum(map(len, gold))
    for name, value in scores(predicted, gold).items():
        yield name, value, words if name == "accuracy" else len(gold)
    outside = sum(tag == TAGS[OUTSIDE] for sentence in predicted for tag in sentence)
    yield OUTSIDE_SHARE, 100 * outside / words, words


def _of_reading(examples: Sequence[TaggedExample]) -> tuple[str, float, int]:
    """The share of words that the model reads; it depends on the tokenizer, not on predictions."""
    words = sum(len(example.firsts) for example in examples)
    read = sum(int((example.firsts >= 0).sum()) for example in examples)
    return READ_SHARE, 100 * read / words, words


def rescored(task: TaggingTask, document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """See `repro.spec.task.Task.rescored`; all but the share of words that the model reads."""
    rows = task_rows(task)
    for split, stored in document.items():
        check_ids(split, stored["ids"], [sentence.idx for sentence in rows[split]])
        gold = _named([sentence.tags for sentence in rows[split]])
        for name, value, n in _of_tags(stored["predictions"], gold):
            yield score(task.name, split, PROTOCOL, name, value, n)


def _named(tags: Sequence[Sequence[int]]) -> list[list[str]]:
    return [[TAGS[tag] for tag in sentence] for sentence in tags]


def load_tagging(
    task: TaggingTask, tokenizer: PreTrainedTokenizerBase, cache: Path | None = None
) -> TaggingData:
    """Reads, draws and cuts the sentences; raises what the sources raise for missing data."""
    cut = {
        split: make_examples(sentences, tokenizer, task.max_length, cache)
        for split, sentences in task_rows(task).items()
    }
    training = cut.pop("train")
    return TaggingData(task, training, *joined(cut), int(tokenizer.pad_token_id))
