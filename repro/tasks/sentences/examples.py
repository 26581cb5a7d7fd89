"""Rows become tokens: `[CLS] a [SEP]` or `[CLS] a [SEP] b [SEP]`, as BERT reads them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from repro.tasks.sentences.rows import Row

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

ROWS_AT_ONCE = 2_000


@dataclass(frozen=True, slots=True, eq=False)
class SentenceExample:
    """One row as tokens, not padded."""

    task: ClassVar[int] = 0

    idx: int
    input_ids: NDArray[np.int32]
    """(tokens,)"""
    type_ids: NDArray[np.int32]
    """(tokens,); 0 everywhere for a tokenizer without token types."""
    target: int | float
    """A class, or STS-B's similarity from 0 to 5."""


def make_examples(
    rows: Sequence[Row], tokenizer: PreTrainedTokenizerBase, max_length: int
) -> list[SentenceExample]:
    """Every row's tokens; of a pair that is too long the longer text loses its end first."""
    return [
        example
        for begin in range(0, len(rows), ROWS_AT_ONCE)
        for example in _batch(rows[begin : begin + ROWS_AT_ONCE], tokenizer, max_length)
    ]


def _batch(
    rows: Sequence[Row], tokenizer: PreTrainedTokenizerBase, max_length: int
) -> Iterator[SentenceExample]:
    texts = [list(column) for column in zip(*(row.texts for row in rows), strict=True)]
    encoded = tokenizer(*texts, truncation="longest_first", max_length=max_length, padding=False)
    types = encoded.get("token_type_ids") or [[0] * len(ids) for ids in encoded["input_ids"]]
    for row, ids, kinds in zip(rows, encoded["input_ids"], types, strict=True):
        tokens, type_ids = np.asarray(ids, dtype=np.int32), np.asarray(kinds, dtype=np.int32)
        yield SentenceExample(row.idx, tokens, type_ids, row.label)
