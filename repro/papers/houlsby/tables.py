"""Houlsby-1 (GLUE) and Houlsby-2 (17 further classification tasks) as data.

Behind a cell is a whole sweep, of which one setting is shown.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from itertools import product

from repro.methods.bottleneck_adapters import BottleneckAdapters
from repro.methods.fine_tuning import TopLayers
from repro.methods.inside import adapter_parameters
from repro.papers.glue import FINE_TUNING, encoder, glue_columns, on_sentences
from repro.papers.houlsby.setting import (
    ADAPTED,
    ADAPTERS,
    FURTHER_METHODS,
    FURTHER_SWEEPS,
    GLUE_SWEEPS,
    ONE_SIZE,
    RECIPE,
    TUNED,
    VARIABLE,
    Sweeps,
    as_asked,
    epochs_of,
    sweep_of,
    swept,
)
from repro.papers.matrix import Chain
from repro.papers.published import for_rows
from repro.papers.request import Request
from repro.papers.setting import Setting, Template, assumed, lines, paper
from repro.papers.tables import Column, Fact, Mean, Printed, Row, Score, Table, Value
from repro.spec import RunSpec
from repro.spec.backbones import BERT_BASE, BERT_LARGE
from repro.spec.facts import KNOWN
from repro.spec.texts import HOULSBY


def chains(
    sweeps: Sweeps,
    runs: Callable[..., Template],
    row: Row,
    column: Column,
    request: Request,
) -> list[Chain]:
    """Every run that a cell is selected from: widths, then rates, then epochs, then restarts."""
    if not isinstance(column, Score):
        return []
    sweep = sweep_of(sweeps, row.variant, request)
    points = product(sweep.widths, sweep.learning_rates, sweep.epochs)
    found = [runs(row.variant, column.task, request, *point) for point in points]
    return [chain for own in found for chain in own.chains(request)]


@lru_cache(maxsize=1024)
def glue_runs(
    variant: str, task: str, request: Request, size: int | None, rate: float, epochs: int
) -> Template:
    """The runs of one setting on a GLUE task ("cola"); `size` None: no adapters."""
    source = swept(request.scale, "3.2")
    if variant == TUNED:
        source = assumed("Devlin et al.: chosen on validation")
    chosen = lines("recipe", source, learning_rate=rate, epochs=epochs)
    chosen["recipe.keep"] = "last", assumed("selected among runs, not among epochs")
    if size is not None:
        chosen["method.size"] = size, source
    setting = as_asked(FINE_TUNING if variant == TUNED else ADAPTERS | RECIPE, request) | chosen
    backbone = encoder(request, BERT_LARGE, paper("section 3.2: BERT-large"))
    return on_sentences(request, task, backbone, setting)


def share(spec: RunSpec, counted: Mapping[str, int]) -> float:
    """What a task adds, in percent of the encoder's layers: the printed share counts adapters or
    trained layers only, and neither embeddings nor pooler.
    """
    method, encoder = spec.method, spec.backbone
    if isinstance(method, TopLayers):
        return 100 * method.layers / encoder.layers
    if not isinstance(method, BottleneckAdapters):
        return 100.0
    modules = method.modules(encoder.layers)
    added = modules * adapter_parameters(method.size, encoder.hidden_size)
    return 100 * added / (encoder.layers * encoder.layer_parameters)


def mean(shares: Sequence[Value]) -> float:
    """Of the tasks' shares."""
    return statistics.fmean(float(share) for share in shares)


def total(shares: Sequence[Value]) -> float:
    """All tasks' models together in encoders: one is shared, unless each task has its own."""
    own = [float(share) / 100 for share in shares]
    return math.fsum(own) + (0 if min(own) == 1 else 1)


ONE = Table(
    id="Houlsby-1",
    paper="houlsby",
    title="GLUE with BERT-large, fine-tuned and with adapters (Houlsby et al., Table 1)",
    published="H19-T1",
    rows=(
        Row(
            "BERT-large",
            TUNED,
            "BERT_LARGE",
            select="best",
            note="copied from Devlin et al. by the paper; selected here as they did, over rates "
            "and restarts",
        ),
        Row("Adapters (8-256)", ADAPTED, "Adapters (8-256)", select="best"),
        Row("Adapters (64)", ONE_SIZE, "Adapters (64)", select="best"),
    ),
    columns=(
        Fact("Total params", "Total num params", "x BERT size", share, total, digits=1),
        Fact("Trained / task", "Trained params / task", "percent of BERT", share, mean, digits=1),
        *glue_columns(
            sst2="SST", validation_matched="MNLIm", validation_mismatched="MNLImm"
        ),
        Printed("Total", "Total", "mean GLUE score", "the server's own score, from more than the "
                "columns of this table"),
    ),
    protocol="glue",
    default_seeds={"paper": 5, "reduced": 1, "smoke": 1},
    chains=partial(chains, GLUE_SWEEPS, glue_runs),
    notes=(
        "A cell is the best run of its sweep by the cell's own metric on validation rows. A score "
        "of those rows is higher than what the same run scores on rows that chose nothing.",
        "Total is the GLUE server's score, no mean of the row: it is not recomputed.",
        "Parameters are shares of the encoder's layers, without embeddings and pooler, and count "
        "adapters only: so the printed share of size 64 comes out. The paper does not print the "
        "sizes chosen, but those of MNLI and RTE.",
        "Adapters (64) selects among those runs of Adapters (8-256) that have size 64.",
    ),
)  # fmt: skip

ACCURACY = "test accuracy %, mean (std column holds the s.e.m.)"
CUT = (
    "Which rows are in which split is not published: real rows are cut 80/10/10 by a seed, to "
    "the published sizes where all published rows are here. Generated rows come in splits."
)
OWN_CUT = "test rows of a cut that is not published"
"""Houlsby et al. name the sizes of train, validation and test rows (Table 3), not which rows."""


@lru_cache(maxsize=1024)
def further_runs(
    variant: str, task: str, request: Request, width: int | None, rate: float, _: int
) -> Template:
    """The runs of one setting on a further task, which has epochs of its own; `width` is the
    adapters' size, or how many layers are trained.
    """
    source = swept(request.scale, "3.3")
    chosen: Setting = {
        "recipe.learning_rate": (rate, source),
        "recipe.epochs": epochs_of(variant, task, request.scale),
        "recipe.keep": ("last", assumed("selected among settings, not among epochs")),
    }
    if width is not None:
        chosen["method.size" if variant == ADAPTED else "method.layers"] = width, source
    backbone = encoder(request, BERT_BASE, paper("section 3.3: BERT-base"))
    setting = as_asked(FURTHER_METHODS[variant], request) | chosen
    return on_sentences(request, task, backbone, setting)


def score(task: str, metric: str = ACCURACY, name: str = "") -> Score:
    """The column of a task: accuracy on its test rows."""
    title, margin = KNOWN[task].title, for_rows(KNOWN[task].rows["test"])
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
        Mean(
            "Average",
            "Average",
            "test accuracy %",
            between=("Fine-tune BERT_BASE", "Adapters BERT_BASE"),
        ),
        Fact("Total params", "Total number of params", "x BERT_BASE size", share, total, digits=2),
        Fact(
            "Trained / task", "Trained params/task", "percent of BERT_BASE", share, mean, digits=2
        ),
    ),
    protocol="texts",
    default_seeds={"paper": 3, "reduced": 1, "smoke": 1},
    chains=partial(chains, FURTHER_SWEEPS, further_runs),
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
