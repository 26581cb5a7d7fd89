"""What kind of thing a method trains: decides which runs share a job, a pass, a learner."""

from __future__ import annotations

from repro.spec.t5 import HyperFormer, T5Adapters, T5FineTuning, TextToText
from repro.spec.trained import INSIDE
from repro.spec.types import (
    FrozenFeatures,
    FullFineTuning,
    LinearProbe,
    Method,
    PipelinedCells,
    RunSpec,
    TopLayers,
)

WRITING = (T5FineTuning, T5Adapters, HyperFormer)
"""The methods that train inside T5."""


PRETRAINED, MULTI_TASK, TRAINED = "pretrained", "multi-task", "trained"
"""Roles of parents: whose weights a run's model has; which run it starts from; which it scores."""
WITH_WEIGHTS = (PRETRAINED, MULTI_TASK, TRAINED)
"""The roles of which a child needs more than the result."""


def reads_states(method: Method) -> bool:
    """It reads the frozen encoder's states, which runs of one seed share."""
    return isinstance(method, (PipelinedCells, LinearProbe, FrozenFeatures))


def has_own_rows(method: Method) -> bool:
    """It trains inside the encoder: each run has its own states, so it may have its own rows."""
    return isinstance(method, (*INSIDE, *WRITING))


def trains_alone(method: Method) -> bool:
    """Its modules have no run axis, so a learner holds one run."""
    return trains_encoder(method) or isinstance(method, (FrozenFeatures, *WRITING))


def starts_others(spec: RunSpec) -> bool:
    """Others start from it: pre-training, and T5 fine-tuned on a mixture, but for what draws a few
    rows of it anew for every seed.
    """
    task = spec.task
    if not isinstance(spec.method, T5FineTuning) or not isinstance(task, TextToText):
        return False
    whole = len(task.tasks) > 1 and task.subset_seed == 0
    return whole or task.tasks == ("span-corruption",)


def trains_encoder(method: Method) -> bool:
    """It trains the encoder's own matrices, of which each run then needs a copy."""
    return isinstance(method, (FullFineTuning, TopLayers, T5FineTuning))
