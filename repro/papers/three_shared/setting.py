"""The published setting of the 3-shared report, value by value with its source, and its runs.

"code" is hosein-m/TF-Adapter-BERT, and for the row "not shared" the authors' notebook. Their code
was changed after the report: today it trains layer norms and initialises smaller. The headline is
what the report describes and its numbers came from; today's code is the released reading.
"""

from __future__ import annotations

from functools import lru_cache

from repro.papers import glue
from repro.papers.houlsby import setting as houlsby
from repro.papers.request import Request
from repro.papers.setting import Setting, Template, assumed, borrowed, code, lines, paper
from repro.spec.backbones import BERT_BASE
from repro.spec.glue import GLUE
from repro.spec.texts import TEXTS

SHARED: Setting = {
    "method.kind": ("bottleneck-adapters", paper("section 5.2")),
    "method.placement": ("houlsby", paper("Figure 7: Houlsby's two places")),
    "method.size": (64, paper("section 6.2: a bottleneck of 64")),
    "method.nonlinearity": ("gelu", paper("section 6.2: GELU")),
    "method.init": ("truncated-normal", code("history: at the time of the report")),
    "method.init_std": (0.02, code("history: at the time of the report")),
    "method.norms": ("none", paper("Table 1: no part of BERT is trained")),
    "method.pooler": ("frozen", code("the pooler is not trained")),
    "method.head": ("linear", paper("Table 1: one classifier")),
    "method.dropout": (0.1, code("before the classifier, and BERT's own")),
}

OTHERS = "as the report's other models"
"""The released code has shared-in-layer and 3-shared only; its values are assumed for the rest."""

NOT_SHARED: Setting = borrowed(SHARED, OTHERS, ("code",)) | {
    "method.span": (0, paper("Table 1: not shared")),
    "method.norms": ("encoder", paper("Table 1 and section 6.2")),
    "method.head": ("two-layer", paper("Table 1: two classifiers; the count fits no other head")),
    "method.init": ("normal", assumed("this row is likely AdapterHub's, whose default this is")),
}

TODAY: Setting = {
    "method.norms": ("encoder", code("changed after the report: layer norms are trained")),
    "method.init_std": (1e-3, code("changed after the report")),
    "method.nonlinearity": ("gelu-tanh", code("GELU by tanh")),
}
"""What --as-released changes in the two models of the released code."""

PFEIFFER: Setting = borrowed(SHARED, OTHERS) | {
    "method.placement": ("pfeiffer", assumed("a model of ours; AdapterHub's pfeiffer")),
    "method.norms": ("none", code("AdapterHub: layer norms stay frozen")),
    "method.init_std": (0.02, code("AdapterHub: N(0, 0.02)")),
    "method.span": (0, code("AdapterHub: no sharing")),
    "method.nonlinearity": ("relu", code("AdapterHub: pfeiffer")),
    "method.init": ("normal", code("AdapterHub: N(0, 0.02)")),
}

SHARED_OVER: dict[str, Setting] = {
    f"{span}-shared": borrowed(SHARED, OTHERS)
    | {"method.span": (span, assumed("a model of ours: other spans than three"))}
    for span in (2, 4, 6, 12)
}
"""n-shared for the n that divide the depth of BERT-base, three apart."""

METHODS: dict[str, Setting] = {
    "full-fine-tuning": glue.FINE_TUNING,
    "shared-in-layer": SHARED | {"method.span": (1, paper("Table 1: shared in each layer"))},
    "not-shared": NOT_SHARED,
    "3-shared": SHARED | {"method.span": (3, paper("Table 1: three consecutive layers"))},
    "houlsby": houlsby.ADAPTERS,
    "pfeiffer": PFEIFFER,
    **SHARED_OVER,
    "top-layers": glue.FINE_TUNING
    | {
        "method.kind": ("top-layers", assumed("a model of ours; Houlsby et al., section 3.4")),
        "method.layers": (2, assumed("two layers have about as many parameters as 12 adapters")),
    },
    "layer-norms": {
        "method.kind": ("layer-norms", assumed("a model of ours; Houlsby et al., section 3.4")),
        **lines("method", assumed("as in the adapters' rows"), pooler="frozen", dropout=0.1),
    },
}
"""Variant -> its method. The report's "Houlsby" is shared-in-layer; houlsby is the real one."""

AS_RELEASED: dict[str, Setting] = {
    "shared-in-layer": TODAY,
    "3-shared": TODAY,
    "houlsby": houlsby.AS_RELEASED,
}

