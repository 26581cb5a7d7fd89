"""The attention of packed tokens, registered with the library under a name of its own.

    softmax(q k' / sqrt(head)) v    over the real tokens of each row,

with dropout on the softmax from each run's own generator. The library's modules compute q, k and
v; this function is what they call between those and the output projection.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from repro.methods.inside.packing import pick, spread

if TYPE_CHECKING:
    from repro.methods.inside.passing import Pass

ATTENTION = "repro_packed"


def use_packed_attention(model: nn.Module) -> None:
    """Makes `model` call `packed_attention`; its layers then need `now=Pass(...)`."""
    from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS
    from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

    ALL_ATTENTION_FUNCTIONS.register(ATTENTION, packed_attention)
    ALL_MASK_ATTENTION_FUNCTIONS.register(ATTENTION, _no_mask)
    model.set_attn_implementation(ATTENTION)  # type: ignore[operator]


def packed_attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    *,
    now: Pass,
    scaling: float | None = None,
    **_: Any,
) -> tuple[Tensor, None]:
    """q, k, v (1, heads, tokens, head) -> (1, tokens, heads, head)."""
    packing = now.packing
    scale = scaling if scaling is not None else query.shape[-1] ** -0.5
    k, v = _unpack(now, key), _unpack(now, value)
    q = _firsts(now, query) if now.narrows else _unpack(now, query)
    mask, before = packing.mask, 0
    if now.prefix is not None and now.adapters:
        first_k, first_v = (_of_rows(now, one, key.shape[1]) for one in now.prefix)
        k, v, before = torch.cat([first_k, k], 2), torch.cat([first_v, v], 2), first_k.shape[2]
        mask = None if mask is None else F.pad(mask, (before, 0))
    if now.drops:
        scores = (q * scale) @ k.transpose(-1, -2)  # (rows, heads, queries, longest)
        if mask is not None:
            scores = scores + mask
        weights = scores.softmax(-1, dtype=torch.float32).to(v.dtype)
        attended = now.drop_weights(weights, before) @ v
    else:
        mask = None if mask is None else mask.to(q.dtype)
        attended = F.scaled_dot_product_attention(q, k, v, mask, scale=scale)
    rows = attended.transpose(1, 2).flatten(2)  # (rows, queries, hidden)
    if now.narrows:  # the other tokens are read no more: the library only wants their shape
        packed = spread(rows[:, 0], packing.first, query.shape[2])
    else:
        packed = packing.pack(rows)
    return packed.view(1, *packed.shape[:1], query.shape[1], -1), None


def _unpack(now: Pass, x: Tensor) -> Tensor:
    """(1, heads, tokens, head) -> (rows, heads, longest, head)."""
    rows = now.packing.unpack(x[0].transpose(0, 1).flatten(1))
    return rows.view(*rows.shape[:2], x.shape[1], -1).transpose(1, 2)


def _of_rows(now: Pass, x: Tensor, heads: int) -> Tensor:
    """(runs, positions, hidden), alike in the rows of a run -> (rows, heads, positions, head)."""
    split = x.view(*x.shape[:2], heads, -1).transpose(1, 2)
    return split.repeat_interleave(now.packing.rows // len(x), 0)


def _firsts(now: Pass, x: Tensor) -> Tensor:
    """(1, heads, tokens, head) -> (rows, heads, 1, head), of each row's first token."""
    rows = pick(x[0].transpose(0, 1).flatten(1), now.packing.first)
    return rows.view(len(rows), x.shape[1], 1, -1)


def _no_mask(*_: Any, **__: Any) -> None:
    """The packing knows what is padding."""
