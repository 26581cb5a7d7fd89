"""What each task of GLUE is: its texts, labels, metrics and published sizes.

Sources: Wang et al. 2018 (Table 1) for tasks and metrics; the data set card of `nyu-mll/glue` for
field names, label order and rows.
"""

from __future__ import annotations

from repro.spec.facts import Facts
from repro.spec.tasks import GlueName

ENTAILMENT = ("entailment", "not_entailment")
NLI = ("entailment", "neutral", "contradiction")
PAIR = ("sentence1", "sentence2")

GLUE: dict[GlueName, Facts] = {
    "cola": Facts(
        "CoLA", ("sentence",), ("unacceptable", "acceptable"), ("matthews", "accuracy"),
        "matthews", {"train": 8_551, "validation": 1_043, "test": 1_063},
    ),
    "sst2": Facts(
        "SST-2", ("sentence",), ("negative", "positive"), ("accuracy",),
        "accuracy", {"train": 67_349, "validation": 872, "test": 1_821},
    ),
    "mrpc": Facts(
        "MRPC", PAIR, ("not_equivalent", "equivalent"), ("f1", "accuracy"),
        "f1", {"train": 3_668, "validation": 408, "test": 1_725}, combined=True,
    ),
    "stsb": Facts(
        "STS-B", PAIR, (), ("spearman", "pearson"),
        "spearman", {"train": 5_749, "validation": 1_500, "test": 1_379}, combined=True,
    ),
    "qqp": Facts(
        "QQP", ("question1", "question2"), ("not_duplicate", "duplicate"), ("f1", "accuracy"),
        "f1", {"train": 363_846, "validation": 40_430, "test": 390_965}, combined=True,
    ),
    "mnli": Facts(
        "MNLI", ("premise", "hypothesis"), NLI, ("accuracy",),
        "accuracy",
        {
            "train": 392_702, "validation_matched": 9_815, "validation_mismatched": 9_832,
            "test_matched": 9_796, "test_mismatched": 9_847,
        },
    ),
    "qnli": Facts(
        "QNLI", ("question", "sentence"), ENTAILMENT, ("accuracy",),
        "accuracy", {"train": 104_743, "validation": 5_463, "test": 5_463},
    ),
    "rte": Facts(
        "RTE", PAIR, ENTAILMENT, ("accuracy",),
        "accuracy", {"train": 2_490, "validation": 277, "test": 3_000},
    ),
    "wnli": Facts(
        "WNLI", PAIR, ("not_entailment", "entailment"), ("accuracy",),
        "accuracy", {"train": 635, "validation": 71, "test": 146},
    ),
}  # fmt: skip
"""The monitor picks the best epoch: the metrics of the 3-shared report's released code."""

DIAGNOSTIC = Facts("AX", ("premise", "hypothesis"), NLI, ("matthews",), "matthews", {"test": 1_104})
"""GLUE's diagnostic set: MNLI's labels, never trained on, labels withheld."""
