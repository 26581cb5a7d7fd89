"""The run behind a cell of the 3-shared report, and those of the models beside it."""

from __future__ import annotations

from functools import lru_cache

from repro.papers.glue import POOLER, encoder, on_sentences
from repro.papers.request import Request
from repro.papers.setting import Setting, Template, borrowed, code
from repro.papers.three_shared.setting import (
    AS_RELEASED,
    FURTHER,
    KEEP,
    LARGE,
    LARGE_ROWS,
    METHODS,
    OTHERS,
    OWN_RECIPE,
    RECIPES,
    SMALL,
    SMALL_FINE_TUNING,
)
from repro.spec import RunSpec
from repro.spec.backbones import BERT_BASE
from repro.spec.glue import GLUE
from repro.spec.texts import TEXTS

FINE_TUNED = ("full-fine-tuning", "top-layers")
"""Variants that train weights of BERT: at BERT's own rate."""
LARGE_TASKS = {name for name, facts in GLUE.items() if facts.rows["train"] > LARGE_ROWS}


def run_of(variant: str, task: str, request: Request, seed: int) -> RunSpec:
    """The run of a model of the report on a GLUE task ("cola") or a further one ("airline").

    Variants: "full-fine-tuning", "shared-in-layer" (the report's "Houlsby"), "not-shared",
    "3-shared", and beside them "2-shared", "4-shared", "6-shared", "12-shared", "houlsby" (the real
    one), "pfeiffer", "top-layers", "layer-norms".
    """
    return _template(variant, task, request).run(seed)


@lru_cache(maxsize=256)
def _template(variant: str, task: str, request: Request) -> Template:
    backbone = encoder(request, BERT_BASE, code("bert-base-uncased"))
    setting = METHODS[variant] | _recipe(variant, task, request)
    if variant == "pfeiffer":
        reduced = max(1, backbone[0].hidden_size // 16)
        setting = setting | {"method.size": (reduced, code("AdapterHub: reduction factor 16"))}
    if request.as_released:
        setting = setting | AS_RELEASED.get(variant, {})
    if request.scale != "paper":
        setting = setting | POOLER
    return on_sentences(request, task, backbone, setting)


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
