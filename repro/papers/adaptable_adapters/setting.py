"""The published setting of Adaptable Adapters, value by value with its source, and its runs.

"code" is github UKPLab/adaptable-adapters at 9449be3. Where it has a defect that changes results,
the headline repairs it, and --as-released keeps it.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from repro.errors import ReproError
from repro.methods.adaptable_adapters import LastLayers
from repro.papers.glue import encoder, on_sentences
from repro.papers.matrix import Chain
from repro.papers.published import in_text
from repro.papers.request import Request
from repro.papers.setting import Own, Setting, Template, assumed, code, lines, paper
from repro.spec import Backbone, Source
from repro.spec.backbones import BERT_LARGE

SECTION = "section 4.3"

PLAIN: Setting = {
    "method.kind": ("adaptable-adapters", paper(f"{SECTION}: AdapterHub's pfeiffer")),
    "method.activation": ("relu", paper("section 3.1: AdapterHub's default")),
    "method.switch": ("none", paper(f"{SECTION}: the baseline has none")),
    "method.layers": (None, paper(f"{SECTION}: every layer")),
    "method.drops": (0, paper(f"{SECTION}: nothing is dropped")),
    "method.init_std": (0.02, code("AdapterHub: N(0, 0.02), biases 0")),
    "method.pooler": ("frozen", code("the whole encoder is frozen; a classifier is trained")),
    "method.dropout": (0.1, code("BERT's own, active in training")),
    **lines("method", assumed("of rationals, which it has none of"), form="a", start="one"),
    **lines(
        "method", assumed("of switches, which it has none of"), temperature=0.1, restored="best"
    ),
}
"""The baseline."""

RATIONAL: Setting = {
    "method.activation": ("rational", paper("section 3.1, m = 5, n = 4")),
    "method.form": ("a", code("rational_activations 0.2.2, version A; the equation fits A and B")),
    "method.start": ("one", paper(f"{SECTION}: the constant 1")),
}
SWITCH: Setting = {
    "method.switch": (
        "as-run",
        code("the adapter's branch keeps its residual; the paper drops it"),
    ),
    "method.temperature": (0.1, paper(f"{SECTION}: tau")),
    "method.restored": ("best", assumed("switches of the epoch whose adapters are kept")),
}
AS_RELEASED: Setting = {
    "method.switch": ("released", code("the identity branch adds the layer's output once more")),
    "method.restored": ("last", code("checkpoints hold no switches")),
}
"""What --as-released changes in every model with a switch."""

RECIPE: Setting = {
    "recipe.batch_size": (32, code("run.py")),
    "recipe.epochs": (20, paper("section 4.4: low-data")),
    "recipe.keep": ("first-best", code("the best epoch on development rows, ties to the first")),
    "recipe.learning_rate": (1e-4, code("run.py: adapters and classifier")),
    "recipe.switch_rate": (0.05, code("run.py: switches")),
    "recipe.rational_rate": (0.01, code("run.py: rationals")),
    **lines(
        "recipe", code("the Trainer's default"), schedule="linear", warmup=0.0, adam_beta1=0.9,
        adam_beta2=0.999, adam_eps=1e-8, clip_norm=1.0,
    ),
    "recipe.bias_correction": (True, code("torch's Adam")),
    "recipe.weight_decay": (0.0, code("no decay")),
    "recipe.decayed": ("all", assumed("nothing is decayed")),
}  # fmt: skip

FULL_DATA: Setting = {
    "recipe.epochs": (20, code("run.py: the default; the paper states it for low data only")),
}
"""What training on all rows changes in the recipe."""

DRAWN: Setting = {
    "task.development": (0.25, paper("section 4.4: a quarter of the training rows")),
}

SMALL: dict[str, Setting] = {
    "reduced": {
        "task.evaluation_rows": (1_000, assumed("reduced scale: a laptop")),
        "recipe.learning_rate": (1e-3, assumed("reduced scale: few steps, small encoder")),
    },
    "smoke": {
        "task.revision": ("seed=0,train=100,validation=40", assumed("smoke scale: few rows")),
        **lines("recipe", assumed("smoke scale: few rows"), batch_size=8, epochs=3),
        "recipe.learning_rate": (1e-3, assumed("smoke scale: few steps")),
    },
}

FULL = "Full data"
LOW = {100: "Low-data-100", 300: "Low-data-300", 500: "Low-data-500"}
"""Rows -> the block of a table, as the paper calls it."""
BLOCKS: dict[str, int | None] = {FULL: None} | {name: rows for rows, name in LOW.items()}
"""Block -> the annotated rows that it draws; None: all."""
SMOKE_ROWS = {100: 40, 300: 60, 500: 80}
"""What stands for them among the generated rows."""
REDUCED_FULL: Setting = {
    "task.train_rows": (2_000, assumed("reduced scale: a laptop")),
    "recipe.epochs": (5, assumed("reduced scale: a laptop")),
}

SEEDS = (42, 92, 111, 245, 651)
"""Of the paper (released code), the first one first; ours go on from `FURTHER`."""
FURTHER = 1_000
DEPTH, KEPT = 24, 13
"""BERT-large's layers, and how many of them AA keeps for QQP (section 5)."""

