"""The adapter methods, one file each; `build` makes the learner of runs that share one method."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from repro.backbones.load import Encoder
    from repro.methods.learner import Learner
    from repro.spec import RunSpec


def build(spec: RunSpec, runs: int, encoder: Encoder) -> Learner:
    """The untrained learner of `runs` runs whose method and backbone are those of `spec`."""
    from repro.methods.always_null import Null
    from repro.methods.frozen_features import Features
    from repro.methods.inside.learner import Inside
    from repro.methods.linear_probe import Probe
    from repro.methods.resadapters.pipelined import Pipelined
    from repro.methods.t5.learner import Writer
    from repro.spec.kinds import WRITING
    from repro.spec.limits import check_run
    from repro.spec.tasks import TaggingTask
    from repro.spec.trained import INSIDE, outputs_of, trained
    from repro.spec.types import (
        AlwaysNull,
        FrozenFeatures,
        LinearProbe,
        PipelinedCells,
    )

    check_run(spec)
    method, backbone = spec.method, spec.backbone
    if isinstance(method, PipelinedCells):
        length = spec.task.max_length
        return Pipelined(method, runs, backbone.layers, backbone.hidden_size, length)
    if isinstance(method, LinearProbe):
        return Probe(method, runs, backbone.hidden_size)
    if isinstance(method, FrozenFeatures):
        tags, outputs = isinstance(spec.task, TaggingTask), outputs_of(spec.task)
        return Features(method, backbone.layers, backbone.hidden_size, outputs, tags=tags)
    if isinstance(method, INSIDE):
        return Inside(trained(spec), runs, encoder, backbone.name)
    if isinstance(method, WRITING):
        return Writer(spec, encoder)
    assert isinstance(method, AlwaysNull), (
        "ablated spans are their parent's learner, switched off in part"
    )
    return Null(runs)
