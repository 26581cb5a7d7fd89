"""Sentences become tokens: `[CLS] pieces of every word [SEP]`, the tag on a word's first piece.

As in Devlin et al. 2019, section 5.3: the first piece of a word gives its tag.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from repro.spec.tagging import UNTAGGED
from repro.tasks.tagging.rows import Sentence

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

SENTENCES_AT_ONCE = 2_000


@dataclass(frozen=True, slots=True, eq=False)
class TaggedExample:
    """One sentence as tokens, not padded."""

    task: ClassVar[int] = 0

    sentence: Sentence
    input_ids: NDArray[np.int32]
    """(tokens,)"""
    type_ids: NDArray[np.int32]
    """(tokens,)"""
    target: NDArray[np.int64]
    """(tokens,): the tag of a word at its first piece, UNTAGGED elsewhere."""
    firsts: NDArray[np.int64]
    """(words,): where each word's first piece stands; -1 of a word that is cut off, or of
    characters that the tokenizer drops."""


def make_examples(
    sentences: Sequence[Sentence], tokenizer: PreTrainedTokenizerBase, max_length: int
) -> list[TaggedExample]:
    """Every sentence's tokens; one that is too long loses its end."""
    return [
        example
        for begin in range(0, len(sentences), SENTENCES_AT_ONCE)
        for example in _batch(sentences[begin : begin + SENTENCES_AT_ONCE], tokenizer, max_length)
    ]


def _batch(
    sentences: Sequence[Sentence], tokenizer: PreTrainedTokenizerBase, max_length: int
) -> Iterator[TaggedExample]:
    words = [list(sentence.words) for sentence in sentences]
    encoded = tokenizer(
        words, is_split_into_words=True, truncation=True, max_length=max_length, padding=False
    )
    for row, sentence in enumerate(sentences):
        ids = np.asarray(encoded["input_ids"][row], dtype=np.int32)
        firsts = np.full(len(sentence.words), -1, dtype=np.int64)
        for place, word in enumerate(encoded.word_ids(row)):
            if word is not None and firsts[word] < 0:
                firsts[word] = place
        read = firsts >= 0
        target = np.full(len(ids), UNTAGGED, dtype=np.int64)
        target[firsts[read]] = np.asarray(sentence.tags)[read]
        yield TaggedExample(sentence, ids, np.zeros_like(ids), target, firsts)
