"""Runs of one method that train inside the encoder.

Each learner has a copy of the model's modules that shares every frozen weight with the loaded
encoder. What a method adds are hooks on the copy's modules, layer norms that train stand in place
of the encoder's own, and the layers' forward pass is that of `repro.methods.inside.layer`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from repro.backbones.load import Encoder
from repro.errors import ReproError
from repro.methods.inside import InsideEncoder, Trained
from repro.methods.inside.layer import use_packed_tokens
from repro.methods.inside.parts import (
    STD,
    Head,
    frozen_pooler,
    trained_pooler,
    unfreeze_norms,
)
from repro.methods.inside.passing import Mask, Pass
from repro.methods.inside.slots import Family, embed, family_of, layers_of
from repro.methods.modules.learner import Inputs, Learned, Learner, Linear, Trainable, draw
from repro.methods.modules.randomness import Dropout
from repro.spec.types import RunSpec

HEAD = "head."
"""Begins the names of the parameters of a task's own head."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a method adds its modules: a learner's copy of the encoder."""

    model: nn.Module
    family: Family
    """Names of the modules in a layer."""
    layers: list[nn.Module]
    """From the first one on."""
    hidden: int
    runs: int
    now: Pass
    """The pass through the encoder, for hooks: which items are of which run, and dropout."""


class Added(Trainable):
    """Base of what a method adds to the encoder. Its parameters carry the axes (runs, 1, ...).

    The constructor takes the settings and a `Place`, and hooks itself into the place's modules.
    """

    name = "added"
    """Of the parameters: "<name>.<own name>"."""
    foreseen = False
    """It draws nothing in a pass and changes no shape that the encoder's dropout sees: the masks of
    a whole pass are then drawn together.
    """

    def initialise(self, streams: list[torch.Generator]) -> None:
        """Each of its modules in order, from the runs' CPU generators."""
        for part in self.children():
            part.initialise(streams)  # type: ignore[operator]


