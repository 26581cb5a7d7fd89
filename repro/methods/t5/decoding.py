"""Greedy decoding, as the released code decodes: one beam, no sampling."""

from __future__ import annotations

import inspect
from typing import Any

import torch
from torch import Tensor

CACHE = ("cache", "past_key_values")
"""What the library calls a decoder's kept keys and values: from 5.24 on, and before."""


def greedy(model: Any, input_ids: Tensor, attention_mask: Tensor, longest: int) -> Tensor:
    """The most likely next token, one after another: (batch, longest), int64.

    After the end of text, and where the rest of the batch writes longer, stands the padding token.
    The encoder runs once; keys and values of what was written are kept.
    """
    from transformers.cache_utils import DynamicCache, EncoderDecoderCache

    config, batch = model.config, len(input_ids)
    states = model.get_encoder()(input_ids=input_ids, attention_mask=attention_mask)[0]
    kept = {_cache_name(model): EncoderDecoderCache(DynamicCache(), DynamicCache())}
    written = input_ids.new_full((batch, longest), config.pad_token_id)
    last = input_ids.new_full((batch, 1), config.decoder_start_token_id)
    ended = torch.zeros(batch, dtype=torch.bool, device=input_ids.device)
    for place in range(longest):
        scores = model(
            encoder_outputs=(states,), attention_mask=attention_mask, decoder_input_ids=last,
            use_cache=True, **kept,
        ).logits[:, -1]  # fmt: skip
        found = scores.argmax(-1).masked_fill(ended, config.pad_token_id)
        written[:, place] = found
        ended |= found == config.eos_token_id
        if bool(ended.all()):
            break
        last = found.unsqueeze(1)
    return written


def _cache_name(model: Any) -> str:
    """The name of the argument that holds the cache, in the installed library."""
    known = inspect.signature(type(model).forward).parameters
    return next(name for name in CACHE if name in known)
