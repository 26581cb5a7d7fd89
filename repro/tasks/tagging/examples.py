"""Sentences become tokens: `[CLS] pieces of every word [SEP]`, the tag on a word's first piece.

As in Devlin et al. 2019, section 5.3: the first piece of a word gives its tag.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from repro.spec.tagging import UNTAGGED
from repro.tasks.tagging.rows import Sentence
from repro.tasks.tokenised import Columns, Tokenisation, arrays, tokenised

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


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