CHOSEN, CHOSEN_BLOCK = "qqp", LOW[100]
"""Task and block whose selected layers AA-focused^uni uses everywhere (section 5)."""
BASELINE, AA, SPEC, UNI, SIM = (
    "Baseline",
    "AA",
    "AA-focused^spec",
    "AA-focused^uni",
    "AA-focused^sim",
)
DROP, DROP_AA, DROP_13 = "AdapterDrop", "AdapterDrop^AA", f"AdapterDrop^{KEPT}"
SWITCH_ONLY, RATIONAL_ONLY, BASELINE_13 = "Switch-only", "Rational-only", f"Baseline_{KEPT}"
ARCHITECTURE, TRAINED = "architecture", "trained"
"""Roles of parents: the run that selected the layers, and the one that is only evaluated."""
LAYERS = "method.layers"
OF_RATIONALS: tuple[str, ...] = ("method.form", "method.start", "recipe.rational_rate")
OF_SWITCHES: tuple[str, ...] = (
    "method.switch", "method.temperature", "method.restored", "recipe.switch_rate",
)  # fmt: skip
OWN_SETTING: dict[str, Setting] = {
    BASELINE: PLAIN,
    AA: PLAIN | RATIONAL | SWITCH,
    SPEC: PLAIN | RATIONAL,
    UNI: PLAIN | RATIONAL,
    SIM: PLAIN | RATIONAL,
    DROP: PLAIN,
    SWITCH_ONLY: PLAIN | SWITCH,
    RATIONAL_ONLY: PLAIN | RATIONAL,
    BASELINE_13: PLAIN,
}


def chain_of(
    variant: str, task: str, request: Request, block: str, seed: int, large: str = BERT_LARGE
) -> Chain:
    """The run of a model on a task and a block of rows, last; before it those that it needs.

    `variant` is a row of Table 2 or 4, or "last N" for rationals in the last N of 24 layers.
    `large` is the encoder at the paper's scale. Raises ReproError for published layers of another
    depth.
    """
    runs, first = _template(variant, task, request, block, large)
    if variant not in (DROP_AA, DROP_13):
        return *first, runs.run(seed)
    # AdapterDrop is trained once, and scored with as many of the last layers as another model has.
    (trained,) = chain_of(DROP, task, request, block, seed, large)
    parents = {TRAINED: trained} | dict(zip((ARCHITECTURE,), first, strict=False))
    return *parents.values(), runs.run(seed, parents)


@lru_cache(maxsize=2048)
def _template(
    variant: str, task: str, request: Request, block: str, large: str
) -> tuple[Template, Chain]:
    """The runs of a model, and the run that selects the layers of all of them, if one does."""
    if variant in (DROP_AA, DROP_13):
        return _dropped(variant, task, request, block, large)
    backbone = encoder(request, large, paper("section 4.2"))
    layers, first = _layers(variant, task, request, block, backbone[0], large)
    own = OWN_SETTING.get(variant, PLAIN | RATIONAL) | _width(backbone[0]) | layers
    if variant == DROP:
        own |= _drops(backbone[0], request)
    if request.as_released and own["method.switch"][0] != "none":
        own |= AS_RELEASED
    absent = _absent(own)
    recipe = {path: value for path, value in RECIPE.items() if path not in absent}
    by_hand = {path: value for path, value in request.settings.items() if path not in absent}
    asked, setting = replace(request, settings=by_hand), own | recipe | _rows(task, request, block)
    parents = {ARCHITECTURE: first[0]} if first else None
    why = layers[LAYERS][1] if first else None
    return on_sentences(asked, task, backbone, setting, parents, why), first


def _dropped(
    variant: str, task: str, request: Request, block: str, large: str
) -> tuple[Template, Chain]:
    trained, _ = _template(DROP, task, request, block, large)
    if variant == DROP_AA:
        why = paper(f"section 5: as many as {SPEC} has")
        first = chain_of(AA, task, request, block, SEEDS[0], large)
        roles = (TRAINED, ARCHITECTURE)
        return trained.scored_by(LastLayers(kept="selected"), why, roles, why), first
    backbone = trained.spec.backbone
    method, why = LastLayers(kept=last_of(KEPT, backbone)), _scaled(KEPT, backbone)
    return trained.scored_by(method, why, (TRAINED,), why), ()


