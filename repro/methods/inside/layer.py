"""A layer of the encoder on packed tokens, from the library's own modules.

    a = softmax(q k' / sqrt(head)) v W_o      over the real tokens of each row
    x = LN(x + a),    x = LN(x + W_down g(W_up x))

It stands in place of the library's forward: few kernels, no padding but in the attention, and
dropout from the runs' own generators. Modules that have hooks, or that a method has replaced, are
called as they are; frozen maps to queries, keys and values are one product.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from repro.methods.inside.passing import Pass
from repro.methods.inside.slots import Family
from repro.methods.modules.randomness import scaled


def use_packed_tokens(
    model: nn.Module, layers: Sequence[nn.Module], family: Family, now: Pass, precision: str
) -> None:
    """Makes `layers` of `model` read packed tokens (1, tokens, hidden).

    Call it when everything that a method adds stands in them. `precision`: fp32 or bf16, in whose
    context all passes are; see `matrix_products`.
    """
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
    for layer in layers:
        layer.forward = PackedLayer(layer, family, now)
        if precision == "bf16":
            layer.forward.round_frozen(layer)


class PackedLayer:
    """The forward pass of `layer`. It holds the layer's modules, not the layer."""

    def __init__(self, layer: nn.Module, family: Family, now: Pass) -> None:
        self.now = now
        self.maps = [layer.get_submodule(n) for n in (family.query, family.key, family.value)]
        self.frozen_maps = _frozen_maps(self.maps)
        self.joined = layer.get_submodule(family.joined)
        self.first_norm, self.norm = map(layer.get_submodule, (family.first_norm, family.norm))
        self.up, self.down = map(layer.get_submodule, (family.up, family.down))
        self.frozen_up = _is_plain(self.up)
        self.activation = attrgetter(family.activation)(layer)
        slots = (family.attention, family.feed_forward)
        self.attention_slot, self.slot = (
            None if path == family.joined else layer.get_submodule(path) for path in slots
        )

    def round_frozen(self, layer: nn.Module) -> None:
        """Rounds frozen maps to bf16, once. Autocast would do it in every pass, as it keeps rounded
        weights only where they train; the numbers are the same.
        """
        unread = []
        if self.frozen_maps is not None:
            weight, bias = self.frozen_maps
            self.frozen_maps, unread = (weight.bfloat16(), bias.bfloat16()), self.maps
        for module in layer.modules():
            if type(module) is nn.Linear and module not in unread and not _trains(module):
                for name, value in list(module.named_parameters()):
                    setattr(module, name, nn.Parameter(value.bfloat16(), requires_grad=False))

    def __call__(self, states: Tensor) -> Tensor:
        """(1, tokens, hidden) -> the same shape, or (1, rows, hidden) where the pass narrows."""
        now = self.now
        maps, states = self._map(states)
        attended = self.attend(maps)
        if now.narrows:  # nothing from here on mixes tokens
            now.narrowed = True
            states = now.packing.first(states.flatten(0, 1)).unsqueeze(0)
        states = self.first_norm(self._add(self.attention_slot, self.joined(attended), states))
        inner, states = beside(states, self.up, self.frozen_up)
        found: Tensor = self.norm(self._add(self.slot, self.down(self.activation(inner)), states))
        return found

    def attend(self, maps: Tensor) -> Tensor:
        """What the heads give for `maps` (1, tokens, 3 hidden): (1, tokens or rows, hidden)."""
        now = self.now
        heads = now.packing.narrow_heads if now.narrows else now.packing.heads
        q, k, v = heads.part(maps)
        mask, before, scale = now.packing.mask, 0, q.shape[-1] ** -0.5
        if now.prefix is not None and now.adapters:
            first_k, first_v = (self._of_rows(one, len(k)) for one in now.prefix)
            k, v, before = torch.cat([first_k, k], 2), torch.cat([first_v, v], 2), first_k.shape[2]
            mask = None if mask is None else F.pad(mask, (before, 0))
        if now.drops:
            return heads.join(attend(q, k, v, mask, scale, now.keep_weights(before), now.rate))
        mask = None if mask is None else mask.to(q.dtype)
        return heads.join(F.scaled_dot_product_attention(q, k, v, mask, scale=scale))

    def _map(self, states: Tensor) -> tuple[Tensor, Tensor]:
        """Queries, keys and values side by side, (1, tokens, 3 hidden), and the states."""
        if self.frozen_maps is not None:
            return _Beside.apply(states, *self.frozen_maps)  # type: ignore[no-any-return,no-untyped-call]
        return torch.cat([each(states) for each in self.maps], -1), states

    def _of_rows(self, x: Tensor, rows: int) -> Tensor:
        """(runs, positions, hidden), for all rows of a run: (rows, heads, positions, head)."""
        split = x.view(*x.shape[:2], self.now.heads, -1).transpose(1, 2)
        return split.repeat_interleave(rows // len(x), 0)

    def _add(self, slot: nn.Module | None, x: Tensor, states: Tensor) -> Tensor:
        """states + x after its dropout and what stands in its slot."""
        if slot is None:  # DistilBERT has no dropout there, and its slot is the map before
            return x + states
        if slot._forward_hooks or slot._forward_pre_hooks:
            changed: Tensor = slot(self.now.drop(x))
            return changed + states
        return self.now.drop_onto(x, states)


def attend(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, scale: float, keep: Tensor, rate: float
) -> Tensor:
    """drop(softmax(scale * q k' + mask)) v, (rows, heads, queries, head) as q; `keep` says which
    weights (rows, heads, queries, longest) dropout leaves.
    """
    scaling = 1.0 / (1.0 - rate)
    found: Tensor = _Attended.apply(q, k, v, mask, scale, keep, scaling)  # type: ignore[no-untyped-call]
    return found


class _Attended(torch.autograd.Function):
    """By hand, autograd would transpose k in memory and scale the weights' gradient once more."""

    @staticmethod
    def forward(
        ctx: Any,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        mask: Tensor | None,
        scale: float,
        keep: Tensor,
        scaling: float,
    ) -> Tensor:
        rows, heads, queries, _ = q.shape
        flat_q, flat_k, flat_v = (x.flatten(0, 1) for x in (q, k, v))
        scores = torch.bmm(flat_q, flat_k.transpose(1, 2)).view(rows, heads, queries, -1)
        scores = scores.mul_(scale) if mask is None else torch.add(mask, scores, alpha=scale)
        wide = torch.float64 if scores.dtype == torch.float64 else torch.float32
        weights = scores.softmax(-1, wide)
        dropped = scaled(weights.to(v.dtype), keep, scaling).flatten(0, 1)
        ctx.save_for_backward(flat_q, flat_k, flat_v, weights, keep, dropped)
        ctx.scale, ctx.scaling = scale, scaling
        return torch.bmm(dropped, flat_v).view(rows, heads, queries, -1)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        q, k, v, weights, keep, dropped = ctx.saved_tensors
        shape = weights.shape[:2]
        gradient = gradients[0].flatten(0, 1)
        of_v = torch.bmm(dropped.transpose(1, 2), gradient).view(*shape, *v.shape[1:])
        of_weights = torch.bmm(gradient, v.transpose(1, 2)).view(weights.shape).to(weights.dtype)
        of_weights = scaled(of_weights, keep, ctx.scaling * ctx.scale)
        of_scores = torch._softmax_backward_data(of_weights, weights, -1, weights.dtype)
        of_scores = of_scores.to(q.dtype).flatten(0, 1)
        of_q = torch.bmm(of_scores, k).view(*shape, *q.shape[1:])
        of_k = torch.bmm(of_scores.transpose(1, 2), q).view(*shape, *k.shape[1:])
        return of_q, of_k, of_v, None, None, None, None


def beside(states: Tensor, linear: nn.Module, frozen: bool) -> tuple[Tensor, Tensor]:
    """linear(states), and the states for what stands beside it."""
    if not frozen:
        return linear(states), states
    return _Beside.apply(states, linear.weight, linear.bias)  # type: ignore[no-any-return,no-untyped-call]


class _Beside(torch.autograd.Function):
    """A frozen linear map of x, and x itself: one product sums the two gradients of x."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor) -> tuple[Tensor, Tensor]:
        ctx.save_for_backward(weight)
        return F.linear(x, weight, bias), x.view_as(x)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        mapped, own = (gradient.flatten(0, -2) for gradient in gradients)
        weight = ctx.saved_tensors[0].to(mapped.dtype)
        if mapped.dtype == own.dtype:
            found = torch.addmm(own, mapped, weight)
        else:
            found = own + mapped @ weight
        return found.view(gradients[1].shape), None, None


def _frozen_maps(maps: Sequence[nn.Module]) -> tuple[Tensor, Tensor] | None:
    """Weight and bias of frozen linear maps as one; None where one of them is something else.

    The maps' own tensors become parts of these, so that nothing is stored twice.
    """
    if not all(map(_is_plain, maps)):
        return None
    linear: list[Any] = list(maps)
    return _side_by_side([m.weight for m in linear]), _side_by_side([m.bias for m in linear])


def _is_plain(module: nn.Module) -> bool:
    hooked = module._forward_hooks or module._forward_pre_hooks
    return type(module) is nn.Linear and not hooked and not _trains(module)


def _trains(module: nn.Module) -> bool:
    return any(parameter.requires_grad for parameter in module.parameters())


def _side_by_side(parts: Sequence[Tensor]) -> Tensor:
    """`parts` one after another, of which each then is a part; nothing is done where they are."""
    first, *_ = parts
    shape = (len(parts) * len(first), *first.shape[1:])
    step, storage = first.numel() * first.element_size(), first.untyped_storage().data_ptr()
    if all(
        (part.untyped_storage().data_ptr(), part.data_ptr())
        == (storage, first.data_ptr() + step * number)
        for number, part in enumerate(parts)
    ):
        return first.detach().as_strided(shape, first.stride())
    whole = torch.cat([part.detach() for part in parts])
    for part, own in zip(parts, whole.chunk(len(parts)), strict=True):
        part.data = own
    return whole
