"""The tasks of one or two texts, whatever their source: GLUE's and the further ones."""

from __future__ import annotations

from repro.spec.facts import Facts
from repro.spec.glue import GLUE
from repro.spec.tasks import GlueTask, TextTask
from repro.spec.texts import TEXTS

SentenceTask = GlueTask | TextTask
SENTENCES: dict[str, Facts] = {str(name): facts for name, facts in (*GLUE.items(), *TEXTS.items())}


def facts_of(task: SentenceTask) -> Facts:
    """What the task is."""
    return SENTENCES[task.name]


def protocol_of(name: str) -> str:
    """What its scores are called: "glue", or "texts"."""
    return "glue" if name in GLUE else "texts"
