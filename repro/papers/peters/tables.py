"""Peters-1 (feature extraction against fine-tuning) as data.

The table is known by a reprint (3-shared, Figure 6) that states no setting at all; "paper" here is
what the reprint shows, the rest is assumed.
"""

from __future__ import annotations

from functools import lru_cache

from repro.papers.glue import CONLL, FINE_TUNING, encoder, on_sentences
from repro.papers.published import for_rows
from repro.papers.request import Request
from repro.papers.setting import Setting, Template, assumed, lines, paper
from repro.papers.tables import Row, Score, Table, one_a_seed
from repro.spec import Scale
from repro.spec.backbones import BERT_BASE
from repro.spec.facts import KNOWN

FEATURES: Setting = {
    "method.kind": ("frozen-features", paper("the row: feature extraction")),
    "method.units": (256, assumed("not stated; a usual width")),
    "method.dropout": (0.5, assumed("not stated; usual for an LSTM")),
    "recipe.epochs": (20, assumed("not stated; the best epoch is kept")),
    "recipe.keep": ("best", assumed("selected by the validation score")),
    "recipe.learning_rate": (1e-3, assumed("Adam's usual rate for an LSTM")),
    **lines(
        "recipe", assumed("as the fine-tuned row"), batch_size=32, schedule="bert", warmup=0.1
    ),
    **lines(
        "recipe", assumed("Adam"), adam_beta1=0.9, adam_beta2=0.999, adam_eps=1e-8,
        bias_correction=True, weight_decay=0.0,
    ),
    "recipe.clip_norm": (5.0, assumed("usual for an LSTM")),
}  # fmt: skip
TASK: Setting = {"task.max_length": (128, assumed("not stated; as BERT was fine-tuned on GLUE"))}
METHODS: dict[str, Setting] = {
    "features": TASK | FEATURES,
    "fine-tuning": TASK
    | FINE_TUNING
    | {"recipe.keep": ("best", assumed("selected by the validation score"))},
}

SMALL: dict[str, dict[str, Setting]] = {
    "features": {
        "reduced": {
            "method.units": (128, assumed("reduced scale: a small encoder")),
            "method.dropout": (0.2, assumed("reduced scale: few rows")),
            "recipe.epochs": (10, assumed("reduced scale: a laptop")),
        },
        "smoke": {
            **lines("method", assumed("smoke scale: few rows"), units=64, dropout=0.1),
            **lines("recipe", assumed("smoke scale: few rows"), epochs=8, batch_size=16),
            "recipe.learning_rate": (3e-3, assumed("smoke scale: few steps")),
        },
    },
    "fine-tuning": {
        "reduced": {"recipe.learning_rate": (3e-5, assumed("as in the other tables"))},
        "smoke": {
            "recipe.batch_size": (16, assumed("smoke scale: few rows")),
            "recipe.learning_rate": (5e-5, assumed("smoke scale: few steps, small encoder")),
        },
    },
}
"""Variant -> scale -> what is ours."""
MORE: Setting = {
    "recipe.epochs": (10, assumed("smaller scales: the output must first get from 0 to 1..5")),
}
SLOW: dict[str, Setting] = {
    "reduced": MORE,
    "smoke": MORE
    | {"recipe.learning_rate": (2e-5, assumed("smoke scale: at 5e-5 it ends in one answer"))},
}
"""Scale -> fine-tuning on SICK-R: 3 epochs of few rows only get to the mean of the scores."""

SEEDS: dict[Scale, int] = {"paper": 3, "reduced": 1, "smoke": 1}
PRINTED = "test score (metric not stated in the reprint)"
TEST, WITHHELD = "test", "test rows whose labels are withheld"
"""What the reprint's caption says: test set performance. Of GLUE only the server has the labels."""
DELTA = "delta = fine-tuning - feature extraction"
NOT_BUILT = "not rebuilt: the published numbers are shown only"


@lru_cache(maxsize=64)
def runs_of(variant: str, task: str, request: Request) -> Template:
    """The runs of "features" or "fine-tuning" on a task of the table."""
    backbone = encoder(request, BERT_BASE, paper("the rows: BERT-base"))
    setting = METHODS[variant] | SMALL[variant].get(request.scale, {})
    if variant == "fine-tuning" and task == "sick-r":
        setting = setting | SLOW.get(request.scale, {})
    return on_sentences(request, task, backbone, setting)


def column(name: str, published: str, task: str, metric: str, split: str, protocol: str) -> Score:
    """One column; the reprint states no metric."""
    margin = for_rows(KNOWN[task].rows[split])
    of = TEST if split == TEST else WITHHELD
    return Score(
        name, published, PRINTED, metric, of, split,
        task=task, protocol=protocol, margin=margin,
    )  # fmt: skip


def rows(model: str, why: str = "") -> tuple[Row, Row, Row]:
    """A model's features, the model fine-tuned, and the difference; `why` it is not rebuilt."""
    own = f"{model}, features", f"{model}, fine-tuned"
    return (
        Row(own[0], "features", f"{model} / feature extraction", only_printed=why),
        Row(own[1], "fine-tuning", f"{model} / fine-tuning", only_printed=why),
        Row(f"{model}, delta", "", f"{model} / {DELTA}", only_printed=why, delta=own[::-1]),
    )


ONE = Table(
    id="Peters-1",
    paper="peters",
    title="Feature extraction against fine-tuning (Peters et al. 2019, as reprinted by 3-shared, "
    "Figure 6)",
    published="PRS19-T-reprint",
    rows=(
        rows("Skip-thoughts", NOT_BUILT)[0],
        *rows("ELMo", NOT_BUILT),
        *rows("BERT-base"),
    ),
    columns=(
        column("NER", "NER CoNLL 2003", CONLL, "f1", "test", "conll"),
        column("SST-2", "SA SST-2", "sst2", "accuracy", "validation", "glue"),
        column("MNLI", "MNLI", "mnli", "accuracy", "validation_matched", "glue"),
        column("SICK-E", "SICK-E", "sick-e", "accuracy", "test", "texts"),
        column("SICK-R", "SICK-R", "sick-r", "pearson", "test", "texts"),
        column("MRPC", "MRPC", "mrpc", "accuracy", "validation", "glue"),
        column("STS-B", "STS-B", "stsb", "pearson", "validation", "glue"),
    ),
    protocol="glue",
    default_seeds=SEEDS,
    chains=one_a_seed(runs_of),
    notes=(
        "The reprint says 'test score' and names no metric. Assumed: entity F1 for NER, accuracy "
        "for SST-2, MNLI (matched), SICK-E and MRPC, Pearson's correlation for SICK-R and STS-B "
        "(what is printed for fine-tuned BERT is the leaderboard's Pearson).",
        "Scored on the test rows of SICK and CoNLL-2003; the test labels of GLUE are withheld, so "
        "SST-2, MNLI, MRPC and STS-B are scored on validation rows, which also choose the epoch.",
        "Features: a learned mix of the layers, a bidirectional LSTM and the maximum over its "
        "states; a pair is read as one sequence. That model is assumed: Peters et al. use "
        "task-specific ones for pairs.",
    ),
)
