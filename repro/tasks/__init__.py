"""A data set becomes questions or sentences, examples, answers and scores."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from repro.spec import SquadTask, TaggingTask, TextToText

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

    from repro.spec import Task
    from repro.tasks.data import TaskData


def load_task(
    task: Task, tokenizer: PreTrainedTokenizerBase, cache: Path | None = None
) -> TaskData:
    """Reads, draws and cuts a task's rows for one tokenizer.

    Tokenised rows are kept in the folder `cache` and read from there; without one they are made
    anew.

    Raises MissingData where they cannot be had, are damaged, or are not those of `task.revision`.
    """
    if isinstance(task, SquadTask):
        from repro.tasks.squad2.task import load_squad

        return load_squad(task, tokenizer, cache)
    if isinstance(task, TaggingTask):
        from repro.tasks.tagging.task import load_tagging

        return load_tagging(task, tokenizer, cache)
    if isinstance(task, TextToText):
        from repro.tasks.text_to_text.task import load_text_to_text

        return load_text_to_text(task, tokenizer, cache)
    from repro.tasks.sentences.task import load_sentences

    return load_sentences(task, tokenizer, cache)


def rescored(task: Task, document: dict[str, Any]) -> Iterable[Mapping[str, Any]]:
    """The scores of stored predictions, but for their epoch, as `result.json` holds them: made from
    the rows' right answers, without a model. A score that does not follow from predictions alone
    is left out.

    Raises MissingData where the rows cannot be had; ValueError, KeyError or TypeError where
    `document` (`predictions.json`) does not hold predictions of these rows.
    """
    if isinstance(task, SquadTask):
        from repro.tasks.squad2 import protocols

        return protocols.rescored(task, document)
    if isinstance(task, TaggingTask):
        from repro.tasks.tagging.task import rescored as of_tags

        return of_tags(task, document)
    if isinstance(task, TextToText):
        from repro.tasks.text_to_text.task import rescored as of_texts

        return of_texts(task, document)
    from repro.tasks.sentences.task import rescored as of_sentences

    return of_sentences(task, document)
