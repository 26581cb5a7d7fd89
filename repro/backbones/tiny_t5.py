"""A T5 small enough for two CPU cores: made from its configuration, never downloaded.

It has T5 v1.0's modules, and a vocabulary of the words of the generated rows. A word that is not
among them is written by its longest known pieces, down to single bytes, so that any text can be
read. Its weights are drawn from a seed; what a run pre-trains is another run (the parent
"pretrained").
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from repro.methods.modules.randomness import stream_seed
from repro.spec.backbones import TINY_T5_VOCABULARY
from repro.spec.types import Backbone

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerFast, T5ForConditionalGeneration

PAD, END, UNKNOWN = "<pad>", "</s>", "<unk>"
SENTINELS = 20
"""Marks of dropped spans; T5 has 100."""
HEADS = 4
INSIDE = "##"
"""Stands before a piece that continues a word."""


def tiny_tokenizer() -> PreTrainedTokenizerFast:
    """The tokenizer of the tiny T5: special tokens, words and bytes, sentinels last."""
    from transformers import PreTrainedTokenizerFast

    return PreTrainedTokenizerFast(
        tokenizer_object=_tokenizer(vocabulary()),
        pad_token=PAD,
        eos_token=END,
        unk_token=UNKNOWN,
        extra_special_tokens=_sentinels(),
        clean_up_tokenization_spaces=False,
    )


def vocabulary() -> dict[str, int]:
    """Piece -> its number: pad 0, end of text 1, unknown 2, as T5 has them."""
    from tokenizers.pre_tokenizers import ByteLevel

    from repro.tasks.generated.texts import vocabulary_text

    spelled = ByteLevel(add_prefix_space=True)
    letters = sorted(ByteLevel.alphabet())
    words: dict[str, None] = {}
    for line in vocabulary_text():
        words |= dict.fromkeys(word for word, _ in spelled.pre_tokenize_str(line))
    pieces = [PAD, END, UNKNOWN, *letters, *(INSIDE + letter for letter in letters)]
    pieces += [word for word in sorted(words) if len(word) > 1]
    pieces += reversed(_sentinels())
    return {piece: number for number, piece in enumerate(pieces)}


def tiny_model(backbone: Backbone) -> T5ForConditionalGeneration:
    """The model with its first weights, the same on every machine with this torch."""
    import torch
    from transformers import T5Config, T5ForConditionalGeneration

    config = T5Config(
        vocab_size=TINY_T5_VOCABULARY,
        d_model=backbone.hidden_size,
        d_kv=backbone.hidden_size // HEADS,
        d_ff=backbone.intermediate_size,
        num_layers=backbone.layers,
        num_heads=HEADS,
        pad_token_id=0,
        eos_token_id=1,
        decoder_start_token_id=0,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(stream_seed("tiny-t5", backbone.revision))
        return T5ForConditionalGeneration(config)


def _sentinels() -> list[str]:
    return [f"<extra_id_{number}>" for number in range(SENTINELS)]


def _tokenizer(pieces: dict[str, int]) -> Tokenizer:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors

    longest = 10_000  # bytes of a word beyond which it is unknown
    tokenizer = Tokenizer(
        models.WordPiece(pieces, unk_token=UNKNOWN, max_input_chars_per_word=longest)
    )
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace(INSIDE, ""), decoders.Fuse(), decoders.ByteLevel()]
    )
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"$A {END}", pair=f"$A {END} $B {END}", special_tokens=[(END, pieces[END])]
    )
    return tokenizer
