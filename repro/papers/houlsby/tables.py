"""Houlsby-1 (GLUE, BERT-large) as data: rows that are selected over sweeps on validation."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence

from repro.methods.bottleneck_adapters import BottleneckAdapters
from repro.methods.fine_tuning import TopLayers
from repro.methods.inside import adapter_parameters
from repro.papers.glue import COLLAPSE, glue_columns
from repro.papers.houlsby.runs import ONE_SIZE, chains
from repro.papers.tables import Fact, Printed, Row, Table, Value
from repro.spec import RunSpec, Scale

SEEDS: dict[Scale, int] = {"paper": 5, "reduced": 1, "smoke": 1}


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
            "full-fine-tuning",
            "BERT_LARGE",
            select="best",
            note="copied from Devlin et al. by the paper; selected here as they did, over rates "
            "and restarts",
        ),
        Row("Adapters (8-256)", "adapters", "Adapters (8-256)", select="best"),
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
    default_seeds=SEEDS,
    chains=chains,
    collapse=COLLAPSE,
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
