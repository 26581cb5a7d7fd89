"""Value types of a run and its key. Imports neither torch nor data."""

from repro.spec.identity import canonical_json, run_key
from repro.spec.task import Task
from repro.spec.tasks import GlueTask, SquadTask, TaggingTask, TextTask, TextToText
from repro.spec.types import Backbone, Recipe, RunSpec, Scale, Source

__all__ = [
    "Backbone",
    "GlueTask",
    "Recipe",
    "RunSpec",
    "Scale",
    "Source",
    "SquadTask",
    "TaggingTask",
    "Task",
    "TextTask",
    "TextToText",
    "canonical_json",
    "run_key",
]
