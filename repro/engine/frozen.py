"""The adapters that a stored run generates for one task, frozen into plain ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from repro.engine.parents import parents_of, weights_of
from repro.errors import ReproError
from repro.spec import RunSpec
from repro.spec.kinds import PRETRAINED
from repro.store.entry import ADAPTER
from repro.store.store import Store

if TYPE_CHECKING:
    from torch import Tensor


def frozen_adapters(
    store: Store, key: str, task: str, folders: dict[str, str]
) -> tuple[RunSpec, dict[str, Tensor]]:
    """The run of plain adapters that gives the same outputs on `task`, and its tensors.

    Raises ReproError where the run has no stored weights, or generates no such adapters.
    """
    import torch

    from repro.backbones.load import load_encoder
    from repro.methods import build
    from repro.methods.t5.freeze import plain_adapters, plain_run
    from repro.methods.t5.learner import Writer
    from repro.training.checkpoint import read_artefact

    run = store.read(key, verify=True)
    if run is None or ADAPTER not in run.files:
        raise ReproError(
            f"The run {key[:12]} has no stored weights here. Train it (python -m repro run), then "
            "give the command again."
        )
    plain = plain_run(run.spec, task)
    pretrained = weights_of(parents_of(run.spec, store), PRETRAINED)
    encoder = load_encoder(run.spec.backbone, folders, torch.device("cpu"), pretrained=pretrained)
    writer = build(run.spec, 1, encoder)
    assert isinstance(writer, Writer)
    with torch.no_grad():
        tensors = read_artefact(run.path / ADAPTER)
        for name, parameter in writer.named_parameters():
            parameter.copy_(tensors[name])
    kept = {role: parent for role, parent in run.spec.parents.items() if role == PRETRAINED}
    return plain.model_copy(update={"parents": kept}), plain_adapters(writer, task)
