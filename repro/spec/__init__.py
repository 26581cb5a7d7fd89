"""Value types of a run, its key and its parameter counts. Imports neither torch nor data."""

from repro.spec.identity import canonical_json, run_key
from repro.spec.types import (
    AblatedSpans,
    AlwaysNull,
    Backbone,
    BottleneckAdapters,
    FullFineTuning,
    GlueTask,
    LayerNorms,
    LinearProbe,
    Method,
    PipelinedCells,
    Recipe,
    RunSpec,
    Scale,
    Source,
    SquadTask,
    Task,
    TopLayers,
)

__all__ = [
    "AblatedSpans",
    "AlwaysNull",
    "Backbone",
    "BottleneckAdapters",
    "FullFineTuning",
    "GlueTask",
    "LayerNorms",
    "LinearProbe",
    "Method",
    "PipelinedCells",
    "Recipe",
    "RunSpec",
    "Scale",
    "Source",
    "SquadTask",
    "Task",
    "TopLayers",
    "canonical_json",
    "run_key",
]
