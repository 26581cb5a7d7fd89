"""The published setting of Houlsby et al. 2019, value by value with its source, and our scales.

"code" is google-research/adapter-bert. It differs from the paper in the initialisation and in the
decay of the learning rate: the paper's are the headline, the code's the released reading.
"""

from __future__ import annotations

from dataclasses import dataclass

from repro.papers.setting import Setting, assumed, code, paper
from repro.spec import Scale

ADAPTERS: Setting = {
    "method.kind": ("bottleneck-adapters", paper("section 2.1")),
    "method.placement": ("houlsby", paper("Figure 2")),
    "method.size": (64, paper("Table 1")),
    "method.span": (0, code("each adapter has variables of its own")),
    "method.nonlinearity": ("gelu-tanh", code("modeling.py: gelu by tanh")),
    "method.init": ("truncated-normal", paper("section 3.6: truncated at two deviations")),
    "method.init_std": (1e-2, paper("section 3.6")),
    "method.norms": ("all", code("every layer norm, the embeddings' included")),
    "method.pooler": ("frozen", code("in no trained collection")),
    "method.head": ("linear", paper("section 2.1: a new top layer")),
    "method.dropout": (0.1, code("BERT's own, and before the classifier")),
}

AS_RELEASED: Setting = {
    "method.init_std": (1e-3, code("modeling.py: the default of the released code")),
}
"""What --as-released changes in the adapters."""

RECIPE: Setting = {
    "recipe.batch_size": (32, paper("section 3.1")),
    "recipe.epochs": (20, paper("section 3.2: 3 or 20, chosen on validation")),
    "recipe.keep": ("last", code("the last step's weights")),
    "recipe.learning_rate": (3e-4, paper("section 3.2: 3e-5 to 3e-3, chosen on validation")),
    "recipe.schedule": ("linear", paper("section 3.1: then linear decay to 0")),
    "recipe.warmup": (0.1, paper("section 3.1: over the first 10 % of the steps")),
    "recipe.adam_beta1": (0.9, code("optimization.py")),
    "recipe.adam_beta2": (0.999, code("optimization.py")),
    "recipe.adam_eps": (1e-6, code("optimization.py")),
    "recipe.bias_correction": (False, code("optimization.py: Adam without it")),
    "recipe.weight_decay": (0.01, code("optimization.py")),
    "recipe.decayed": ("matrices", code("optimization.py: no biases, no layer norms")),
    "recipe.clip_norm": (1.0, code("optimization.py: global norm")),
}
RELEASED_RECIPE: Setting = {
    "recipe.schedule": ("bert", code("optimization.py: 1 - g / N, also after the warm-up")),
}
"""What --as-released changes in the recipe: the rate drops by a tenth where the warm-up ends."""


@dataclass(frozen=True, slots=True)
class Sweep:
    """What a row is selected over on validation, restarts (seeds) apart."""

    sizes: tuple[int | None, ...]
    learning_rates: tuple[float, ...]
    epochs: tuple[int, ...]


ADAPTER_SWEEPS: dict[Scale, Sweep] = {
    "paper": Sweep((8, 64, 256), (3e-5, 3e-4, 3e-3), (3, 20)),
    "reduced": Sweep((8, 64), (3e-4, 1e-3), (5,)),
    "smoke": Sweep((8, 64), (1e-3,), (3,)),
}
"""The paper's is in section 3.2; the others are ours: a machine of two cores."""

FINE_TUNING_SWEEPS: dict[Scale, Sweep] = {
    "paper": Sweep((None,), (5e-5, 4e-5, 3e-5, 2e-5), (3,)),
    "reduced": Sweep((None,), (3e-5,), (3,)),
    "smoke": Sweep((None,), (5e-5,), (3,)),
}
"""Devlin et al., section 4.1: the best of four rates and several restarts on validation."""

SWEPT = {
    "paper": paper("section 3.2: chosen on validation"),
    "reduced": assumed("reduced scale: a smaller sweep"),
    "smoke": assumed("smoke scale: a smaller sweep"),
}
"""Scale -> where the values of a sweep come from."""
