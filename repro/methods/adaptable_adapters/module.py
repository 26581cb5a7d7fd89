"""Adaptable adapters (Moosavi et al. 2022, section 3) and AdapterDrop (Rueckle et al. 2021).

A layer of BERT ends in LN(z), z = h + s with the feed-forward's output h and the residual s. With
x = LN(z), f(x) = W_u R(W_d x + b_d) + b_u and the switch's weights w_0 (identity), w_1 (adapter):

    plain            z + f(x)
    as-run           z + w_1 f(x)                 both branches keep h, as the released code runs
    paper-no-skip    z + w_1 (f(x) - h)           the adapter's branch without it, as printed
    released         z + w_0 x + w_1 f(x)         identity adds the normalised state once more

    training     w = softmax((l + g) / tau), g ~ Gumbel(0, 1) for each example and layer
    evaluation   w is 1 for the larger logit of l, the identity's where they are equal

The logits l start at 0.5. AdapterDrop leaves the first n layers as they are, another n each step.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from repro.methods.adaptable_adapters import AdaptableAdapters
from repro.methods.adaptable_adapters.rational import Rational
from repro.methods.inside.learner import Added, Place
from repro.methods.inside.passing import Pass
from repro.methods.inside.slots import Family
from repro.methods.modules.learner import Learned, Linear, draw
from repro.methods.modules.randomness import stream_seed

FIRST_LOGIT = 0.5
LEAST_DRAW = 1e-30
"""An exponential draw of 0 would make Gumbel's noise infinite."""


class AdaptableAdapter(nn.Module):
    """The adapter of one layer, of `runs` runs; parameters 2 m d + m + d a run, 10 with a rational,
    2 with a switch.
    """

    def __init__(self, spec: AdaptableAdapters, layer: int, runs: int, hidden: int) -> None:
        super().__init__()
        self.spec, self.layer = spec, layer
        self.down = Linear(runs, 1, hidden, spec.size)
        self.up = Linear(runs, 1, spec.size, hidden)
        self.rational: Rational | None = None
        if spec.activation == "rational":
            self.rational = Rational(runs, spec.form, spec.start)
        self.logits: nn.Parameter | None = None
        if spec.switch != "none":  # of identity and adapter
            self.logits = nn.Parameter(torch.full((runs, 1, 2), FIRST_LOGIT))
        self.low, self.high = [float("inf")] * runs, [float("-inf")] * runs
        """The least and the greatest input of each run's activation, where it is evaluated."""

    def initialise(self, streams: list[torch.Generator]) -> None:
        """Both matrices N(0, init_std^2), biases 0; activation and switch start the same always."""
        for linear in (self.down, self.up):
            draw(linear, streams, self.spec.init_std)

    def forward(self, z: Tensor, x: Tensor, h: Tensor, now: Pass) -> Tensor:
        """What goes into the layer's last norm: z, x and h (1, items, hidden) -> the same shape."""
        firsts = now.dropped if self.training else ()
        active = [run for run, first in enumerate(firsts) if first <= self.layer]
        if firsts and not active:
            return z
        change = self.change(x, now)
        if self.logits is not None:
            return self.switched(z, x, h, change, now)
        if len(active) < len(firsts):
            change = now.of_runs([float(run in active) for run in range(len(firsts))]) * change
        return z + change

    def change(self, x: Tensor, now: Pass) -> Tensor:
        """f(x) of (1, items, hidden), in the same shape."""
        shares = now.shares
        middle = self.down(shares.stack(x))  # (runs, longest, bottleneck)
        if self.rational is None:
            return shares.unstack(self.up(F.relu(middle)))
        if not self.training:
            self._watch(middle, shares.sizes)
        return shares.unstack(self.up(self.rational(middle)))

    def switched(self, z: Tensor, x: Tensor, h: Tensor, change: Tensor, now: Pass) -> Tensor:
        """Both branches, mixed in training; one of them in evaluation, exactly as it is alone."""
        branch = change - h if self.spec.switch == "paper-no-skip" else change
        other = x if self.spec.switch == "released" else None
        if not self.training:
            kept = now.of_runs(self.kept())
            return torch.where(kept, z + branch, z if other is None else z + other)
        weights = self.weights(now)
        mixed = z + weights[:, 1:].unsqueeze(0) * branch
        return mixed if other is None else mixed + weights[:, :1].unsqueeze(0) * other

    def weights(self, now: Pass) -> Tensor:
        """(items, 2): of identity and adapter, drawn for every example."""
        assert self.logits is not None
        streams, rows = now.dropout.generators, now.packing.rows // len(now.dropout.generators)
        shape, device = (rows, 2), self.logits.device
        drawn = [torch.empty(shape, device=device).exponential_(generator=s) for s in streams]
        noise = -torch.stack(drawn).clamp_(min=LEAST_DRAW).log()  # (runs, batch, 2)
        logits = (self.logits + noise) / self.spec.temperature
        return now.of_rows(logits.softmax(-1).flatten(0, 1))

    def kept(self) -> Tensor:
        """Whether each run's switch selects the adapter: (runs,)."""
        assert self.logits is not None
        return self.logits[:, 0, 1] > self.logits[:, 0, 0]

    def _watch(self, inputs: Tensor, sizes: Sequence[int]) -> None:
        """Remembers how far the inputs (runs, longest, bottleneck) of an activation reach."""
        for run, size in enumerate(sizes):
            least, most = torch.aminmax(inputs[run, :size])
            self.low[run] = min(self.low[run], float(least))
            self.high[run] = max(self.high[run], float(most))

    def forget_inputs(self) -> None:
        """From here on other inputs are remembered."""
        self.low, self.high = [float("inf")] * len(self.low), [float("-inf")] * len(self.high)


