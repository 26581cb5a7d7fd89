"""What is made from runs that are stored: what a run takes from its parents, runs that only score
a parent, and plain adapters frozen from generated ones.

A child is made from results as they are stored: its own result names the digest of every parent's,
so that it no longer counts once a parent has another result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from repro.errors import ReproError
from repro.methods.adaptable_adapters import LastLayers
from repro.spec import RunSpec, run_key
from repro.spec.types import MULTI_TASK, PRETRAINED, START, TRAINED
from repro.store.entry import ADAPTER, StoredRun
from repro.store.result import Result, Score
from repro.store.store import Store

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from repro.backbones.load import Encoder
    from repro.tasks.data import TaskData
    from repro.training.cohort import Start

Parents = Mapping[str, StoredRun]
Report = Callable[[dict[str, Any]], None]


def parents_of(spec: RunSpec, store: Store) -> dict[str, StoredRun]:
    """Role -> the stored run, verified. Raises ReproError where one has no result."""
    found = {}
    for role, key in spec.parents.items():
        run = store.read(key, verify=True)
        if run is None:
            raise ReproError(
                f"The run {key[:12]}, from which this one is made, has no result here. Give the "
                "command again to train it."
            )
        found[role] = run
    return found


def digests(parents: Parents) -> dict[str, str]:
    """Role -> digest of the parent's result."""
    return {role: parent.digest for role, parent in parents.items()}


def built(spec: RunSpec, parents: Parents) -> RunSpec:
    """The run with the layers that its parent "architecture" selected, where it awaits them.

    Raises ReproError where that parent is of a method that selects none.
    """
    if not spec.method.awaits_layers:
        return spec
    architecture = parents["architecture"]
    if architecture.result.layers is None:
        raise ReproError(
            f"The run {architecture.key[:12]} selects no layers, and another is to be made from "
            "those that it selects: name a run with a switch as its parent 'architecture'."
        )
    return spec.with_layers(architecture.result.layers)


def weights_of(parents: Parents, role: str) -> Path | None:
    """The file with the weights of the parent in `role`; None where there is no such parent.

    Raises ReproError where it is stored without them.
    """
    parent = parents.get(role)
    if parent is None:
        return None
    if ADAPTER not in parent.files:
        raise ReproError(
            f"The run {parent.key[:12]}, which this one needs as '{role}', has no stored weights "
            "here. Give the command again to train it."
        )
    return parent.path / ADAPTER


def start_of(parents: Parents) -> Start | None:
    """The run that the parent "multi-task" or "start" is, and its artefact, if there is one."""
    from repro.training.checkpoint import read_artefact

    for role in (MULTI_TASK, START):
        weights = weights_of(parents, role)
        if weights is not None:
            return parents[role].spec, read_artefact(weights)
    return None


def evaluate_parent(
    store: Store,
    spec: RunSpec,
    encoder: Encoder,
    data: TaskData,
    device: torch.device,
    report: Report,
) -> tuple[Result, dict[str, Any] | None]:
    """Scores the parent "trained" with some of its adapters off: the result, and predictions.

    Raises ReproError where the parent's weights are not here or outputs are not finite.
    """
    from repro.training.ablation import TrainedRun
    from repro.training.checkpoint import read_artefact

    parents = parents_of(spec, store)
    parent, weights = parents[TRAINED], weights_of(parents, TRAINED)
    assert weights is not None
    trained = built(parent.spec, parents_of(parent.spec, store))
    epoch = parent.result.selected_epoch or parent.last_epoch
    run = TrainedRun(trained, read_artefact(weights), epoch, encoder, data, device, report)
    method = built(spec, parents).method
    more: dict[str, Any] = {}
    predictions = None
    try:
        if isinstance(method, LastLayers):
            assert isinstance(method.kept, int)
            scores, predictions = run.last_layers(method.kept)
            layers = trained.backbone.layers
            more["layers"] = list(range(layers - method.kept, layers))
            more["collapsed"] = data.collapsed(scores)
        else:
            scores = run.spans()
    except FloatingPointError as problem:
        raise ReproError(f"With adapters switched off, {problem}.") from problem
    result = Result(
        key=run_key(spec),
        parameters_trained=0,
        parameters_total=trained.total_parameters(),
        parents=digests(parents),
        scores=[Score(**score) for score in scores],
        **more,
    )
    return result, predictions


def frozen_adapters(
    store: Store, key: str, task: str, folders: dict[str, str]
) -> tuple[RunSpec, dict[str, Tensor]]:
    """The run of plain adapters that gives the outputs of a stored run on `task`, and its tensors.

    Raises ReproError where the run generates no such adapters, or its weights or those of the run
    that gave it its T5 are not stored.
    """
    import torch

    from repro.backbones.load import load_encoder
    from repro.methods.t5.freeze import plain_adapters, plain_run
    from repro.methods.t5.learner import Writer
    from repro.training.checkpoint import read_artefact

    run = _stored(store, key)
    plain, weights = plain_run(run.spec, task), _weights(run)
    first = run.spec.parents.get(PRETRAINED)
    pretrained = None if first is None else _weights(_stored(store, first))
    encoder = load_encoder(run.spec.backbone, folders, torch.device("cpu"), pretrained=pretrained)
    writer = run.spec.learner(1, encoder)
    assert isinstance(writer, Writer)
    with torch.no_grad():
        tensors = read_artefact(weights)
        for name, parameter in writer.named_parameters():
            parameter.copy_(tensors[name])
    kept = {} if first is None else {PRETRAINED: first}
    return plain.model_copy(update={"parents": kept}), plain_adapters(writer, task)


def _stored(store: Store, key: str) -> StoredRun:
    run = store.read(key, verify=True)
    if run is None:
        raise ReproError(
            f"The run {key[:12]}, which this needs, has no result here. Train the table that has "
            "it (`python -m repro run ID`), then give the command again."
        )
    return run


def _weights(run: StoredRun) -> Path:
    if ADAPTER not in run.files:
        raise ReproError(
            f"The run {run.key[:12]}, which this needs, is stored here without its weights. Train "
            "the table that has it into another store (`python -m repro run ID --store FOLDER`), "
            "then give the command again with that --store."
        )
    return run.path / ADAPTER
