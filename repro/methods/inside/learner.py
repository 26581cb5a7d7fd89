"""Runs of one method that train inside the encoder, on the library's unmodified model code.

Each learner has a copy of the model's modules that shares every frozen weight with the loaded
encoder. Dropout and adapters are hooks on the copy's modules, attention is a function registered
with the library, and layer norms that train stand in place of the encoder's own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from repro.backbones.load import Encoder
from repro.methods.inside.adaptable import AdaptableAdapter, first_dropped, insert_adaptable
from repro.methods.inside.adapters import Adapter, draw, slots_of
from repro.methods.inside.attention import use_packed_attention
from repro.methods.inside.heads import STD, Head, frozen_pooler, trained_pooler
from repro.methods.inside.hooks import (
    insert_houlsby,
    insert_pfeiffer,
    narrow_after_attention,
    seed_dropout,
    unfreeze_norms,
)
from repro.methods.inside.norms import TrainedNorm
from repro.methods.inside.passing import Pass
from repro.methods.inside.slots import Family, embed, family_of, layers_of
from repro.methods.learner import Inputs, Learned, Learner, Linear
from repro.methods.randomness import Dropout
from repro.spec.trained import Trained, adapted_layers


class Inside(Learner):
    """`runs` runs of what `trains` declares; one run where it copies whole parts of the encoder.

    Each run has rows of its own: those of a batch are runs x batch, run-major.
    """

    reads_states = False

    def __init__(self, trains: Trained, runs: int, encoder: Encoder, name: str) -> None:
        super().__init__()
        self.trains, self.runs, self.stacks = trains, runs, 1
        self.stacked = not trains.copies
        self.now = Pass(trains.dropout)
        self._dropped: tuple[int, ...] = ()
        self.family = family_of(encoder.model)
        model = encoder.shared_copy(_copied(trains, encoder.model, self.family))
        self._model = (model,)  # in a tuple: what is frozen is no part of the learner
        self._layers = layers_of(model, self.family)
        self.layers = len(self._layers)
        if trains.copies:
            self.encoder = model
        use_packed_attention(model)
        seed_dropout(model, self.now)
        hidden = int(model.config.hidden_size)  # type: ignore[union-attr,arg-type]
        self.norms = nn.ModuleList(self._unfreeze_norms(model))  # before hooks go on norms
        if trains.pooled:
            narrow_after_attention(self._layers[-1], self.family, self.now)
        self.adapters = nn.ModuleList(self._insert_adapters(hidden))
        self.adaptable = nn.ModuleDict(self._insert_adaptable(hidden))  # by layer, from 0
        self._add_head(encoder.pooler, hidden, name)

    def _unfreeze_norms(self, model: nn.Module) -> list[TrainedNorm]:
        if self.trains.norms == "none":
            return []
        below = "" if self.trains.norms == "all" else self.family.layers
        return unfreeze_norms(model, below, self.runs, self.now)

    def _insert_adapters(self, hidden: int) -> list[Adapter]:
        spec = self.trains.adapters
        if spec is None:
            return []
        slots = slots_of(spec, self.layers)
        adapters = [Adapter(spec, self.runs, hidden) for _ in range(slots[-1][-1] + 1)]
        for layer, used in zip(self._layers, slots, strict=True):
            own = [adapters[number] for number in used]
            if spec.placement == "pfeiffer":
                insert_pfeiffer(layer, self.family, own[0], self.now)
            else:
                insert_houlsby(layer, self.family, own, self.now)
        return adapters

    def _insert_adaptable(self, hidden: int) -> dict[str, AdaptableAdapter]:
        spec = self.trains.adaptable
        if spec is None:
            return {}
        self.idles = spec.drops > 0
        self.rates = {
            "numerator": "rational_rate", "denominator": "rational_rate", "logits": "switch_rate",
        }  # fmt: skip
        self.unrestored = ("logits",) if spec.restored == "last" else ()
        found = {}
        for number in adapted_layers(spec, self.layers):
            adapter = AdaptableAdapter(spec, number, self.runs, hidden)
            insert_adaptable(self._layers[number], self.family, adapter, self.now)
            found[str(number)] = adapter
        return found

    def _add_head(self, pooler: nn.Linear | None, hidden: int, name: str) -> None:
        self.pooler: Linear | None = None
        self._frozen_pooler: Callable[[Tensor], Tensor] | None = None
        if self.trains.pooler:
            self.pooler = trained_pooler(pooler, self.runs, hidden)
        elif self.trains.pooled:
            self._frozen_pooler = frozen_pooler(pooler, name)
        self._draws_pooler = self.trains.pooler and pooler is None
        self.head = Head(self.runs, hidden, self.trains.outputs, self.trains.dense)
        if not self.stacked:  # without the axes (runs, stacks), as the encoder's parameters are
            added = [self.head] if self.pooler is None else [self.pooler, self.head]
            for parameter in nn.ModuleList(added).parameters():
                parameter.data = parameter.data[0, 0]

    # -- what a pass does ---------------------------------------------------------------------

    def prepare(self, step: int, seeds: Sequence[int]) -> None:
        """Draws how many of the first layers each run leaves out at this step."""
        drops = self.trains.adaptable.drops if self.trains.adaptable is not None else 0
        self._dropped = tuple(first_dropped(drops, seed, step) for seed in seeds) if drops else ()

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
        self.now.begin(inputs.layout, self.runs, dropout)
        self.now.dropped = self._dropped if self.training else ()
        packing = self.now.packing
        ids, types = packing.ids(inputs.input_ids), packing.ids(inputs.type_ids)
        return embed(self._model[0], self.family, ids, types, packing.places)

    def run_layer(self, index: int, states: Tensor, adapters: bool = True) -> Tensor:
        """Layer `index` (from 0), with its adapters on or off: (1, tokens, hidden).

        A classifier's last layer gives each row's first token only: (1, rows, hidden).
        """
        last = index == self.layers - 1
        self.now.enter(narrows=self.trains.pooled and last, adapters=adapters)
        found: Tensor = self._layers[index](states, None, now=self.now)
        return found

    def finish(self, states: Tensor) -> Tensor:
        """What the last layer gave as the outputs that `forward` promises."""
        if self.trains.tags:
            states = self.now.drop(states)
        states = self.now.shares.stack(states)  # (runs, batch or tokens, hidden)
        if not self.trains.pooled:
            scores = self.now.shares.unstack(self.head(states, lambda x: x).float())
            return self._tags(scores) if self.trains.tags else self._spans(scores)
        pool = self.pooler or self._frozen_pooler
        assert pool is not None
        found: Tensor = self.head(torch.tanh(pool(states)), self.now.drop_rows)
        return found

    def initialise(self, streams: list[torch.Generator]) -> None:
        """Draws adapters in their order, a pooler that the checkpoint lacks, then the head."""
        for adapter in (*self.adapters, *self.adaptable.values()):
            adapter.initialise(streams)
        if self.pooler is not None and self._draws_pooler:
            draw(self.pooler, streams, STD)
        self.head.initialise(streams)

    # -- what an adaptable adapter learned ----------------------------------------------------

    def selected(self, run: int) -> list[int] | None:
        """The layers (from 0) whose adapter is in use; None of other methods."""
        if self.trains.adaptable is None:
            return None
        return [a.layer for a in self._adaptable() if a.logits is None or bool(a.kept()[run])]

    def activations(self, run: int) -> dict[int, Learned]:
        """Layer -> its rational activation and the inputs that it met since `forget_inputs`."""
        return {
            adapter.layer: Learned(
                adapter.rational.form,
                adapter.rational.numerator[run, 0].tolist(),
                adapter.rational.denominator[run, 0].tolist(),
                adapter.low[run],
                adapter.high[run],
            )
            for adapter in self._adaptable()
            if adapter.rational is not None
        }

    def forget_inputs(self) -> None:
        """From here on the inputs of activations are remembered anew."""
        for adapter in self._adaptable():
            adapter.forget_inputs()

    def _adaptable(self) -> list[AdaptableAdapter]:
        return [a for a in self.adaptable.values() if isinstance(a, AdaptableAdapter)]

    def _tags(self, scores: Tensor) -> Tensor:
        """Scores (1, tokens, tags) -> (runs, batch, length, tags)."""
        padded = self.now.layout.unpack(scores)  # (1, rows, length, tags)
        return padded.view(self.runs, -1, *padded.shape[2:])

    def _spans(self, scores: Tensor) -> Tensor:
        """Scores (1, tokens, 2) -> (runs, 2, batch, length)."""
        padded = self.now.layout.unpack(scores, fill=float("-inf"))  # (1, rows, length, 2)
        return padded.view(self.runs, -1, *padded.shape[2:]).permute(0, 3, 1, 2)


def _copied(trains: Trained, model: nn.Module, family: Family) -> list[nn.Module]:
    """The modules that a run trains a copy of."""
    if trains.embeddings:
        return [model]
    return layers_of(model, family)[-trains.layers :] if trains.layers else []
