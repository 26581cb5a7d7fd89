"""The published setting of Houlsby et al. 2019, value by value with its source, and our scales.

"code" is google-research/adapter-bert. It differs from the paper in the initialisation and in the
decay of the learning rate: the paper's are the headline, the code's the released reading.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from repro.papers.glue import FINE_TUNING, encoder
from repro.papers.published import load_published
from repro.papers.request import Request
from repro.papers.setting import Setting, assumed, borrowed, code, lines, paper, width_of
from repro.spec import Scale, Source
from repro.spec.backbones import BERT_BASE
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
    **lines(
        "recipe", code("optimization.py"), adam_beta1=0.9, adam_beta2=0.999, adam_eps=1e-6,
        weight_decay=0.01,
    ),
    "recipe.bias_correction": (False, code("optimization.py: Adam without it")),
    "recipe.decayed": ("matrices", code("optimization.py: no biases, no layer norms")),
    "recipe.clip_norm": (1.0, code("optimization.py: global norm")),
}  # fmt: skip
RELEASED_RECIPE: Setting = {
    "recipe.schedule": ("bert", code("optimization.py: 1 - g / N, also after the warm-up")),
}
"""What --as-released changes in the recipe: the rate drops by a tenth where the warm-up ends."""


def as_asked(setting: Setting, request: Request) -> Setting:
    """The setting at the scale and in the reading that are asked for: what is BERT's authors' own
    is the same in both readings.
    """
    fine_tuned = setting["method.kind"][0] in ("full-fine-tuning", "top-layers")
    if request.as_released and not fine_tuned:
        setting = setting | AS_RELEASED | RELEASED_RECIPE
    if request.scale == "smoke":
        setting = setting | {"recipe.batch_size": (16, assumed("smoke scale: few rows"))}
    return setting


@dataclass(frozen=True, slots=True)
class Sweep:
    """What a row is selected over on validation, restarts (seeds) apart.

    `widths` are sizes of adapters or numbers of top layers (None: neither); `epochs` 0: those that
    the paper chose for a task.
    """

    widths: tuple[int | None, ...]
    learning_rates: tuple[float, ...]
    epochs: tuple[int, ...] = (0,)


TUNED, VARIABLE, ADAPTED = "full-fine-tuning", "variable-fine-tuning", "adapters"
ONE_SIZE = "adapters-64"
Sweeps = dict[Scale, dict[str, Sweep]]
"""Scale -> row -> its sweep."""
GLUE_SWEEPS: Sweeps = {
    "paper": {
        TUNED: Sweep((None,), (5e-5, 4e-5, 3e-5, 2e-5), (3,)),
        ADAPTED: Sweep((8, 64, 256), (3e-5, 3e-4, 3e-3), (3, 20)),
        ONE_SIZE: Sweep((64,), (3e-5, 3e-4, 3e-3), (3, 20)),
    },
    "reduced": {
        TUNED: Sweep((None,), (3e-5,), (3,)),
        ADAPTED: Sweep((8, 64), (3e-4, 1e-3), (5,)),
        ONE_SIZE: Sweep((64,), (3e-4, 1e-3), (5,)),
    },
    "smoke": {
        TUNED: Sweep((None,), (5e-5,), (3,)),
        ADAPTED: Sweep((8, 64), (1e-3,), (3,)),
        ONE_SIZE: Sweep((64,), (1e-3,), (3,)),
    },
}
"""Houlsby-1: the paper's are in section 3.2 and, of fine-tuning, in Devlin et al., section 4.1 (the
best of four rates and several restarts); the others are ours: a machine of two cores.
"""
FURTHER_METHODS: dict[str, Setting] = {
    TUNED: FINE_TUNING,
    VARIABLE: FINE_TUNING
    | {"method.kind": ("top-layers", paper("section 3.3: only the top n layers are trained"))},
    ADAPTED: ADAPTERS | RECIPE | borrowed(RECIPE, "section 3.3 states no more", ("code",)),
}
RATES = (1e-5, 3e-5, 1e-4, 3e-3)
FURTHER_SMALL = {
    TUNED: Sweep((None,), (5e-5,)),
    VARIABLE: Sweep((3,), (1e-4,)),
    ADAPTED: Sweep((64,), (1e-3,)),
}
FURTHER_SWEEPS: Sweeps = {
    "paper": {
        TUNED: Sweep((None,), RATES),
        VARIABLE: Sweep((1, 2, 3, 5, 7, 9, 11, 12), RATES),
        ADAPTED: Sweep((2, 4, 8, 16, 32, 64), RATES),
    },
    "reduced": FURTHER_SMALL,
    "smoke": FURTHER_SMALL,
}
"""Houlsby-2: the paper's are in section 3.3; the others are ours: a machine of two cores."""


def sweep_of(sweeps: Sweeps, variant: str, request: Request) -> Sweep:
    """What a row is selected over; a value that the user set by hand is the only one."""
    sweep, width = sweeps[request.scale][variant], width_of(request)
    if variant in (ADAPTED, ONE_SIZE) and width is not None:
        sweep = replace(sweep, widths=(width,))
    if variant == VARIABLE:
        depth = encoder(request, BERT_BASE, paper("section 3.3"))[0].layers
        kept = tuple(n for n in sweep.widths if n is not None and n <= depth)
        sweep = replace(sweep, widths=kept or (depth,))
    rate, epochs = (request.settings.get(f"recipe.{name}") for name in ("learning_rate", "epochs"))
    return replace(
        sweep,
        learning_rates=(rate,) if rate else sweep.learning_rates,
        epochs=(epochs,) if epochs else sweep.epochs,
    )


def swept(scale: Scale, section: str) -> Source:
    """Where the values of a sweep come from."""
    if scale == "paper":
        return paper(f"section {section}: chosen on validation")
    return assumed(f"{scale} scale: a smaller sweep")


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
