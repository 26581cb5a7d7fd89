"""Full fine-tuning of BERT for extractive question answering (Devlin et al., section 4.2).

    start, end = Linear(d -> 2)(T_L);   every parameter is trained, dropout runs in the encoder.

The library's model code runs unchanged. Its dropout modules are replaced by ones that draw from
the run's own generator, and its attention by a registered function that does, so that a run is
reproducible whatever else the process draws.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from repro.methods.learner import Inputs, Learner, span_logits
from repro.methods.randomness import Dropout
from repro.spec.types import FullFineTuning

ATTENTION = "repro_seeded"


class FineTuned(Learner):
    """One run: a fine-tuned encoder cannot be shared, so a group of these has one member."""

    reads_states = False
    stacked = False

    def __init__(self, spec: FullFineTuning, encoder: nn.Module) -> None:
        super().__init__()
        self.spec, self.runs, self.stacks = spec, 1, 1
        self.encoder = encoder
        self.stream = _Stream(spec.dropout)
        _seed_dropout(encoder, self.stream)
        hidden = int(encoder.config.hidden_size)  # type: ignore[union-attr,arg-type]
        self.scorer = nn.Linear(hidden, 2)

    def forward(self, inputs: Inputs, dropout: Dropout) -> Tensor:
        """(1, 2, batch, length)."""
        self.stream.dropout = dropout
        states = self.encoder(
            input_ids=inputs.input_ids,
            attention_mask=inputs.attention_mask,
            token_type_ids=inputs.type_ids,
        ).last_hidden_state
        scores = self.scorer(inputs.layout.pack(states)).t().unsqueeze(-1)  # (2, tokens, 1)
        return span_logits(scores, 1, inputs.layout)

    def initialise(self, streams: list[torch.Generator]) -> None:
        """The scorer only: N(0, 0.02), bias 0, as BERT's own output layers; the rest is loaded."""
        with torch.no_grad():
            drawn = torch.empty(self.scorer.weight.shape).normal_(0.0, 0.02, generator=streams[0])
            self.scorer.weight.copy_(drawn)
            self.scorer.bias.zero_()


class _Stream:
    """Where the encoder's dropout gets its masks from: set anew before each forward pass."""

    def __init__(self, rate: float) -> None:
        self.rate, self.dropout = rate, Dropout([])

    def __call__(self, x: Tensor) -> Tensor:
        return self.dropout(x, self.rate)


class _SeededDropout(nn.Module):
    def __init__(self, stream: _Stream) -> None:
        super().__init__()
        self.stream = stream
        self.p = stream.rate  # the library's attention reads it and hands it to ours, which has it

    def forward(self, x: Tensor) -> Tensor:
        return self.stream(x)


def _seed_dropout(encoder: nn.Module, stream: _Stream) -> None:
    """Replaces dropout in the modules and in the attention function."""
    for module in list(encoder.modules()):
        for name, child in module.named_children():
            if isinstance(child, nn.Dropout):
                setattr(module, name, _SeededDropout(stream))
        if hasattr(module, "query"):
            module.repro_stream = stream  # type: ignore[assignment]
    encoder.set_attn_implementation(ATTENTION)  # type: ignore[operator]


def register_attention() -> None:
    """Makes the seeded attention known to the library; calling it again changes nothing."""
    from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS, eager_mask
    from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

    ALL_ATTENTION_FUNCTIONS.register(ATTENTION, _seeded_attention)
    ALL_MASK_ATTENTION_FUNCTIONS.register(ATTENTION, eager_mask)


def _seeded_attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    **_: Any,
) -> tuple[Tensor, None]:
    """softmax(q k' / sqrt(head) + mask) v with dropout from the run's stream.

    q, k, v: (batch, heads, length, head); returns (batch, length, heads, head).
    """
    scale = scaling if scaling is not None else query.shape[-1] ** -0.5
    scores = query @ key.transpose(-1, -2) * scale
    if attention_mask is not None:
        scores = scores + attention_mask
    weights = scores.softmax(-1, dtype=torch.float32).to(query.dtype)
    weights = module.repro_stream(weights)  # type: ignore[operator]
    return (weights @ value).transpose(1, 2).contiguous(), None
