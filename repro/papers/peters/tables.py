"""Peters-1 (feature extraction against fine-tuning) as data."""

from __future__ import annotations

from functools import lru_cache

from repro.papers.glue import COLLAPSE, encoder, on_sentences, on_words
from repro.papers.margins import for_rows
from repro.papers.matrix import Chain
from repro.papers.peters.setting import METHODS, SLOW, SMALL
from repro.papers.request import Request
from repro.papers.setting import Template, paper
from repro.papers.tables import Column, Row, Score, Table
from repro.spec import RunSpec, Scale
from repro.spec.backbones import BERT_BASE
from repro.spec.facts import SENTENCES
from repro.spec.tagging import SENTENCES_PUBLISHED

CONLL = "conll2003"
SEEDS: dict[Scale, int] = {"paper": 3, "reduced": 1, "smoke": 1}
PRINTED = "test score (metric not stated in the reprint)"
TEST, WITHHELD = "test", "test rows whose labels are withheld"
"""What the reprint's caption says: test set performance. Of GLUE only the server has the labels."""
FEATURES, TUNED = "BERT-base, features", "BERT-base, fine-tuned"
DELTA = "delta = fine-tuning - feature extraction"
ELMO_FEATURES = "ELMo, features", "ELMo / feature extraction"
ELMO_TUNED = "ELMo, fine-tuned", "ELMo / fine-tuning"
NOT_BUILT = "not rebuilt: the published numbers are shown only"


def chains(row: Row, column: Column, request: Request) -> list[Chain]:
    """The runs of a cell, one a seed."""
    assert isinstance(column, Score)
    return [(run_of(row.variant, column.task, request, seed),) for seed in range(request.seeds)]


def run_of(variant: str, task: str, request: Request, seed: int) -> RunSpec:
    """The run of "features" or "fine-tuning" on a task of the table."""
    return _template(variant, task, request).run(seed)


@lru_cache(maxsize=64)
def _template(variant: str, task: str, request: Request) -> Template:
    backbone = encoder(request, BERT_BASE, paper("the rows: BERT-base"))
    setting = METHODS[variant] | SMALL[variant].get(request.scale, {})
    if variant == "fine-tuning" and task == "sick-r":
        setting = setting | SLOW.get(request.scale, {})
    make = on_words if task == CONLL else on_sentences
    return make(request, task, backbone, setting)


def column(name: str, published: str, task: str, metric: str, split: str, protocol: str) -> Score:
    """One column; the reprint states no metric."""
    margin = for_rows(SENTENCES_PUBLISHED[split] if task == CONLL else SENTENCES[task].rows[split])
    rows = TEST if split == TEST else WITHHELD
    return Score(
        name, published, PRINTED, metric, rows, split,
        task=task, protocol=protocol, margin=margin,
    )  # fmt: skip


def printed(name: str, row: str, delta: tuple[str, str] | None = None) -> Row:
    """A row of a model that is not rebuilt."""
    return Row(name, "printed", row, only_printed=NOT_BUILT, delta=delta)


ONE = Table(
    id="Peters-1",
    paper="peters",
    title="Feature extraction against fine-tuning (Peters et al. 2019, as reprinted by 3-shared, "
    "Figure 6)",
    published="PRS19-T-reprint",
    rows=(
        printed("Skip-thoughts, features", "Skip-thoughts / feature extraction"),
        printed(*ELMO_FEATURES),
        printed(*ELMO_TUNED),
        printed("ELMo, delta", f"ELMo / {DELTA}", (ELMO_TUNED[0], ELMO_FEATURES[0])),
        Row(FEATURES, "features", "BERT-base / feature extraction"),
        Row(TUNED, "fine-tuning", "BERT-base / fine-tuning"),
        Row("BERT-base, delta", "delta", f"BERT-base / {DELTA}", delta=(TUNED, FEATURES)),
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
    chains=chains,
    collapse=COLLAPSE,
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
