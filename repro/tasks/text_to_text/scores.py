"""The scores of written answers, from their texts: fractions, by metric.

After rabeehk/hyperformer, metrics/metrics.py: an answer that is no label is wrong; for F1 it counts
as the label that its row does not have, for Matthews' correlation as a class of its own; an answer
that is no number counts as -1, and a correlation that is undefined as 0.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from repro.spec.facts import Metric
from repro.spec.t5 import WrittenName
from repro.spec.text_to_text import TEXT_TO_TEXT
from repro.tasks.sentences import metrics
from repro.tasks.text_to_text.formats import INVALID, parsed_class, parsed_number

INVALID_SHARE, MAJORITY = "invalid_share", "majority_share"


def measured(name: WrittenName, answers: Sequence[str], gold: Sequence[str]) -> dict[str, float]:
    """What the paper prints of a task, accuracy of any that has classes, the share of answers that
    are no label or no number, and that of the commonest answer.

    `gold` are the right answers, in the same order. Span corruption has accuracy alone, of answers
    written exactly, and the commonest answer's share.
    """
    written = TEXT_TO_TEXT[name]
    common = Counter(answer.strip() for answer in answers).most_common(1)[0][1] / len(answers)
    if written.labels:
        scores = _of_classes(name, answers, gold)
    elif "pearson" in written.metrics:
        scores = _of_numbers(written.metrics, answers, gold)
    else:
        exact = [answer == right for answer, right in zip(answers, gold, strict=True)]
        scores = {"accuracy": sum(exact) / len(exact)}
    return {**scores, MAJORITY: common}


def printed(name: WrittenName) -> tuple[Metric, ...]:
    """The metrics that enter a mean over tasks."""
    return TEXT_TO_TEXT[name].metrics


def _of_classes(name: WrittenName, answers: Sequence[str], gold: Sequence[str]) -> dict[str, float]:
    said = np.array([parsed_class(name, answer) for answer in answers])
    right = np.array([parsed_class(name, answer) for answer in gold])
    scores: dict[str, float] = {m: CLASSES[m](said, right) for m in printed(name)}
    return {
        **scores,
        "accuracy": metrics.accuracy(said, right),
        INVALID_SHARE: float((said == INVALID).mean()),
    }


def _f1(said: NDArray[np.int64], right: NDArray[np.int64]) -> float:
    return metrics.f1(np.where(said == INVALID, 1 - right, said), right)


def _of_numbers(
    of: Sequence[Metric], answers: Sequence[str], gold: Sequence[str]
) -> dict[str, float]:
    said = np.array([parsed_number(answer) for answer in answers])
    right = np.array([parsed_number(answer) for answer in gold])
    scores: dict[str, float] = {m: NUMBERS[m](said, right) or 0.0 for m in of}
    return {**scores, INVALID_SHARE: float((said == INVALID).mean())}


CLASSES: dict[Metric, Callable[[NDArray[np.int64], NDArray[np.int64]], float]] = {
    "accuracy": metrics.accuracy,
    "matthews": metrics.matthews,
    "f1": _f1,
}
NUMBERS: dict[Metric, Callable[[NDArray[np.float64], NDArray[np.float64]], float | None]] = {
    "pearson": metrics.pearson,
    "spearman": metrics.spearman,
}
