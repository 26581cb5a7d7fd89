"""Rows become tokens of an input and of an answer, as T5 reads and writes them."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from repro.spec import TextToText
from repro.spec.tasks import WrittenName
from repro.tasks.data import Answer
from repro.tasks.sentences.examples import ROWS_AT_ONCE
from repro.tasks.sentences.rows import Row
from repro.tasks.text_to_text.formats import answer_text, answer_texts, input_text
from repro.tasks.text_to_text.spans import corrupted, sentinels

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

SPANS: WrittenName = "span-corruption"
Tokens = NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False)
class TextExample:
    """One row as tokens, not padded. `task` is the place of its task in the mixture."""

    idx: int
    input_ids: Tokens
    """(tokens,), end of text included."""
    type_ids: Tokens
    """(tokens,), 0 everywhere."""
    target: Answer
    task: int


def make_examples(
    rows: dict[str, list[Row]],
    name: WrittenName,
    task: TextToText,
    tokenizer: PreTrainedTokenizerBase,
) -> dict[str, list[TextExample]]:
    """The examples of each part of one task. Inputs and answers that are too long lose their ends,
    but for the end of text.
    """
    make = _spans if name == SPANS else _labelled
    return make(rows, name, task, tokenizer)


def _labelled(
    rows: dict[str, list[Row]],
    name: WrittenName,
    task: TextToText,
    tokenizer: PreTrainedTokenizerBase,
) -> dict[str, list[TextExample]]:
    number = task.tasks.index(name)
    texts = answer_texts(name, task.grid)
    encoded = _encoded(texts, tokenizer, task.max_target)
    longest = max(map(len, encoded))
    answers = {text: Answer(tokens, longest) for text, tokens in zip(texts, encoded, strict=True)}
    found = {}
    for part, of in rows.items():
        inputs = _encoded(
            (input_text(name, row.texts, prefix=task.prefix, colon=task.colon) for row in of),
            tokenizer,
            task.max_length,
        )
        found[part] = [
            _example(row, ids, answers[answer_text(name, row.label, task.grid)], number)
            for row, ids in zip(of, inputs, strict=True)
        ]
    return found


def _spans(
    rows: dict[str, list[Row]],
    name: WrittenName,
    task: TextToText,
    tokenizer: PreTrainedTokenizerBase,
) -> dict[str, list[TextExample]]:
    """Every row is corrupted once, by a seed of its own."""
    number, marks = task.tasks.index(name), sentinels(tokenizer)
    end = int(tokenizer.eos_token_id)
    made: dict[str, list[tuple[Row, Tokens, Tokens]]] = {part: [] for part in rows}
    for part, of in rows.items():
        texts = (input_text(name, row.texts, prefix=task.prefix) for row in of)
        for row, ids in zip(of, _encoded(texts, tokenizer, task.max_length), strict=True):
            draw = random.Random(f"span-corruption/{row.texts[0]}")
            read, written = corrupted(ids[:-1].tolist(), marks, draw)
            wanted = [*written[: task.max_target - 1], end]
            made[part].append((row, _array([*read, end]), _array(wanted)))
    longest = max(len(wanted) for of in made.values() for _, _, wanted in of)
    return {
        part: [_example(row, ids, Answer(wanted, longest), number) for row, ids, wanted in of]
        for part, of in made.items()
    }


def _example(row: Row, ids: Tokens, answer: Answer, number: int) -> TextExample:
    return TextExample(row.idx, ids, np.zeros_like(ids), answer, number)


def _encoded(texts: Iterable[str], tokenizer: PreTrainedTokenizerBase, most: int) -> list[Tokens]:
    """The tokens of each text, end of text included, at most `most`."""
    every, found = list(texts), []
    for begin in range(0, len(every), ROWS_AT_ONCE):
        batch = tokenizer(
            every[begin : begin + ROWS_AT_ONCE],
            truncation=True,
            max_length=most,
            padding=False,
            return_attention_mask=False,
        )
        found += [_array(ids) for ids in batch["input_ids"]]
    return found


def _array(ids: Sequence[int]) -> Tokens:
    return np.asarray(ids, dtype=np.int32)