class Inside(Learner):
    """`runs` runs of a method inside the encoder; one run where it copies whole parts of it.

    Each run has rows of its own: those of a batch are runs x batch, run-major.
    """

    reads_states = False

    def __init__(
        self,
        method: InsideEncoder,
        trains: Trained,
        runs: int,
        encoder: Encoder,
        name: str,
        precision: str,
    ) -> None:
        super().__init__()
        self.trains, self.runs, self.stacks = trains, runs, 1
        self.stacked = not (trains.copies or method.trains_alone)
        self.family = family_of(encoder.model)
        config: Any = encoder.model.config
        self.now = Pass(trains.dropout, config.num_attention_heads)
        layers = layers_of(encoder.model, self.family)
        last = layers[-trains.layers :] if trains.layers else []
        model = encoder.shared_copy([encoder.model] if trains.embeddings else last)
        self._model = (model,)  # in a tuple: what is frozen is no part of the learner
        self._layers = layers_of(model, self.family)
        self.layers = len(self._layers)
        if trains.copies:
            self.encoder = model
        hidden = int(config.hidden_size)
        below = {"none": None, "encoder": self.family.layers, "all": ""}[trains.norms]
        norms = [] if below is None else unfreeze_norms(model, below, runs, self.now)
        self.norms = nn.ModuleList(norms)  # before hooks go on norms
        self._add(method, Place(model, self.family, self._layers, hidden, runs, self.now))
        # what a method draws in a pass, and the targets of tags, differ from batch to batch
        self.replayable = self.foreseen and not trains.tags
        use_packed_tokens(model, self._layers, self.family, self.now, precision)
        self._add_head(encoder.pooler, hidden, name)

    def _add(self, method: InsideEncoder, place: Place) -> None:
        added = method.added(place)
        self._added = (added,)  # in a tuple: it stands below under its own name
        if added is not None:
            self.add_module(added.name, added)
            self.idles, self.rates = added.idles, added.rates
            self.unrestored = added.unrestored

    @property
    def added(self) -> Added | None:
        """What the method adds to the encoder."""
        return self._added[0]

    def _add_head(self, pooler: nn.Linear | None, hidden: int, name: str) -> None:
        self.pooler: Linear | None = None
        self._frozen_pooler: Callable[[Tensor], Tensor] | None = None
        if self.trains.pooler:
            self.pooler = trained_pooler(pooler, self.runs, hidden)
        elif self.trains.pooled and not self.trains.unpooled:
            self._frozen_pooler = frozen_pooler(pooler, name)
        self._draws_pooler = self.trains.pooler and pooler is None
        self.head = Head(self.runs, hidden, self.trains.outputs, self.trains.dense)
        if not self.stacked:  # without the axes (runs, stacks), as the encoder's parameters are
            added = [self.head] if self.pooler is None else [self.pooler, self.head]
            for parameter in nn.ModuleList(added).parameters():
                parameter.data = parameter.data[0, 0]

    # -- what a pass does ---------------------------------------------------------------------

    def prepare(self, step: int, seeds: Sequence[int]) -> None:
        """Lets what is added draw for this step."""
        if self.added is not None:
            self.added.prepare(step, seeds)

    def forward(self, inputs: Inputs, dropout: Dropout) -> Tensor:
        """(runs, batch, outputs) of a classifier; spans (runs, 2, batch, length).

        The rows of `inputs` are runs x batch, padded on the right.
        """
        self.begin(inputs, dropout)
        return self.outputs()

    def outputs(self) -> Tensor:
        """What `forward` gives, of the batch that was begun."""
        states = self.embedded()
        for index in range(self.layers):
            states = self.run_layer(index, states)
        return self.finish(states)

    def start(self, inputs: Inputs, dropout: Dropout) -> Tensor:
        """The embedding output (1, tokens, hidden); the layers that follow read this batch."""
        self.begin(inputs, dropout)
        return self.embedded()

    def begin(self, inputs: Inputs, dropout: Dropout, rounded: bool = False) -> None:
        """Makes what a pass reads of a batch; `rounded`: see `Packing`."""
        now = self.now
        now.begin(inputs.layout, self.runs, dropout, rounded)
        if now.drops and self.foreseen:
            now.foresee(list(self._masks()))
        self._ids, self._types = (now.packing.ids(x) for x in (inputs.input_ids, inputs.type_ids))

    @property
    def foreseen(self) -> bool:
        """The masks of a pass are known before it."""
        return self.added is None or self.added.foreseen

    def read(self) -> list[Tensor]:
        """All that `outputs` will read of the batch that was begun, dropout's masks included."""
        return [self._ids, self._types, *self.now.packing.tensors(), *self.now.draw()]

    def embedded(self) -> Tensor:
        """The embedding output of the batch that was begun."""
        places, drop = self.now.packing.places, self.now.drop
        return embed(self._model[0], self.family, self._ids, self._types, places, drop)

    def _masks(self) -> Iterator[Mask]:
        """What dropout will mask in this pass, in order."""
        now, hidden = self.now, self.head.scorer.weight.shape[-2]
        first: Any = self._model[0].get_submodule("embeddings.word_embeddings")
        yield now.of_items(first.embedding_dim, narrowed=False)
        slots = 1 if self.family.attention == self.family.joined else 2
        for index in range(self.layers):
            narrows = self.trains.pooled and index == self.layers - 1
            yield now.of_weights(narrows)
            yield from [now.of_items(hidden, narrows)] * slots
        if self.trains.pooled:
            yield from [now.of_rows_of_runs(hidden)] * (2 if self.trains.dense else 1)
        elif self.trains.tags:
            yield now.of_items(hidden, narrowed=False)

    def run_layer(self, index: int, states: Tensor, adapters: bool = True) -> Tensor:
        """Layer `index` (from 0), with its adapters on or off: (1, tokens, hidden).

        A classifier's last layer gives each row's first token only: (1, rows, hidden).
        """
        last = index == self.layers - 1
        self.now.enter(narrows=self.trains.pooled and last, adapters=adapters)
        found: Tensor = self._layers[index](states)
        return found

    def finish(self, states: Tensor) -> Tensor:
        """What the last layer gave as the outputs that `forward` promises."""
        if self.trains.tags:
            states = self.now.drop(states)
        states = self.now.shares.stack(states)  # (runs, batch or tokens, hidden)
        if not self.trains.pooled:
            scores = self.now.shares.unstack(self.head(states, lambda x: x).float())
            if self.trains.tags:  # (runs, batch, length, tags)
                return self.now.packing.unpack(scores)
            spans = self.now.packing.unpack(scores, fill=float("-inf"))
            return spans.permute(0, 3, 1, 2)  # (runs, 2, batch, length)
        pool = self.pooler or self._frozen_pooler
        pooled = states if pool is None else torch.tanh(pool(states))
        found: Tensor = self.head(pooled, self.now.drop_rows)
        return found

    def initialise(self, streams: list[torch.Generator]) -> None:
        """Draws what is added, a pooler that the checkpoint lacks, then the head."""
        if self.added is not None:
            self.added.initialise(streams)
        if self.pooler is not None and self._draws_pooler:
            draw(self.pooler, streams, STD)
        self.head.initialise(streams)

    def start_from(self, spec: RunSpec, tensors: Mapping[str, Tensor]) -> None:
        """Takes all that a run on another task trained but for its head, which has other classes.

        Raises ReproError where that run trained other parts, or parts of another shape.
        """
        own = {n: p for n, p in self.named_parameters() if not n.startswith(HEAD)}
        theirs = {n: tensor for n, tensor in tensors.items() if not n.startswith(HEAD)}
        other = sorted(own.keys() ^ theirs.keys()) or [
            n for n, p in own.items() if p.shape[self.stacked :] != theirs[n].shape
        ]
        if other:
            raise ReproError(
                f"A run of '{spec.method.kind}' on {spec.task.name} is no start for this one: "
                f"{other[0]} is not alike in both. Give both the same backbone and method."
            )
        with torch.no_grad():
            for name, parameter in own.items():
                parameter.copy_(theirs[name])

    # -- what was learned beside the weights --------------------------------------------------

    def selected(self, run: int) -> list[int] | None:
        """The layers (from 0) whose adapter is in use, where the method chooses."""
        return None if self.added is None else self.added.selected(run)

    def activations(self, run: int) -> dict[int, Learned]:
        """Layer -> its learned activation and the inputs that it met since `forget_inputs`."""
        return {} if self.added is None else self.added.activations(run)

    def forget_inputs(self) -> None:
        """From here on the inputs of activations are remembered anew."""
        if self.added is not None:
            self.added.forget_inputs()
