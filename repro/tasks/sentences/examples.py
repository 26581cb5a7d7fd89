"""Rows become tokens: `[CLS] a [SEP]` or `[CLS] a [SEP] b [SEP]`, as BERT reads them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from repro.tasks.sentences.rows import Row
from repro.tasks.tokenised import Columns, Tokenisation, arrays, tokenised

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


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
