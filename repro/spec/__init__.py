"""Value types of a run, its key and its parameter counts. Imports neither torch nor data."""

from repro.spec.identity import canonical_json, run_key
from repro.spec.types import (
    AlwaysNull,
    Backbone,
    FullFineTuning,
    LinearProbe,
    Method,
    PipelinedCells,
    Recipe,
    RunSpec,
    Scale,
    Source,
    Task,
)

__all__ = [
    "AlwaysNull",
    "Backbone",
    "FullFineTuning",
    "LinearProbe",
    "Method",
    "PipelinedCells",
    "Recipe",
    "RunSpec",
    "Scale",
    "Source",
    "Task",
    "canonical_json",
    "run_key",
]
