"""The rows of a task of text to text, whole: read as GLUE's own runs read them, or made."""

from __future__ import annotations

from repro.errors import ReproError
from repro.spec import TextToText
from repro.spec.tasks import WrittenName
from repro.spec.text_to_text import TEXT_TO_TEXT
from repro.tasks.generated import WRITTEN
from repro.tasks.sentences.rows import Row, generated_rows, read_rows


def task_rows(task: TextToText, name: WrittenName) -> dict[str, list[Row]]:
    """The rows of "train" and of every official split that is scored or divided, whole.

    Raises MissingData where they cannot be had, are damaged, or are not those of the task's
    revision; ReproError where the spec names no revision of generated rows.
    """
    revision = task.revisions.get(name)
    if task.source == "generated":
        return generated_rows(f"{WRITTEN}{name}", revision)
    if not TEXT_TO_TEXT[name].facts.folder:
        raise ReproError(f"{TEXT_TO_TEXT[name].facts.title} has generated rows only.")
    return read_rows(name, revision)
