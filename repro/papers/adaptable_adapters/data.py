"""AA-1: the data of each task, counted, and its metrics (Adaptable Adapters, Table 1)."""

from __future__ import annotations

from collections.abc import Mapping

from repro.papers.adaptable_adapters.runs import BASELINE, chain_of
from repro.papers.adaptable_adapters.setting import FULL, SEEDS
from repro.papers.adaptable_adapters.tables import COMBINED, PAPER, TASKS, columns
from repro.papers.matrix import Chain
from repro.papers.request import Request
from repro.papers.tables import Column, Fact, Printed, Row, Score, Table
from repro.spec import RunSpec
from repro.spec.glue import GLUE
from repro.spec.tasks import GlueName, GlueTask

METRIC_WORDS = {
    "accuracy": "accuracy",
    "f1": "F1",
    "matthews": "Matthews correlation",
    "spearman": "Spearman correlation",
    "pearson": "Pearson correlation",
}
SHOWN = {column.task: column.metric for column in columns() if isinstance(column, Score)}
"""Task -> the metric in a cell of AA-2."""


def all_rows(row: Row, column: Column, request: Request) -> list[Chain]:
    """A run of AA-2 on all rows of the task, which names its data; nothing is trained."""
    return [chain_of(BASELINE, row.variant, request, FULL, SEEDS[0])]


def _task(spec: RunSpec) -> GlueName:
    assert isinstance(spec.task, GlueTask)
    return spec.task.name


def training(spec: RunSpec, counted: Mapping[str, int]) -> float:
    """Rows to train on, where all that can be drawn are divided."""
    return float(counted["train"])


def development(spec: RunSpec, counted: Mapping[str, int]) -> float:
    """Rows that select the epoch."""
    return float(counted["development"])


def scored(spec: RunSpec, counted: Mapping[str, int]) -> float:
    """Rows that are scored: official development rows."""
    return float(counted[GLUE[_task(spec)].evaluation[0]])


def divided(spec: RunSpec, counted: Mapping[str, int]) -> str:
    """Which official rows become training and development rows."""
    assert isinstance(spec.task, GlueTask)
    return "training rows" if spec.task.drawn_from == "train" else "half of the validation rows"


def shown(spec: RunSpec, counted: Mapping[str, int]) -> str:
    """The metric in a cell of AA-2."""
    task = _task(spec)
    if SHOWN[task] == COMBINED:
        return "mean of " + " and ".join(METRIC_WORDS[metric] for metric in GLUE[task].metrics)
    return METRIC_WORDS[SHOWN[task]]


def selecting(spec: RunSpec, counted: Mapping[str, int]) -> str:
    """The metric on development rows that picks the epoch."""
    return METRIC_WORDS[GLUE[_task(spec)].monitor]


ONE = Table(
    id="AA-1",
    paper=PAPER,
    title="The tasks, their rows and their metrics (Adaptable Adapters, Table 1)",
    published="AA22-T1-partial",
    rows=tuple(Row(name, task, name) for name, task in TASKS.items()),
    columns=(
        Fact("Divided", "", "", divided),
        Fact("Training rows", "", "", training, counted="rows"),
        Fact("Development rows", "", "", development, counted="rows"),
        Fact("Test rows", "", "", scored, counted="rows"),
        Fact("Metric shown", "", "", shown),
        Fact("Selects the epoch", "", "", selecting),
        Printed(
            "Metric in the released code",
            "Metric",
            "metric (from code, not from the printed table)",
            "read from the released code, where ours are named beside it",
        ),
    ),
    protocol="counted",
    default_seeds={"paper": 1, "reduced": 1, "smoke": 1},
    chains=all_rows,
    also=tuple(TASKS.values()),
    low_data=True,
    notes=(
        "The printed table is not known to us; its metrics are, from the released code.",
        "Rows are counted in the data of this scale, all of them: three quarters of the training "
        "rows are trained on, a quarter selects the epoch, and test rows are the development rows "
        "(of MNLI the matched ones). A run may draw fewer.",
        "Where no training rows are here, half of the validation rows is divided and the other "
        "half is scored.",
    ),
)
