"""Two figures of HyperFormer as data.

low-resource: the mean over GLUE by samples of each task (Figure 2); task-embeddings: what
HyperFormer++ has learned of each task (Figure 3).
"""

from __future__ import annotations

from repro.papers.curves import Curves, Point, Scored
from repro.papers.figures import Embeddings
from repro.papers.hyperformer.runs import (
    BASE_T5,
    chain_of,
    first_seed,
    low_resource_run,
    mixture,
    table_run,
)
from repro.papers.hyperformer.setting import DAGGER, HYPER, LOW_SIZES, MULTI, PLUS
from repro.papers.hyperformer.tables import PAPER, PRINTED, PROTOCOL, TEST, row_of, written
from repro.papers.matrix import Chain
from repro.papers.request import Request
from repro.spec.text_to_text import TEXT_TO_TEXT

LEARNERS = {"hyperformer++": PLUS, "hyperformer": HYPER}
"""What a user types -> the row of Table 1, of the base size."""


def embedding_chain(method: str, request: Request) -> Chain:
    """The multi-task run of Table 1, first seed, and what it needs first; the same as the table's.

    Raises MissingData where no task has data.
    """
    tasks = mixture(request)
    run = table_run(LEARNERS[method], BASE_T5, tasks[0], request, first_seed(0))
    return chain_of(run, request=request)


TASK_EMBEDDINGS = Embeddings(
    id="task-embeddings",
    paper="hyperformer",
    title="Task embeddings that HyperFormer++ learns (HyperFormer, Figure 3)",
    methods=tuple(LEARNERS),
    kinds={
        "sentiment": ("sst2",),
        "acceptability": ("cola",),
        "paraphrase": ("mrpc", "qqp", "stsb"),
        "inference": ("mnli", "qnli", "rte"),
    },
    default_seeds={"paper": 1, "reduced": 1, "smoke": 1},
    chain=embedding_chain,
    notes=(
        "The paper prints a picture without coordinates, so no published point is drawn and "
        "nothing is compared.",
        "The run is that of the first seed in Hyperformer-1, of the base size.",
        "The kinds of task are ours; STS-B, which grades likeness, counts as paraphrase.",
        "--method hyperformer draws HyperFormer's embeddings, which are wider, in place of those "
        "of HyperFormer++.",
    ),
)

MULTI_BASE, DAGGER_BASE, PLUS_BASE = (
    row_of(model, "BASE").partition(" / ")[2] for model in (MULTI, DAGGER, PLUS)
)
MODELS = {MULTI_BASE: MULTI, DAGGER_BASE: DAGGER, PLUS_BASE: PLUS}
"""Series -> model of Table 1."""
WORDS = {
    "matthews": "Matthews correlation",
    "accuracy": "accuracy",
    "f1": "F1",
    "pearson": "Pearson's correlation",
    "spearman": "Spearman's correlation",
}


def points(request: Request) -> tuple[Point, ...]:
    """Every model at every number of samples."""
    return tuple(
        Point(series, f"{samples:,} samples", samples)
        for series in MODELS
        for samples in LOW_SIZES[request.scale]
    )


def chain(point: Point, task: str, request: Request, index: int) -> Chain:
    """The multi-task run of a point, which scores all tasks."""
    assert point.value is not None
    model, samples = MODELS[point.series], int(point.value)
    return chain_of(low_resource_run(model, samples, request, first_seed(index)), request=request)


def scored(task: str, request: Request) -> Scored:
    """The mean of the metrics of Table 1, on test rows."""
    metric, *more = TEXT_TO_TEXT[written(task)].metrics
    name = " and ".join(WORDS[known] for known in (metric, *more))
    name = f"mean of {name}" if more else name
    return Scored(name, TEST, TEST, PROTOCOL, metric, also=tuple(more))


LOW_RESOURCE = Curves(
    id="low-resource",
    paper=PAPER,
    title="GLUE with few samples of each task (HyperFormer, Figure 2)",
    axis="samples a task",
    tasks=PRINTED,
    drawn={"paper": PRINTED, "reduced": PRINTED, "smoke": PRINTED},
    shown=(),
    across="mean",
    reference="",
    default_seeds={"paper": 5, "reduced": 2, "smoke": 1},
    points=points,
    chain=chain,
    scored=scored,
    spread="sd",
    notes=(
        "The paper shows its points in a picture only, and no table of them is known to us: "
        "nothing published is drawn.",
        "The mean is that of Table 1, of eleven numbers: MRPC, QQP and STS-B count twice. A run "
        "scores all tasks; its samples are drawn anew for every seed.",
        "How long the paper trains here is not in the copies at hand: 15,000 steps are assumed, "
        "all else as in Hyperformer-1.",
        "Smaller scales have fewer and smaller points; one model stands there for both sizes.",
    ),
)
