"""task-embeddings: what HyperFormer++ has learned of each task (Figure 3), as data."""

from __future__ import annotations

from repro.papers.embeddings import Embeddings
from repro.papers.hyperformer.claims import HYPER, PLUS
from repro.papers.hyperformer.runs import BASE_T5, chain_of, first_seed, mixture, table_run
from repro.papers.matrix import Chain
from repro.papers.request import Request

MODELS = {"hyperformer++": PLUS, "hyperformer": HYPER}
"""What a user types -> the row of Table 1, of the base size."""


def chain(method: str, request: Request) -> Chain:
    """The multi-task run of Table 1, first seed, and what it needs first; the same as the table's.

    Raises MissingData where no task has data.
    """
    tasks = mixture(request)
    run = table_run(MODELS[method], BASE_T5, tasks[0], request, first_seed(0))
    return chain_of(run, request=request)


TASK_EMBEDDINGS = Embeddings(
    id="task-embeddings",
    paper="hyperformer",
    title="Task embeddings that HyperFormer++ learns (HyperFormer, Figure 3)",
    methods=tuple(MODELS),
    kinds={
        "sentiment": ("sst2",),
        "acceptability": ("cola",),
        "paraphrase": ("mrpc", "qqp", "stsb"),
        "inference": ("mnli", "qnli", "rte"),
    },
    default_seeds={"paper": 1, "reduced": 1, "smoke": 1},
    chain=chain,
    notes=(
        "The paper prints a picture without coordinates, so no published point is drawn and "
        "nothing is compared.",
        "The run is that of the first seed in Hyperformer-1, of the base size.",
        "The kinds of task are ours; STS-B, which grades likeness, counts as paraphrase.",
        "--method hyperformer draws HyperFormer's embeddings, which are wider, in place of those "
        "of HyperFormer++.",
    ),
)