class Adaptable(Added):
    """The adapters by layer (from 0)."""

    name = "adaptable"
    rates: Mapping[str, str] = {
        "numerator": "rational_rate", "denominator": "rational_rate", "logits": "switch_rate",
    }  # fmt: skip

    def __init__(self, spec: AdaptableAdapters, place: Place) -> None:
        super().__init__()
        self.drops, self.now = spec.drops, place.now
        self.idles = spec.drops > 0
        self.unrestored = ("logits",) if spec.restored == "last" else ()
        for number in spec.adapted_layers(len(place.layers)):
            adapter = AdaptableAdapter(spec, number, place.runs, place.hidden)
            insert_adaptable(place.layers[number], place.family, adapter, place.now)
            self.add_module(str(number), adapter)

    def __iter__(self) -> Iterator[AdaptableAdapter]:
        """From the first layer on."""
        return iter(cast("Iterable[AdaptableAdapter]", self.children()))

    def prepare(self, step: int, seeds: Sequence[int]) -> None:
        """Draws how many of the first layers each run leaves out at this step."""
        if self.drops:
            self.now.dropped = tuple(first_dropped(self.drops, seed, step) for seed in seeds)

    def selected(self, run: int) -> list[int]:
        """The layers (from 0) whose adapter is in use."""
        return [a.layer for a in self if a.logits is None or bool(a.kept()[run])]

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
            for adapter in self
            if adapter.rational is not None
        }

    def forget_inputs(self) -> None:
        """From here on the inputs of activations are remembered anew."""
        for adapter in self:
            adapter.forget_inputs()


def insert_adaptable(
    layer: nn.Module, family: Family, adapter: AdaptableAdapter, now: Pass
) -> None:
    """Puts the adapter before the layer's last norm."""
    given: list[Tensor] = []

    def remember(_: nn.Module, __: object, output: Tensor) -> None:
        given[:] = [output]

    def before(norm: nn.Module, states: tuple[Tensor]) -> Tensor | None:
        h = given.pop()
        if not now.adapters:
            return None
        z = states[0]
        found: Tensor = adapter(z, norm.forward(z), h, now)
        return found

    layer.get_submodule(family.feed_forward).register_forward_hook(remember)
    layer.get_submodule(family.norm).register_forward_pre_hook(before)


def first_dropped(drops: int, seed: int, step: int) -> int:
    """How many of the first layers a run leaves out at a step: uniform in 0..drops."""
    draw = np.random.Generator(np.random.PCG64(stream_seed("adapter-drop", seed, step)))
    return int(draw.integers(0, drops + 1))
