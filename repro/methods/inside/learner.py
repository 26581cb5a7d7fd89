"""Runs of one method that train inside the encoder, on the library's unmodified model code.

Each learner has a copy of the model's modules that shares every frozen weight with the loaded
encoder. Dropout and adapters are hooks on the copy's modules, attention is a function registered
with the library, and layer norms that train stand in place of the encoder's own.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from repro.backbones.load import Encoder
from repro.methods.inside.adapters import Adapter, draw, slots_of
from repro.methods.inside.attention import use_packed_attention
from repro.methods.inside.heads import STD, Head, frozen_pooler, trained_pooler
from repro.methods.inside.norms import TrainedNorm
from repro.methods.inside.packing import Packing, pick
from repro.methods.inside.passing import Pass
from repro.methods.inside.slots import Family, embed, family_of, layers_of
from repro.methods.learner import Inputs, Learner, Linear
from repro.methods.randomness import Dropout
from repro.spec.trained import Trained


class Inside(Learner):
    """`runs` runs of what `trains` declares; one run where it copies whole parts of the encoder."""

    reads_states = False
    own_rows = True

    def __init__(self, trains: Trained, runs: int, encoder: Encoder, name: str) -> None:
        super().__init__()
        self.trains, self.runs, self.stacks = trains, runs, 1
        self.stacked = not trains.copies
        self.now: Pass | None = None
        self.family = family_of(encoder.model)
        model = encoder.shared_copy(_copied(trains, encoder.model, self.family))
        use_packed_attention(model)
        self._model = (model,)  # in a tuple: what is frozen is no part of the learner
        self._layers = layers_of(model, self.family)
        self.layers = len(self._layers)
        if trains.copies:
            self.encoder = model
        hidden = int(model.config.hidden_size)  # type: ignore[union-attr,arg-type]
        self._hook_dropout(model)
        self.norms = nn.ModuleList(self._unfreeze_norms(model))
        self.adapters = nn.ModuleList(self._place_adapters(hidden))
        self.pooler: Linear | None = None
        self._pool: Callable[[Tensor], Tensor] | None = None
        if trains.pooled:
            narrow = self._layers[-1].get_submodule(self.family.narrow)
            narrow.register_forward_pre_hook(self._narrow)
            if trains.pooler:
                self.pooler = trained_pooler(encoder.pooler, runs, hidden)
            else:
                self._pool = frozen_pooler(encoder.pooler, name)
        self._draws_pooler = encoder.pooler is None
        self.head = Head(runs, hidden, trains.outputs, trains.dense)
        if trains.copies:  # the axes (runs, stacks) are not there, as in the encoder's parameters
            for module in (self.pooler, self.head):
                for parameter in [] if module is None else module.parameters():
                    parameter.data = parameter.data[0, 0]

    # -- what a pass does ---------------------------------------------------------------------

    def forward(self, inputs: Inputs, dropout: Dropout) -> Tensor:
        """(runs, batch, outputs) of a classifier; spans (runs, 2, batch, length).

        The rows of `inputs` are runs x batch, padded on the right.
        """
        states = self.start(inputs, dropout)
        for index in range(self.layers):
            states = self.run_layer(index, states)
        return self.finish(states)

    def start(self, inputs: Inputs, dropout: Dropout) -> Tensor:
        """The embedding output (1, tokens, hidden); the layers that follow read this batch."""
        packing = Packing(inputs.layout, self.runs)
        self.now = Pass(packing, dropout, self.trains.dropout, inputs.layout)
        ids, types = packing.ids(inputs.input_ids), packing.ids(inputs.type_ids)
        return embed(self._model[0], self.family, ids, types, packing.places)

    def run_layer(self, index: int, states: Tensor, adapters: bool = True) -> Tensor:
        """Layer `index` (from 0), with its adapters on or off: (1, tokens, hidden).

        A classifier's last layer gives each row's first token only: (1, rows, hidden).
        """
        now = self._now()
        now.adapters, now.narrowed = adapters, False
        now.narrows = self.trains.pooled and index == self.layers - 1
        found: Tensor = self._layers[index](states, None, now=now)
        return found

    def finish(self, states: Tensor) -> Tensor:
        """What the last layer gave as the outputs that `forward` promises."""
        now = self._now()
        states = now.shares.stack(states)  # (runs, batch or tokens, hidden)
        if not self.trains.pooled:
            return self._spans(self.head(states, lambda x: x), now)
        pool = self.pooler or self._pool
        assert pool is not None
        pooled = torch.tanh(pool(states))
        scores: Tensor = self.head(pooled, now.drop_rows)
        return scores

    def initialise(self, streams: list[torch.Generator]) -> None:
        """Draws adapters in their order, a pooler that the checkpoint lacks, then the head."""
        for adapter in self.adapters:
            adapter.initialise(streams)  # type: ignore[operator]
        if self.pooler is not None and self._draws_pooler:
            draw(self.pooler, streams, STD)
        self.head.initialise(streams)

    def _spans(self, scores: Tensor, now: Pass) -> Tensor:
        """Scores (runs, longest run, 2) of tokens -> (runs, 2, batch, length)."""
        flat = now.shares.unstack(scores.float())
        padded = now.layout.unpack(flat, fill=float("-inf"))  # (1, rows, length, 2)
        return padded.view(self.runs, -1, *padded.shape[2:]).permute(0, 3, 1, 2)

    def _now(self) -> Pass:
        assert self.now is not None, "start() comes first"
        return self.now

    # -- hooks in the library's modules -------------------------------------------------------

    def _hook_dropout(self, model: nn.Module) -> None:
        """The library's own dropout is off: it would draw from the process's generator."""
        for module in model.modules():
            if isinstance(module, nn.Dropout):
                module.p = 0.0
                module.register_forward_hook(self._drop)

    def _drop(self, _: nn.Module, __: Any, output: Tensor) -> Tensor:
        return self._now().drop(output)

    def _narrow(self, _: nn.Module, args: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        now = self._now()
        now.narrowed = True
        return tuple(pick(x[0], now.packing.first).unsqueeze(0) for x in args)

    def _unfreeze_norms(self, model: nn.Module) -> list[TrainedNorm]:
        """Puts norms of the runs' own in place of those that train, in order of the modules."""
        if self.trains.norms == "none":
            return []
        where = [
            name
            for name, module in model.named_modules()
            if isinstance(module, nn.LayerNorm)
            and (self.trains.norms == "all" or name.startswith(self.family.layers))
        ]
        made = []
        for name in where:
            parent, _, child = name.rpartition(".")
            norm = model.get_submodule(name)
            assert isinstance(norm, nn.LayerNorm)
            made.append(TrainedNorm(norm, self.runs, lambda: self._now().shares))
            setattr(model.get_submodule(parent), child, made[-1])
        return made

    def _place_adapters(self, hidden: int) -> list[Adapter]:
        """Makes the adapters and hooks them into their slots."""
        spec = self.trains.adapters
        if spec is None:
            return []
        slots = slots_of(spec, self.layers)
        adapters = [Adapter(spec, self.runs, hidden) for _ in range(slots[-1][-1] + 1)]
        for layer, used in zip(self._layers, slots, strict=True):
            if spec.placement == "pfeiffer":
                norm = layer.get_submodule(self.family.norm)
                norm.register_forward_pre_hook(partial(self._before_norm, adapters[used[0]]))
            else:
                for slot, number in zip(
                    (self.family.attention, self.family.feed_forward), used, strict=True
                ):
                    place = layer.get_submodule(slot)
                    place.register_forward_hook(partial(self._after, adapters[number]))
        return adapters

    def _after(self, adapter: Adapter, _: nn.Module, __: Any, output: Tensor) -> Tensor | None:
        """Houlsby: x -> x + f(x)."""
        now = self._now()
        return output + adapter(output, now.shares) if now.adapters else None

    def _before_norm(self, adapter: Adapter, norm: nn.Module, args: tuple[Tensor]) -> Tensor | None:
        """Pfeiffer: z -> z + f(LN(z)), before the same norm."""
        now = self._now()
        if not now.adapters:
            return None
        change: Tensor = adapter(norm.forward(args[0]), now.shares)
        return args[0] + change


def _copied(trains: Trained, model: nn.Module, family: Family) -> list[nn.Module]:
    """The modules that a run trains a copy of."""
    if trains.embeddings:
        return [model]
    return layers_of(model, family)[-trains.layers :] if trains.layers else []