def _absent(own: Setting) -> tuple[str, ...]:
    """Fields that mean nothing to a model without rational activations, or without switches."""
    absent = OF_RATIONALS if own["method.activation"][0] != "rational" else ()
    return absent + (OF_SWITCHES if own["method.switch"][0] == "none" else ())


def _width(backbone: Backbone) -> Setting:
    size = max(1, backbone.hidden_size // 16)
    return {"method.size": (size, code("AdapterHub: reduction factor 16"))}


def _drops(backbone: Backbone, request: Request) -> Setting:
    """The released range is that of a BERT-base whose last layer is never left out."""
    if request.as_released:
        released = code("numpy's randint(0, 11) at every depth")
        return {"method.drops": (min(10, backbone.layers - 1), released)}
    scaled = assumed("Rueckle et al. 2021: any number of layers but all; the released range is 10")
    return {"method.drops": (backbone.layers - 1, scaled)}


def _layers(
    variant: str, task: str, request: Request, block: str, backbone: Backbone, large: str
) -> tuple[Setting, Chain]:
    """The layers with an adapter, where these are not all, and the run that selects them."""
    if variant == UNI and request.published_layers:
        chosen = paper("section 5, AA-focused with one architecture")
        return {LAYERS: (_published_layers(backbone), chosen)}, ()
    if variant in (SPEC, UNI):
        of = (task, block) if variant == SPEC else (CHOSEN, CHOSEN_BLOCK)
        first = chain_of(AA, of[0], request, of[1], SEEDS[0], large)
        where = "of its task and rows" if variant == SPEC else "of QQP at 100 rows"
        return {LAYERS: ("selected", paper(f"section 5: AA {where}, first seed"))}, first
    number = KEPT if variant in (SIM, BASELINE_13) else 0
    if variant.startswith("last "):
        number = int(variant.removeprefix("last "))
    if not number:
        return {}, ()
    kept, depth = last_of(number, backbone), backbone.layers
    return {LAYERS: (tuple(range(depth - kept, depth)), _scaled(number, backbone))}, ()


def last_of(number: int, backbone: Backbone) -> int:
    """So many of 24 layers, as a number of an encoder's: round(13 L / 24)."""
    return round(number * backbone.layers / DEPTH)


def _scaled(number: int, backbone: Backbone) -> Source:
    if backbone.layers == DEPTH:
        return paper(f"section 5: the last {number} layers")
    return assumed(f"the last {number} of {DEPTH} layers, scaled to {backbone.layers}")


def _published_layers(backbone: Backbone) -> tuple[int, ...]:
    if backbone.layers != DEPTH:
        raise ReproError(
            f"The published layers of {UNI} are of an encoder of {DEPTH} layers, and "
            f"{backbone.name} has {backbone.layers}: leave out --published-layers."
        )
    row = "selected layers used for uni (QQP, Low-data-100, seed 42)"
    cell = in_text("adaptable_adapters", "AA22-text", row)
    return tuple(int(layer) for layer in cell.numbers)


def _rows(task: str, request: Request, block: str) -> Setting:
    """How many rows are drawn, from where, by which seed, and what the scale changes."""
    rows, scale = BLOCKS[block], request.scale
    found = DRAWN | (FULL_DATA if rows is None else {}) | SMALL.get(scale, {})
    drawn = "run.py: the first rows of datasets' shuffle after set_seed(seed)"
    why = assumed(f"generated rows, drawn as {drawn}") if scale == "smoke" else code(drawn)
    if rows is None and scale == "reduced":
        found |= REDUCED_FULL
    elif rows is not None and scale == "smoke":
        stands_for = assumed(f"smoke scale: stands for {rows}")
        found["task.train_rows"] = SMOKE_ROWS[rows], stands_for
    elif rows is not None:
        found["task.train_rows"] = rows, paper("section 4.4")
    pool = request.pools.get(task)
    if pool is not None:
        found["task.drawn_from"] = pool, assumed("no training rows are here")
        why = assumed("of half of the validation rows")
    return found | {"task.subset_seed": (Own.SEED, why)}


def seeds_of(request: Request, block: str) -> list[int]:
    """The seeds of a block: the paper's five and ours after them; of all data the first alone."""
    count = 1 if block == FULL else request.seeds
    return [SEEDS[i] if i < len(SEEDS) else FURTHER + i for i in range(count)]
