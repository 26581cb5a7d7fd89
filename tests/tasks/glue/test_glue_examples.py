"""Rows as tokens equal what the tokenizer's own padded call gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tiny_models import minilm_tokenizer

from repro.tasks import tokenised
from repro.tasks.sentences.rows import Row, generated_rows
from repro.tasks.sentences.task import SentenceExample, make_examples

LONG, SHORT = "river " * 30 + "tower", "bridge garden"
FIRST, SECOND = ["ann", "met", "bo", "."], ["who", "met", "bo", "?"]
PAIRS = [(LONG, SHORT), (SHORT, LONG), (LONG, LONG), (SHORT, SHORT), ("Zürich?", "naïve—yes")]


def pair_rows() -> list[Row]:
    return [Row(idx, texts, idx % 2) for idx, texts in enumerate(PAIRS)]


def words(example: SentenceExample) -> list[str]:
    tokens: list[str] = minilm_tokenizer().convert_ids_to_tokens(example.input_ids.tolist())
    return tokens


def word_level() -> Any:
    """A tokenizer of another family: whole words, <s> a </s></s> b </s>, no token types."""
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace
    from tokenizers.processors import TemplateProcessing
    from transformers import PreTrainedTokenizerFast

    vocabulary = {"<pad>": 0, "<s>": 1, "</s>": 2, "<unk>": 3, "bridge": 4, "garden": 5, "river": 6}
    backend = Tokenizer(WordLevel(vocabulary, unk_token="<unk>"))
    backend.pre_tokenizer = Whitespace()
    backend.post_processor = TemplateProcessing(
        single="<s> $A </s>",
        pair="<s> $A </s> </s> $B </s>",
        special_tokens=[("<s>", 1), ("</s>", 2)],
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        pad_token="<pad>",
        unk_token="<unk>",
        model_input_names=["input_ids", "attention_mask"],
    )


@pytest.mark.parametrize("max_length", [8, 16, 33, 128])
def test_pairs_equal_the_padded_call_of_the_tokenizer(max_length: int) -> None:
    tokenizer = minilm_tokenizer()
    found = make_examples(pair_rows(), tokenizer, max_length)
    padded = tokenizer(
        [a for a, _ in PAIRS],
        [b for _, b in PAIRS],
        truncation="longest_first",
        padding="max_length",
        max_length=max_length,
        return_tensors="np",
    )
    for number, example in enumerate(found):
        real = padded["attention_mask"][number].astype(bool)
        assert example.input_ids.tolist() == padded["input_ids"][number][real].tolist()
        assert example.type_ids.tolist() == padded["token_type_ids"][number][real].tolist()
        assert (example.input_ids.dtype, example.type_ids.dtype) == (
            np.dtype(np.int32),
            np.dtype(np.int8),
        )
        assert (example.idx, example.target) == (number, number % 2)


def test_a_pair_stands_between_special_tokens_with_types() -> None:
    example = make_examples([Row(0, ("Ann met Bo.", "Who met Bo?"), 1)], minilm_tokenizer(), 128)[0]
    assert words(example) == ["[CLS]", *FIRST, "[SEP]", *SECOND, "[SEP]"]
    assert example.type_ids.tolist() == [0] * 6 + [1] * 5


def test_a_single_text_has_one_type_and_loses_its_end() -> None:
    whole, cut = (
        make_examples([Row(0, (f"{SHORT} {SHORT} {SHORT} {SHORT}",), 0)], minilm_tokenizer(), n)[0]
        for n in (128, 8)
    )
    assert words(whole) == ["[CLS]", *(SHORT.split() * 4), "[SEP]"]
    assert words(cut) == ["[CLS]", *(SHORT.split() * 3), "[SEP]"]
    assert not whole.type_ids.any()


@pytest.mark.parametrize("texts", [(LONG, SHORT), (SHORT, LONG)])
def test_the_longer_text_of_a_pair_loses_its_end_first(texts: tuple[str, str]) -> None:
    example = make_examples([Row(0, texts, 0)], minilm_tokenizer(), 16)[0]
    cut = [(text.split()[:11] if text is LONG else text.split()) for text in texts]
    assert words(example) == ["[CLS]", *cut[0], "[SEP]", *cut[1], "[SEP]"]


def test_two_long_texts_are_cut_to_like_lengths() -> None:
    example = make_examples([Row(0, (LONG, LONG), 0)], minilm_tokenizer(), 16)[0]
    separator = words(example).index("[SEP]")
    assert sorted((separator - 1, 16 - separator - 2)) == [6, 7]


def test_a_tokenizer_without_token_types_gives_zeros() -> None:
    tokenizer = word_level()
    example = make_examples([Row(0, ("bridge garden", "river"), 0)], tokenizer, 128)[0]
    assert example.input_ids.tolist() == [1, 4, 5, 2, 2, 6, 2]
    assert example.type_ids.tolist() == [0] * 7
    cut = make_examples([Row(0, ("bridge " * 9, "river"), 0)], tokenizer, 8)[0]
    assert cut.input_ids.tolist() == [1, 4, 4, 4, 2, 2, 6, 2]


def test_the_parts_that_rows_are_cut_in_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = generated_rows("mrpc", "seed=1,train=23,validation=1")["train"]
    whole = make_examples(rows, minilm_tokenizer(), 32)
    monkeypatch.setattr(tokenised, "ROWS_AT_ONCE", 5)
    parts = make_examples(rows, minilm_tokenizer(), 32)
    assert [one.input_ids.tolist() for one in parts] == [one.input_ids.tolist() for one in whole]
    assert [one.idx for one in parts] == list(range(23))


def test_no_rows_give_no_examples() -> None:
    assert make_examples([], minilm_tokenizer(), 32) == []
