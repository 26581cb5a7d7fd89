"""The published setting of Houlsby et al. 2019, value by value with its source, and our scales.

"code" is google-research/adapter-bert. It differs from the paper in the initialisation and in the
decay of the learning rate: the paper's are the headline, the code's the released reading.
"""

from __future__ import annotations

from dataclasses import dataclass

from repro.papers.glue import FINE_TUNING
from repro.papers.published import load_published
from repro.papers.setting import Setting, assumed, borrowed, code, paper
from repro.spec import Scale, Source
from repro.spec.facts import SENTENCES

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
    """What a row is selected over on validation, restarts (seeds) apart.

    `widths` are sizes of adapters or numbers of top layers (None: neither); `epochs` 0: those that
    the paper chose for a task.
    """

    widths: tuple[int | None, ...]
    learning_rates: tuple[float, ...]
    epochs: tuple[int, ...] = (0,)


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


def swept(scale: Scale, section: str) -> Source:
    """Where the values of a sweep come from."""
    if scale == "paper":
        return paper(f"section {section}: chosen on validation")
    return assumed(f"{scale} scale: a smaller sweep")


TUNED, VARIABLE, ADAPTED = "full-fine-tuning", "variable-fine-tuning", "adapters"

FURTHER_METHODS: dict[str, Setting] = {
    TUNED: FINE_TUNING,
    VARIABLE: FINE_TUNING
    | {"method.kind": ("top-layers", paper("section 3.3: only the top n layers are trained"))},
    ADAPTED: ADAPTERS | RECIPE | borrowed(RECIPE, "section 3.3 states no more", ("code",)),
}
RATES = (1e-5, 3e-5, 1e-4, 3e-3)
FURTHER_SWEEPS: dict[Scale, dict[str, Sweep]] = {
    "paper": {
        TUNED: Sweep((None,), RATES),
        VARIABLE: Sweep((1, 2, 3, 5, 7, 9, 11, 12), RATES),
        ADAPTED: Sweep((2, 4, 8, 16, 32, 64), RATES),
    },
    "reduced": {
        TUNED: Sweep((None,), (5e-5,)),
        VARIABLE: Sweep((3,), (1e-4,)),
        ADAPTED: Sweep((64,), (1e-3,)),
    },
    "smoke": {
        TUNED: Sweep((None,), (5e-5,)),
        VARIABLE: Sweep((3,), (1e-4,)),
        ADAPTED: Sweep((64,), (1e-3,)),
    },
}
"""Houlsby-2: the paper's are in section 3.3; the others are ours: a machine of two cores."""
SMALL_EPOCHS = {TUNED: 3, VARIABLE: 3, ADAPTED: 5}


def printed_epochs(task: str, column: str) -> int:
    """The epochs that the paper chose for one of its 17 tasks (Table 4): 20, 50 or 100."""
    cells = load_published("houlsby", "H19-T4")
    value = cells[SENTENCES[task].title, f"Epochs ({column})", "epochs"].value
    assert value is not None
    return int(value)


def epochs_of(variant: str, task: str, scale: Scale) -> tuple[int, Source]:
    """How long a row of Houlsby-2 is trained on a task."""
    if scale != "paper":
        return SMALL_EPOCHS[variant], assumed(f"{scale} scale: a laptop")
    if variant == VARIABLE:
        why = assumed("as the fine-tuned row of Table 4, which lists no other")
        return printed_epochs(task, "Fine-tune"), why
    return printed_epochs(task, "Adapters" if variant == ADAPTED else "Fine-tune"), paper("Table 4")
