"""All that the training loop needs of SQuAD 2.0, made once a job."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from repro.spec import SquadTask
from repro.tasks.squad2.features import Window, make_windows
from repro.tasks.squad2.protocols import Evaluation, prepare_evaluation
from repro.tasks.squad2.sources import training_questions


@dataclass(frozen=True, slots=True)
class SquadData:
    """Training windows and the evaluation of one task, cut for one tokenizer."""

    training: list[Window]
    evaluation: Evaluation
    pad_id: int


def load_squad(task: SquadTask, tokenizer: Any) -> SquadData:
    """Reads, draws and cuts the questions; raises what the sources raise for missing data."""
    training = make_windows(
        training_questions(task),
        tokenizer,
        task.features,
        max_length=task.max_length,
        stride=task.stride,
        max_query=task.max_query,
    )
    return SquadData(training, prepare_evaluation(task, tokenizer), int(tokenizer.pad_token_id))
