"""What the GLUE server reads and prints: one file a test set, its words, its metrics. Torch-free.

Source: the server's own instructions and sample submission (gluebenchmark.com): a zip of files
`index<tab>prediction`; words for the entailment tasks, 0 or 1 for the other classes, a number from
0 to 5 for STS-B.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from repro.spec.facts import Facts
from repro.spec.glue import DIAGNOSTIC, GLUE
from repro.spec.tasks import GlueName

PROTOCOL = "glue-server"
"""Of every score that the server gave."""
HEADER = "index\tprediction"
TestSet = GlueName | Literal["ax"]


@dataclass(frozen=True, slots=True)
class ServerFile:
    """One file of a submission: the rows of `split` of a task, in the order of their idx.

    `words` is what stands for each class, in the order of `repro.spec.glue`; empty for a number.
    `constant` stands on every row where nothing is predicted. `column` is the task and split by
    which a table selects the run that predicts it; `metrics` are what the server prints.
    """

    name: str
    task: TestSet
    split: str
    words: tuple[str, ...]
    constant: str
    column: tuple[GlueName, str]
    metrics: tuple[str, ...]

    @property
    def facts(self) -> Facts:
        """What the test set is of."""
        return DIAGNOSTIC if self.task == "ax" else GLUE[self.task]

    @property
    def rows(self) -> int:
        """How many rows the published test set has."""
        return self.facts.rows[self.split]

    @property
    def place(self) -> str:
        """cola, or mnli/test_matched where a task has two test sets."""
        return self.task if self.split == "test" else f"{self.task}/{self.split}"


def _file(
    name: str,
    task: GlueName,
    constant: str,
    *metrics: str,
    kind: Literal["numbers", "words", "decimal"] = "numbers",
    split: str = "test",
) -> ServerFile:
    labels = GLUE[task].labels
    words = labels if kind == "words" else tuple(str(number) for number in range(len(labels)))
    column = task, split.replace("test", "validation")
    return ServerFile(name, task, split, words, constant, column, metrics)


FILES: tuple[ServerFile, ...] = (
    _file("CoLA.tsv", "cola", "1", "matthews"),
    _file("SST-2.tsv", "sst2", "1", "accuracy"),
    _file("MRPC.tsv", "mrpc", "1", "f1", "accuracy"),
    _file("STS-B.tsv", "stsb", "3.0", "pearson", "spearman", kind="decimal"),
    _file("QQP.tsv", "qqp", "0", "f1", "accuracy"),
    _file("MNLI-m.tsv", "mnli", "entailment", "accuracy", kind="words", split="test_matched"),
    _file("MNLI-mm.tsv", "mnli", "entailment", "accuracy", kind="words", split="test_mismatched"),
    _file("QNLI.tsv", "qnli", "not_entailment", "accuracy", kind="words"),
    _file("RTE.tsv", "rte", "entailment", "accuracy", kind="words"),
    _file("WNLI.tsv", "wnli", "0", "accuracy"),
    ServerFile("AX.tsv", "ax", "test", DIAGNOSTIC.labels, "entailment",
               ("mnli", "validation_matched"), ("matthews",)),
)  # fmt: skip
"""A constant is the commonest label of the published training set; of MNLI, QNLI and AX, where
training labels are even, that of (MNLI's matched) validation set; of STS-B the median."""

BY_PLACE = {(file.task, file.split): file for file in FILES}
BY_NAME = {file.name: file for file in FILES}


def of_column(task: str, split: str) -> ServerFile | None:
    """The file whose server score is what a table's column of validation rows shows."""
    found = (file for file in FILES if file.column == (task, split) and file.task != "ax")
    return next(found, None)