RECIPE: Setting = {
    "recipe.batch_size": (32, code("README and notebook")),
    "recipe.epochs": (10, paper("section 6.1")),
    "recipe.keep": ("best", paper("section 6.1: selected by the validation score")),
    "recipe.learning_rate": (3e-4, paper("section 6.1: the maximum")),
    "recipe.schedule": ("linear", paper("section 6.1: then linear decay to zero")),
    "recipe.warmup": (0.1, paper("section 6.1: 10 % of the steps")),
    **lines("recipe", code("Keras Adam"), adam_beta1=0.9, adam_beta2=0.999),
    "recipe.adam_eps": (1e-6, code("epsilon of Adam")),
    "recipe.bias_correction": (True, code("Keras Adam corrects")),
    "recipe.weight_decay": (0.0, code("Adam without decay")),
    "recipe.decayed": ("all", assumed("nothing is decayed")),
    "recipe.clip_norm": (None, code("no clipping")),
}
"""Of shared-in-layer and 3-shared."""

RECIPES: dict[str, Setting] = {
    "shared-in-layer": RECIPE,
    "3-shared": RECIPE,
    "not-shared": borrowed(RECIPE, OTHERS, ("code",)),
}
OWN_RECIPE: Setting = borrowed(RECIPE, OTHERS)
"""Of the models of ours."""

FURTHER: Setting = {
    "recipe.epochs": (50, paper("section 6.1: the additional tasks")),
    "recipe.learning_rate": (1e-4, paper("section 6.1: the maximum on the additional tasks")),
}
"""Of the report's models on the tasks of 3-shared-3: trained for longer than on GLUE, at less."""

KEEP: Setting = {"recipe.keep": ("best", assumed("selected as the adapters' rows are"))}
"""Of the rows that are fine-tuned."""

SMALL: dict[str, Setting] = {
    "reduced": {
        "recipe.epochs": (5, assumed("reduced scale: a laptop")),
        "recipe.learning_rate": (1e-3, assumed("reduced scale: few steps, small encoder")),
    },
    "smoke": {
        **lines("recipe", assumed("smoke scale: few rows"), batch_size=16, epochs=5),
        "recipe.learning_rate": (1e-3, assumed("smoke scale: few steps")),
    },
}
SMALL_FINE_TUNING: dict[str, Setting] = {
    "reduced": {
        "recipe.learning_rate": (3e-5, assumed("tried: 1e-4 leaves MRPC at one class")),
    },
    "smoke": {
        "recipe.batch_size": (16, assumed("smoke scale: few rows")),
        "recipe.learning_rate": (5e-5, assumed("smoke scale: few steps, small encoder")),
    },
}

LARGE: Setting = {"recipe.epochs": (2, assumed("reduced scale: a large set, a laptop"))}
LARGE_ROWS = 50_000
"""At reduced scale, sets of more published training rows than this are trained for fewer epochs."""
FINE_TUNED = ("full-fine-tuning", "top-layers")
"""Variants that train weights of BERT: at BERT's own rate."""
LARGE_TASKS = {name for name, facts in GLUE.items() if facts.rows["train"] > LARGE_ROWS}


@lru_cache(maxsize=256)
def runs_of(variant: str, task: str, request: Request) -> Template:
    """The runs of a model of the report on a GLUE task ("cola") or a further one ("airline").

    Variants: "full-fine-tuning", "shared-in-layer" (the report's "Houlsby"), "not-shared",
    "3-shared", and beside them "2-shared", "4-shared", "6-shared", "12-shared", "houlsby" (the real
    one), "pfeiffer", "top-layers", "layer-norms".
    """
    backbone = glue.encoder(request, BERT_BASE, code("bert-base-uncased"))
    setting = METHODS[variant] | _recipe(variant, task, request)
    if variant == "pfeiffer":
        reduced = max(1, backbone[0].hidden_size // 16)
        setting = setting | {"method.size": (reduced, code("AdapterHub: reduction factor 16"))}
    if request.as_released:
        setting = setting | AS_RELEASED.get(variant, {})
    return glue.on_sentences(request, task, backbone, setting)


def _recipe(variant: str, task: str, request: Request) -> Setting:
    if variant in FINE_TUNED:
        recipe = KEEP | SMALL_FINE_TUNING.get(request.scale, {})
    else:
        recipe = _published(variant, task in TEXTS) | SMALL.get(request.scale, {})
    return recipe | LARGE if request.scale == "reduced" and task in LARGE_TASKS else recipe


def _published(variant: str, further: bool) -> Setting:
    """The report's recipe, on GLUE or on a further task; borrowed for the models of ours."""
    if variant in RECIPES:
        return RECIPES[variant] | (FURTHER if further else {})
    return OWN_RECIPE | (borrowed(FURTHER, OTHERS) if further else {})
