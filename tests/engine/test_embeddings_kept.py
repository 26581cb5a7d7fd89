"""Learned embeddings of tasks on their way from a group's learner into `result.json`."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import pytest
import torch
from group_samples import spec_of, trained
from run_samples import RECIPE, cells

from repro.backbones.load import load_encoder
from repro.engine.jobs import Execution
from repro.engine.results import keep_group
from repro.methods.t5 import HyperFormer
from repro.spec import RunSpec, TextToText, run_key
from repro.spec.backbones import KNOWN, TINY_T5
from repro.spec.contents import Contents
from repro.spec.tasks import WrittenName
from repro.store import Store
from repro.training.checkpoint import read_artefact
from repro.training.group import Group


@pytest.fixture
def spec() -> RunSpec:
    return spec_of(cells("plain", "relu"), recipe__epochs=2, recipe__keep="first-best")


def stored(spec: RunSpec, group: Group, tmp_path: Path) -> bytes:
    store = Store(tmp_path / "store")
    keep_group(store, group, {}, Execution(), lambda event: None, Contents())
    found = store.read(run_key(spec))
    assert found is not None
    return (found.path / "result.json").read_bytes()


def test_embeddings_are_those_of_the_weights_that_are_kept(
    spec: RunSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A learner whose embeddings are its first weights, as the stored artefact has them."""
    group = trained([spec], tmp_path / "work")
    learner = group.cohorts[0].learner
    name, weights = next(iter(learner.named_parameters()))

    def embeddings() -> dict[str, list[float]]:
        return {"rte": weights.flatten()[:3].tolist(), "cola": weights.flatten()[3:6].tolist()}

    monkeypatch.setattr(learner, "embeddings", embeddings)
    kept: Any = read_artefact(group.members[0].artefact)[name].flatten()
    result = stored(spec, group, tmp_path)
    found = Store(tmp_path / "store").read(run_key(spec))
    assert found is not None
    assert found.result.embeddings == {"rte": kept[:3].tolist(), "cola": kept[3:6].tolist()}
    assert b'"embeddings": {"cola":[' in result


def test_a_method_without_embeddings_leaves_no_field(spec: RunSpec, tmp_path: Path) -> None:
    assert b"embeddings" not in stored(spec, trained([spec], tmp_path / "work"), tmp_path)


@pytest.mark.parametrize(("generators", "width"), [("stack", 8), ("slot", 12)])
def test_hyperformer_keeps_the_embedding_of_each_task_as_its_weights_have_it(
    generators: Literal["stack", "slot"], width: int, tmp_path: Path
) -> None:
    """After two steps inside the tiny T5."""
    sizes = "seed=0,train=20,validation=12"
    tasks: tuple[WrittenName, ...] = ("stsb", "cola", "rte")
    task = TextToText(tasks=tasks, source="generated", revisions=dict.fromkeys(tasks, sizes))
    changes: dict[str, Any] = {"epochs": 1, "look_steps": 2, "keep": "first-best"}
    method = HyperFormer(
        generators=generators, reduction=8, task_embedding=width, projector=8, projected=8
    )
    spec = RunSpec(
        scale="smoke", backbone=KNOWN[TINY_T5], task=task, method=method,
        recipe=RECIPE.model_copy(update=changes), seed=1,
    )  # fmt: skip
    encoder = load_encoder(KNOWN[TINY_T5], {}, torch.device("cpu"))
    data = task.load(encoder.tokenizer)
    group = trained([spec], tmp_path / "work", encoder=encoder, data=data)
    kept = read_artefact(group.members[0].artefact)
    stored(spec, group, tmp_path)
    found = Store(tmp_path / "store").read(run_key(spec))
    assert found is not None
    assert found.result.embeddings is not None
    assert set(found.result.embeddings) == set(tasks)
    for name, vector in found.result.embeddings.items():
        (own,) = [value for path, value in kept.items() if path.endswith(f"embeddings.{name}")]
        assert vector == own.flatten().tolist()
        assert len(vector) == width
