"""Rows become tokens of an input and of an answer, as T5 reads and writes them.

Span corruption is T5's pre-training (Raffel et al. 2020, section 3.1.4): 15 % of the tokens are
dropped, in spans of 3 on average. A sentinel stands for each span; what is to be written is every
sentinel and the tokens that it stands for. T5's own code lets every text end in a span; short texts
have one span only, so here the first and the last tokens may stay, too.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from repro.errors import ReproError
from repro.spec import TextToText
from repro.spec.tasks import WrittenName
from repro.tasks.data import Answer
from repro.tasks.sentences.rows import Row
from repro.tasks.text_to_text.formats import answer_text, answer_texts, input_text
from repro.tasks.tokenised import Columns, Tokenisation, arrays, tokenised

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

SPANS: WrittenName = "span-corruption"
SHARE, MEAN = 0.15, 3
MOST_SENTINELS = 100
"""What T5 has; a smaller tokenizer has fewer."""
Tokens = NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False)
class TextExample:
    """One row as tokens, not padded. `task` is the place of its task in the mixture."""

    idx: int
    input_ids: Tokens
    """(tokens,), end of text included."""
    type_ids: NDArray[np.int8]
    """(tokens,), 0 everywhere."""
    target: Answer
    task: int


def make_examples(
    rows: dict[str, list[Row]],
    name: WrittenName,
    task: TextToText,
    tokenizer: PreTrainedTokenizerBase,
    cache: Path | None = None,
) -> dict[str, list[TextExample]]:
    """The examples of each part of one task. Inputs and answers that are too long lose their ends,
    but for the end of text.
    """
    make = _spans if name == SPANS else _labelled
    return make(rows, name, task, tokenizer, cache)


def _labelled(
    rows: dict[str, list[Row]],
    name: WrittenName,
    task: TextToText,
    tokenizer: PreTrainedTokenizerBase,
    cache: Path | None,
) -> dict[str, list[TextExample]]:
    from datasets import Dataset

    def encoded(texts: Sequence[str], most: int) -> list[Tokens]:
        columns = Dataset.from_dict({"text": texts})
        return arrays(tokenised(columns, TEXTS, tokenizer, cache, most=most), "input_ids")

    texts = answer_texts(name, task.grid)
    written = encoded(texts, task.max_target)
    longest = max(map(len, written))
    answers = {text: Answer(tokens, longest) for text, tokens in zip(texts, written, strict=True)}
    found = {}
    for part, of in rows.items():
        read = [input_text(name, row.texts, prefix=task.prefix, colon=task.colon) for row in of]
        found[part] = [
            _example(row, ids, answers[answer_text(name, row.label, task.grid)], task, name)
            for row, ids in zip(of, encoded(read, task.max_length), strict=True)
        ]
    return found


def _spans(
    rows: dict[str, list[Row]],
    name: WrittenName,
    task: TextToText,
    tokenizer: PreTrainedTokenizerBase,
    cache: Path | None,
) -> dict[str, list[TextExample]]:
    """Every row is corrupted once, by a seed of its own."""
    from datasets import Dataset

    made = {}
    for part, of in rows.items():
        read = [input_text(name, row.texts, prefix=task.prefix) for row in of]
        columns = Dataset.from_dict({"text": read, "seed": [row.texts[0] for row in of]})
        limits = {"most": task.max_length, "most_written": task.max_target}
        mapped = tokenised(columns, CORRUPTED, tokenizer, cache, **limits)
        made[part] = [arrays(mapped, column) for column in CORRUPTED.columns]
    longest = max(len(written) for _, answers in made.values() for written in answers)
    return {
        part: [
            _example(row, ids, Answer(written, longest), task, name)
            for row, ids, written in zip(of, *made[part], strict=True)
        ]
        for part, of in rows.items()
    }


def _example(
    row: Row, ids: Tokens, answer: Answer, task: TextToText, name: WrittenName
) -> TextExample:
    types = np.zeros(len(ids), dtype=np.int8)
    return TextExample(row.idx, ids, types, answer, task.tasks.index(name))


def _tokens(texts: Columns, tokenizer: PreTrainedTokenizerBase, most: int) -> Columns:
    """The tokens of each text, end of text included, at most `most`."""
    encoded = tokenizer(
        texts["text"],
        truncation=True,
        max_length=most,
        padding=False,
        return_attention_mask=False,
    )
    return {"input_ids": encoded["input_ids"]}


def _corrupted(
    texts: Columns, tokenizer: PreTrainedTokenizerBase, most: int, most_written: int
) -> Columns:
    marks, end = sentinels(tokenizer), int(tokenizer.eos_token_id)
    found: dict[str, list[list[int]]] = {"input_ids": [], "answer": []}
    whole = _tokens(texts, tokenizer, most)["input_ids"]
    for ids, seed in zip(whole, texts["seed"], strict=True):
        read, written = corrupted(ids[:-1], marks, random.Random(f"span-corruption/{seed}"))
        found["input_ids"].append([*read, end])
        found["answer"].append([*written[: most_written - 1], end])
    return found


def sentinels(tokenizer: PreTrainedTokenizerBase) -> list[int]:
    """<extra_id_0>, <extra_id_1>, ... as the tokenizer numbers them (T5: downwards).

    Raises ReproError where it has none.
    """
    known = tokenizer.get_vocab()
    names = (f"<extra_id_{number}>" for number in range(MOST_SENTINELS))
    found = [known[name] for name in names if name in known]
    if not found:
        raise ReproError("Span corruption needs T5's sentinels, and this tokenizer has none.")
    return found


def corrupted(
    tokens: Sequence[int], marks: Sequence[int], draw: random.Random
) -> tuple[list[int], list[int]]:
    """What is read and what is to be written, without the end of text.

    Raises ReproError for a text of fewer than two tokens.
    """
    if len(tokens) < 2:
        raise ReproError("A text of fewer than two tokens has no span that can be dropped.")
    dropped = min(max(round(len(tokens) * SHARE), 1), len(tokens) - 1)
    kept = len(tokens) - dropped
    spans = min(max(round(dropped / MEAN), 1), kept + 1, len(marks))
    lengths = _summands(dropped, spans, draw)
    # one token at least between two spans, and any number before the first and after the last
    gaps = _summands(kept + 2, spans + 1, draw)
    read, written, place = list(tokens[: gaps[0] - 1]), [], gaps[0] - 1
    for mark, length, gap in zip(marks, lengths, gaps[1:], strict=False):
        written += [mark, *tokens[place : place + length]]
        place += length
        read += [mark, *tokens[place : place + gap]]
        place += gap
    return read, written


def _summands(whole: int, count: int, draw: random.Random) -> list[int]:
    """`whole` as a sum of `count` positive numbers, every such sum as likely."""
    cuts = sorted(draw.sample(range(1, whole), count - 1))
    return [end - begin for begin, end in pairwise([0, *cuts, whole])]


TEXTS = Tokenisation(_tokens, {"input_ids": ["int32"]}, revision=1)
CORRUPTED = Tokenisation(_corrupted, {"input_ids": ["int32"], "answer": ["int32"]}, revision=1)
