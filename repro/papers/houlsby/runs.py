"""The runs behind a cell of Houlsby-1: a whole sweep, of which the best is shown."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from itertools import product

from repro.papers.glue import FINE_TUNING, POOLER, encoder, on_sentences
from repro.papers.houlsby.setting import (
    ADAPTER_SWEEPS,
    ADAPTERS,
    AS_RELEASED,
    FINE_TUNING_SWEEPS,
    RECIPE,
    RELEASED_RECIPE,
    SWEPT,
    Sweep,
)
from repro.papers.matrix import Chain
from repro.papers.request import Request
from repro.papers.setting import Setting, Template, assumed, paper, width_of
from repro.papers.tables import Column, Row, Score
from repro.spec import RunSpec, Scale
from repro.spec.backbones import BERT_LARGE

SMALL: dict[Scale, Setting] = {
    "paper": {},
    "reduced": {},
    "smoke": {"recipe.batch_size": (16, assumed("smoke scale: few rows"))},
}
ONE_SIZE = "adapters-64"


def sweep_of(variant: str, request: Request) -> Sweep:
    """What a row is selected over; a value that the user set by hand is the only one."""
    if variant == "full-fine-tuning":
        sweep = FINE_TUNING_SWEEPS[request.scale]
    else:
        sweep = ADAPTER_SWEEPS[request.scale]
        size = ADAPTERS["method.size"][0]
        sizes = (size,) if variant == ONE_SIZE else sweep.sizes
        width = width_of(request)
        sweep = replace(sweep, sizes=sizes if width is None else (width,))
    rate, epochs = (request.settings.get(f"recipe.{name}") for name in ("learning_rate", "epochs"))
    return replace(
        sweep,
        learning_rates=(rate,) if rate else sweep.learning_rates,
        epochs=(epochs,) if epochs else sweep.epochs,
    )


def chains(row: Row, column: Column, request: Request) -> list[Chain]:
    """Every run that a cell is selected from: sizes, then rates, then epochs, then restarts."""
    if not isinstance(column, Score):
        return []
    sweep = sweep_of(row.variant, request)
    points = product(sweep.sizes, sweep.learning_rates, sweep.epochs, range(request.seeds))
    return [
        (swept_run(row.variant, column.task, request, seed, size, rate, epochs),)
        for size, rate, epochs, seed in points
    ]


def swept_run(
    variant: str,
    task: str,
    request: Request,
    seed: int,
    size: int | None,
    rate: float,
    epochs: int,
) -> RunSpec:
    """One run of a sweep on a GLUE task ("cola"); `size` None: no adapters."""
    return _template(variant, task, request, size, rate, epochs).run(seed)


@lru_cache(maxsize=1024)
def _template(
    variant: str, task: str, request: Request, size: int | None, rate: float, epochs: int
) -> Template:
    backbone = encoder(request, BERT_LARGE, paper("section 3.2: BERT-large"))
    setting = FINE_TUNING if size is None else ADAPTERS | RECIPE
    if request.as_released and size is not None:
        setting = setting | AS_RELEASED | RELEASED_RECIPE
    if request.scale != "paper":
        setting = setting | POOLER
    source = (
        assumed("Devlin et al.: chosen on validation") if size is None else SWEPT[request.scale]
    )
    chosen: Setting = {
        "recipe.learning_rate": (rate, source),
        "recipe.epochs": (epochs, source),
        "recipe.keep": ("last", assumed("selected among runs, not among epochs")),
    }
    if size is not None:
        chosen["method.size"] = (size, source)
    setting = setting | SMALL[request.scale] | chosen
    return on_sentences(request, task, backbone, setting)
