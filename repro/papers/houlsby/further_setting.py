"""What Houlsby-2 is selected over: section 3.3 of Houlsby et al., and our scales."""

from __future__ import annotations

from dataclasses import dataclass

from repro.papers.glue import FINE_TUNING
from repro.papers.houlsby.setting import ADAPTERS, RECIPE
from repro.papers.published import load_published
from repro.papers.setting import Setting, assumed, borrowed, paper
from repro.spec import Scale, Source
from repro.spec.facts import SENTENCES

TUNED, VARIABLE, ADAPTED = "full-fine-tuning", "variable-fine-tuning", "adapters"

METHODS: dict[str, Setting] = {
    TUNED: FINE_TUNING,
    VARIABLE: FINE_TUNING
    | {"method.kind": ("top-layers", paper("section 3.3: only the top n layers are trained"))},
    ADAPTED: ADAPTERS | RECIPE | borrowed(RECIPE, "section 3.3 states no more", ("code",)),
}


@dataclass(frozen=True, slots=True)
class Points:
    """Sizes of adapters or numbers of top layers (None: neither), and learning rates."""

    widths: tuple[int | None, ...]
    learning_rates: tuple[float, ...]


RATES = (1e-5, 3e-5, 1e-4, 3e-3)
POINTS: dict[Scale, dict[str, Points]] = {
    "paper": {
        TUNED: Points((None,), RATES),
        VARIABLE: Points((1, 2, 3, 5, 7, 9, 11, 12), RATES),
        ADAPTED: Points((2, 4, 8, 16, 32, 64), RATES),
    },
    "reduced": {
        TUNED: Points((None,), (5e-5,)),
        VARIABLE: Points((3,), (1e-4,)),
        ADAPTED: Points((64,), (1e-3,)),
    },
    "smoke": {
        TUNED: Points((None,), (5e-5,)),
        VARIABLE: Points((3,), (1e-4,)),
        ADAPTED: Points((64,), (1e-3,)),
    },
}
"""The paper's are in section 3.3; the others are ours: a machine of two cores."""

SWEPT: dict[Scale, Source] = {
    "paper": paper("section 3.3: chosen on validation"),
    "reduced": assumed("reduced scale: a smaller sweep"),
    "smoke": assumed("smoke scale: a smaller sweep"),
}
SMALL_EPOCHS = {TUNED: 3, VARIABLE: 3, ADAPTED: 5}


def epochs_of(variant: str, task: str, scale: Scale) -> tuple[int, Source]:
    """How long a row is trained on a task: the paper chose by hand among 20, 50 and 100."""
    if scale != "paper":
        return SMALL_EPOCHS[variant], assumed(f"{scale} scale: a laptop")
    title = SENTENCES[task].title
    column = "Epochs (Adapters)" if variant == ADAPTED else "Epochs (Fine-tune)"
    cell = load_published("houlsby", "H19-T4")[title, column, "epochs"]
    assert cell.value is not None
    if variant == VARIABLE:
        return int(cell.value), assumed("as the fine-tuned row of Table 4, which lists no other")
    return int(cell.value), paper("Table 4")
