"""What of HyperFormer's runs is scored: eleven numbers of eight tasks, on test rows."""

from __future__ import annotations

from repro.papers.margins import for_rows
from repro.papers.tables import Score
from repro.spec.facts import Metric
from repro.spec.tasks import WrittenName
from repro.spec.text_to_text import TEXT_TO_TEXT

PAPER, PROTOCOL, COLLAPSE = "hyperformer", "text-to-text", "writes one answer for all rows"
TEST = "test"
"""The printed rows and ours: validation rows of GLUE, halved or whole, by the draw of the released
code. Its parts lack their last row (multiples of 1/203 for MRPC), which is a defect: ours have it,
but for --as-released.
"""
METRICS: dict[Metric, str] = {
    "matthews": "Matthews corr", "accuracy": "accuracy", "f1": "F1", "pearson": "Pearson",
    "spearman": "Spearman",
}  # fmt: skip
"""As the CSV calls them."""
PRINTED: tuple[WrittenName, ...] = (
    "cola", "sst2", "mrpc", "qqp", "stsb", "mnli", "qnli", "rte",
)  # fmt: skip


def written(task: str) -> WrittenName:
    """The task of this name."""
    return next(name for name in TEXT_TO_TEXT if name == task)


def rows_scored(name: WrittenName) -> int:
    """Rows of a task's test part in the published data: of a halved set the larger half."""
    known = TEXT_TO_TEXT[name]
    rows = known.facts.rows[known.scored[-1]]
    return rows - rows // 2 if known.division == "validation-halved" else rows


def glue_scores(*, printed: bool) -> tuple[Score, ...]:
    """The eleven numbers of Table 1, a metric of a task each."""
    return tuple(
        _score(name, metric, printed=printed)
        for name in PRINTED
        for metric in TEXT_TO_TEXT[name].metrics
    )


def _score(name: WrittenName, metric: Metric, *, printed: bool) -> Score:
    title = TEXT_TO_TEXT[name].facts.title
    own = f"{title} {METRICS[metric]}" if len(TEXT_TO_TEXT[name].metrics) > 1 else title
    where = (title, METRICS[metric]) if printed else ("", "")
    margin = for_rows(rows_scored(name))
    return Score(own, *where, metric, TEST, TEST, task=name, margin=margin)
