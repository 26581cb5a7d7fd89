"""All that the training loop needs of SQuAD 2.0, made once a job."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from repro.spec import SquadTask
from repro.tasks.squad2.decoding import Outcomes, decode_batch, join
from repro.tasks.squad2.features import Window, make_windows
from repro.tasks.squad2.protocols import (
    HEADLINE,
    SPAN_DECODING,
    Evaluation,
    predictions_document,
    prepare_evaluation,
    score_run,
)
from repro.tasks.squad2.questions import training_questions

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

HEADLINES = {
    "squad2": (HEADLINE, "ALL", ("em", "f1", "null_rate")),
    "squad1": (f"legacy/{SPAN_DECODING}", "HasAns", ("span_f1",)),
}
"""Task -> protocol, group and metrics that are shown; the best span answers SQuAD 1.1."""


class SquadCollector:
    """Decodes one run's batches as they come, so that no logits are kept."""

    def __init__(self, scoring: Evaluation) -> None:
        self.scoring = scoring
        self.parts: list[Outcomes] = []
        self.order: list[int] = []

    def add(self, indices: list[int], outputs: NDArray[np.float32]) -> None:
        """Takes the start and end logits (2, batch, length) of the windows `indices`.

        Raises FloatingPointError where one is not finite.
        """
        windows = [self.scoring.windows[i] for i in indices]
        self.parts.append(decode_batch(outputs[0], outputs[1], windows))
        self.order.extend(indices)

    def outcomes(self) -> Outcomes:
        """Those of all windows, in the evaluation's order."""
        return join(self.parts, self.order)

    def scores(self, epoch: int) -> list[dict[str, Any]]:
        """Every protocol's scores after `epoch`, as `result.json` holds them."""
        return [{**score, "epoch": epoch} for score in score_run(self.outcomes(), self.scoring)]

    def predictions(self) -> dict[str, Any]:
        """What `predictions.json` holds."""
        return predictions_document(self.outcomes(), self.scoring)


@dataclass(frozen=True, slots=True)
class SquadData:
    """Training windows and the scoring of one task, cut for one tokenizer."""

    training: list[Window]
    scoring: Evaluation
    pad_id: int

    @property
    def evaluation(self) -> list[Window]:
        """The windows that the model runs over to be scored."""
        return self.scoring.windows

    @property
    def watched(self) -> int:
        """All of them: every split is scored after every epoch."""
        return len(self.evaluation)

    @property
    def drawn(self) -> None:
        """Nothing is stored of a plain cap: its seed and rows are in the spec."""

    def collector(self) -> SquadCollector:
        """A new one, for one run and one evaluation."""
        return SquadCollector(self.scoring)

    def headline(self, scores: list[dict[str, Any]]) -> dict[str, float]:
        """Those of the headline protocol, by "split/metric"."""
        protocol, group, metrics = HEADLINES[self.scoring.task]
        return {
            f"{score['split']}/{score['metric']}": score["value"]
            for score in scores
            if (score["protocol"], score["group"]) == (protocol, group)
            and score["metric"] in metrics
        }

    def monitor(self, scores: list[dict[str, Any]]) -> float | None:
        """F1 of the whole evaluation set under the headline protocol."""
        metric = "f1" if self.scoring.task == "squad2" else "span_f1"
        return self.headline(scores).get(f"{next(iter(self.scoring.sets))}/{metric}")

    def collapsed(self, scores: list[dict[str, Any]]) -> bool:
        """Whether the run answers nothing at all under the headline protocol."""
        named = self.headline(scores).items()
        rates = [value for name, value in named if name.endswith("/null_rate")]
        return bool(rates) and all(rate == 100.0 for rate in rates)


def load_squad(
    task: SquadTask, tokenizer: PreTrainedTokenizerBase, cache: Path | None = None
) -> SquadData:
    """Reads, draws and cuts the questions; raises what the sources raise for missing data."""
    training = make_windows(
        training_questions(task),
        tokenizer,
        task.features,
        max_length=task.max_length,
        stride=task.stride,
        max_query=task.max_query,
        cache=cache,
    )
    scoring = prepare_evaluation(task, tokenizer, cache)
    return SquadData(training, scoring, int(tokenizer.pad_token_id))
