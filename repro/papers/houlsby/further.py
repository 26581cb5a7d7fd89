"""Houlsby-2 (17 further classification tasks) as data."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from itertools import product

from repro.papers.glue import COLLAPSE, POOLER, encoder, on_sentences
from repro.papers.houlsby.further_setting import (
    ADAPTED,
    METHODS,
    POINTS,
    SWEPT,
    TUNED,
    VARIABLE,
    Points,
    epochs_of,
)
from repro.papers.houlsby.setting import AS_RELEASED, RELEASED_RECIPE
from repro.papers.houlsby.tables import mean, share, total
from repro.papers.margins import for_rows
from repro.papers.matrix import Chain
from repro.papers.request import Request
from repro.papers.setting import Setting, Template, assumed, paper, width_of
from repro.papers.tables import Column, Fact, Mean, Row, Score, Table
from repro.spec import RunSpec, Scale
from repro.spec.backbones import BERT_BASE
from repro.spec.texts import HOULSBY, TEXTS

METRIC = "test accuracy %, mean (std column holds the s.e.m.)"
SEEDS: dict[Scale, int] = {"paper": 3, "reduced": 1, "smoke": 1}
CUT = (
    "Which rows are in which split is not published: real rows are cut 80/10/10 by a seed, to "
    "the published sizes where all published rows are here. Generated rows come in splits."
)
OWN_CUT = "test rows of a cut that is not published"
"""Houlsby et al. name the sizes of train, validation and test rows (Table 3), not which rows."""


def points_of(variant: str, request: Request, layers: int) -> Points:
    """What a row is selected over; a value that the user set by hand is the only one."""
    points = POINTS[request.scale][variant]
    width, rate = width_of(request), request.settings.get("recipe.learning_rate")
    if variant == ADAPTED and width is not None:
        points = replace(points, widths=(width,))
    if variant == VARIABLE:
        kept = tuple(n for n in points.widths if n is not None and n <= layers)
        points = replace(points, widths=kept or (layers,))
    if rate is not None:
        points = replace(points, learning_rates=(rate,))
    return points


def chains(row: Row, column: Column, request: Request) -> list[Chain]:
    """Every run that a cell is selected from: widths, then rates, then seeds."""
    if not isinstance(column, Score):
        return []
    layers = encoder(request, BERT_BASE, paper("section 3.3"))[0].layers
    points = points_of(row.variant, request, layers)
    every = product(points.widths, points.learning_rates, range(request.seeds))
    return [
        (run_of(row.variant, column.task, request, seed, width, rate),)
        for width, rate, seed in every
    ]


def run_of(
    variant: str, task: str, request: Request, seed: int, width: int | None, rate: float
) -> RunSpec:
    """One run; `width` is the adapters' size, or how many layers are trained."""
    return _template(variant, task, request, width, rate).run(seed)


@lru_cache(maxsize=1024)
def _template(
    variant: str, task: str, request: Request, width: int | None, rate: float
) -> Template:
    backbone = encoder(request, BERT_BASE, paper("section 3.3: BERT-base"))
    setting = METHODS[variant]
    if variant == ADAPTED and request.as_released:
        setting = setting | AS_RELEASED | RELEASED_RECIPE
    if request.scale != "paper":
        setting = setting | POOLER
    source = SWEPT[request.scale]
    chosen: Setting = {
        "recipe.learning_rate": (rate, source),
        "recipe.epochs": epochs_of(variant, task, request.scale),
        "recipe.keep": ("last", assumed("selected among settings, not among epochs")),
    }
    if request.scale == "smoke":
        chosen["recipe.batch_size"] = (16, assumed("smoke scale: few rows"))
    if width is not None:
        chosen["method.size" if variant == ADAPTED else "method.layers"] = (width, source)
    return on_sentences(request, task, backbone, setting | chosen)


def score(task: str, metric: str = METRIC, name: str = "") -> Score:
    """The column of a task: accuracy on its test rows."""
    facts = next(facts for known, facts in TEXTS.items() if known == task)
    title, margin = facts.title, for_rows(facts.rows["test"])
    return Score(
        name or title, title, metric, "accuracy", OWN_CUT, "test", task=task, margin=margin
    )


TWO = Table(
    id="Houlsby-2",
    paper="houlsby",
    title="17 further classification tasks with BERT-base (Houlsby et al., Table 2)",
    published="H19-T2",
    rows=(
        Row(
            "No BERT (AutoML)",
            "printed",
            "No BERT baseline (AutoML)",
            only_printed="not rebuilt: a search over ten thousand models a task",
        ),
        Row("Fine-tune", TUNED, "Fine-tune BERT_BASE", select="tuned"),
        Row("Variable FT", VARIABLE, "Variable FT BERT_BASE", select="tuned"),
        Row("Adapters", ADAPTED, "Adapters BERT_BASE", select="tuned"),
    ),
    columns=(
        *(score(task) for task in HOULSBY),
        Mean("Average", "Average", "test accuracy %", between=("Fine-tune", "Adapters")),
        Fact("Total params", "Total number of params", "x BERT_BASE size", share, total, digits=2),
        Fact(
            "Trained / task", "Trained params/task", "percent of BERT_BASE", share, mean, digits=2
        ),
    ),
    protocol="texts",
    default_seeds=SEEDS,
    chains=chains,
    collapse=COLLAPSE,
    transposed=True,
    spread="sem",
    notes=(
        "A cell is the mean over seeds, on test rows, of the setting that is best on validation "
        "rows; ± is the standard error of the mean. The paper does not say of how many runs.",
        "Average is the plain mean of the 17 tasks.",
        CUT,
        "Parameters are shares of the encoder's layers, without embeddings and pooler; all tasks "
        "together take one encoder and what each adds (of Variable FT the printed total is cut).",
        "The paper chose epochs by hand among 20, 50 and 100 (Table 4), as this table does at the "
        "paper's scale; smaller scales have few.",
    ),
)
