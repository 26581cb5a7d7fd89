"""The adapters that a stored run generates for one task, frozen into plain ones."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from repro.errors import ReproError
from repro.spec import RunSpec
from repro.spec.types import PRETRAINED
from repro.store.entry import ADAPTER, StoredRun
from repro.store.store import Store

if TYPE_CHECKING:
    from torch import Tensor


def frozen_adapters(
    store: Store, key: str, task: str, folders: dict[str, str]
) -> tuple[RunSpec, dict[str, Tensor]]:
    """The run of plain adapters that gives the same outputs on `task`, and its tensors.

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
