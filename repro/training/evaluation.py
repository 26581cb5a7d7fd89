"""From a member's logits, batch by batch, to its scores and predictions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from repro.tasks.squad2.decoding import Outcomes, decode_batch, join
from repro.tasks.squad2.protocols import HEADLINE, Evaluation, predictions_document, score_run

HEADLINE_METRICS = ("em", "f1", "null_rate")


class Collector:
    """Decodes one member's batches as they come, so that no logits are kept."""

    def __init__(self, evaluation: Evaluation) -> None:
        self.evaluation = evaluation
        self.parts: list[Outcomes] = []
        self.order: list[int] = []

    def add(self, indices: list[int], start: NDArray[np.float32], end: NDArray[np.float32]) -> None:
        """Takes the logits (batch, length) of the evaluation windows `indices`."""
        windows = [self.evaluation.windows[i] for i in indices]
        self.parts.append(decode_batch(start, end, windows))
        self.order.extend(indices)

    def outcomes(self) -> Outcomes:
        """Those of all windows, in the evaluation's order."""
        return join(self.parts, self.order)


def score_epoch(outcomes: Outcomes, evaluation: Evaluation, epoch: int) -> list[dict[str, Any]]:
    """Every protocol's scores after `epoch`, as `result.json` holds them."""
    return [{**score, "epoch": epoch} for score in score_run(outcomes, evaluation)]


def headline(scores: list[dict[str, Any]]) -> dict[str, float]:
    """A few numbers for progress and history: those of the headline protocol, all questions."""
    return {
        f"{score['split']}/{score['metric']}": score["value"]
        for score in scores
        if score["protocol"] == HEADLINE
        and score["group"] == "ALL"
        and score["metric"] in HEADLINE_METRICS
    }


def predictions(outcomes: Outcomes, evaluation: Evaluation) -> dict[str, Any]:
    """What `predictions.json` holds."""
    return predictions_document(outcomes, evaluation)
