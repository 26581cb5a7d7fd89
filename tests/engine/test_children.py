"""Runs that are made from others: what they take from a stored parent, and what they store."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from in_process import InProcess
from run_samples import run_spec
from tiny_folder import write_tiny_bert

from repro.backbones.describe import describe
from repro.engine.dispatch import Dispatcher
from repro.engine.jobs import Execution
from repro.engine.parents import built
from repro.engine.plan import jobs_for
from repro.errors import ReproError
from repro.methods.adaptable_adapters import AdaptableAdapters, LastLayers
from repro.methods.lora import LoRA
from repro.spec import GlueTask, RunSpec, run_key
from repro.spec.method import Method
from repro.store import Store
from repro.store.entry import ADAPTER, StoredRun
from repro.training.checkpoint import read_artefact

TASK = GlueTask(name="cola", source="generated", revision="seed=0,train=24,validation=12")
SWITCHED = AdaptableAdapters(size=4, activation="rational", switch="as-run")
CHOSEN = AdaptableAdapters(size=4, activation="relu", layers="selected")
PLAIN = AdaptableAdapters(size=4, activation="relu", drops=1)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_bert(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture(scope="module")
def family(model: Path) -> dict[str, RunSpec]:
    """Two trained runs, one made from what the first selects, three that score the second."""
    backbone = describe(str(model))

    def run(method: Method, **parents: RunSpec) -> RunSpec:
        roles = {role: run_key(parent) for role, parent in parents.items()}
        return run_spec(
            method,
            backbone=backbone,
            task=TASK,
            parents=roles,
            recipe__switch_rate=1.0,
            recipe__learning_rate=0.01,
        )

    switched, plain = run(SWITCHED), run(PLAIN)
    return {
        "switched": switched,
        "plain": plain,
        "chosen": run(CHOSEN, architecture=switched),
        "none": run(LastLayers(kept=0), trained=plain),
        "all": run(LastLayers(kept=backbone.layers), trained=plain),
        "as many": run(LastLayers(kept="selected"), trained=plain, architecture=switched),
    }


@pytest.fixture(scope="module")
def store(
    family: dict[str, RunSpec], model: Path, tmp_path_factory: pytest.TempPathFactory
) -> Store:
    """Everything trained, given in the opposite order."""
    store = Store(tmp_path_factory.mktemp("children") / "store")
    folders = {family["plain"].backbone.revision or "": str(model)}
    specs = list(reversed(family.values()))
    found = Dispatcher(InProcess()).run(
        jobs_for(specs, store), store, Execution(threads=1, folders=folders)
    )
    assert [(outcome.kind, outcome.message) for outcome in found] == [(None, "")] * len(found)
    return store


@pytest.fixture
def stored(store: Store, family: dict[str, RunSpec]) -> dict[str, StoredRun]:
    runs = {name: store.read(run_key(spec), verify=True) for name, spec in family.items()}
    return {name: run for name, run in runs.items() if run is not None}


def scores(run: StoredRun) -> dict[Any, float]:
    """Of the epoch that was kept; the task is the same for all."""
    return {s.coordinates: s.value for s in run.result.scores if s.epoch == run.last_epoch}


def test_a_result_names_the_digest_of_every_parent(stored: dict[str, StoredRun]) -> None:
    parents = {name: run.result.parents for name, run in stored.items()}
    assert parents["switched"] == parents["plain"] == {}
    assert parents["chosen"] == {"architecture": stored["switched"].digest}
    assert parents["none"] == parents["all"] == {"trained": stored["plain"].digest}
    assert parents["as many"] == {
        "architecture": stored["switched"].digest,
        "trained": stored["plain"].digest,
    }


def test_a_child_trains_adapters_in_the_selected_layers_only(
    stored: dict[str, StoredRun], family: dict[str, RunSpec]
) -> None:
    selected = stored["switched"].result.layers
    assert selected is not None
    child, spec = stored["chosen"].result, family["chosen"]
    assert child.layers == selected
    d, outputs = spec.backbone.hidden_size, 2
    assert child.parameters_trained == len(selected) * (8 * d + 4 + d) + outputs * (d + 1)
    assert child.parameters_trained == spec.with_layers(selected).trained_parameters()


def test_what_a_run_learned_of_its_activations_is_stored(stored: dict[str, StoredRun]) -> None:
    found = stored["switched"].result.activations
    assert found is not None
    assert sorted(found) == [str(n) for n in range(stored["switched"].spec.backbone.layers)]
    assert stored["plain"].result.activations is None
    assert b'"activations"' not in (stored["plain"].path / "result.json").read_bytes()


def test_all_layers_kept_score_as_the_parent_did(stored: dict[str, StoredRun]) -> None:
    assert scores(stored["all"]) == pytest.approx(scores(stored["plain"]))
    predictions = [
        json.loads((stored[name].path / "predictions.json").read_bytes())
        for name in ("all", "plain")
    ]
    assert predictions[0] == predictions[1]


def test_kept_layers_are_the_last_ones(stored: dict[str, StoredRun]) -> None:
    layers = stored["plain"].spec.backbone.layers
    many = len(stored["switched"].result.layers or [])
    assert stored["none"].result.layers == []
    assert stored["all"].result.layers == list(range(layers))
    assert stored["as many"].result.layers == list(range(layers - many, layers))
    assert stored["none"].result.parameters_trained == 0


def test_an_architecture_may_have_no_layer_and_must_be_one(
    stored: dict[str, StoredRun], family: dict[str, RunSpec]
) -> None:
    def selecting(layers: list[int] | None) -> StoredRun:
        result = stored["switched"].result.model_copy(update={"layers": layers})
        return StoredRun(
            **{n: getattr(stored["switched"], n) for n in ("key", "source", "spec")},
            result=result,
            digest="0" * 64,
            partial=True,
            files={},
        )

    chosen = built(family["chosen"], {"architecture": selecting([])}).method
    assert isinstance(chosen, AdaptableAdapters)
    assert chosen.layers == ()
    parents = {"architecture": selecting([]), "trained": stored["plain"]}
    assert built(family["as many"], parents).method == LastLayers(kept=0)
    with pytest.raises(ReproError, match="selects no layers"):
        built(family["chosen"], {"architecture": selecting(None)})


def test_a_run_on_another_task_starts_from_a_stored_one_but_for_its_head(
    model: Path, tmp_path: Path
) -> None:
    """At a rate near 0 the child keeps what it starts with."""
    backbone, store = describe(str(model)), Store(tmp_path / "store")
    method = LoRA(rank=2, pooler="none", head="two-layer")

    def run(name: str, rate: float, **parents: str) -> RunSpec:
        task = TASK.model_copy(update={"name": name})
        return run_spec(
            method, backbone=backbone, task=task, parents=parents, recipe__learning_rate=rate
        )

    parent = run("cola", 0.01)
    child = run("rte", 1e-12, start=run_key(parent))
    folders = {backbone.revision or "": str(model)}
    Dispatcher(InProcess()).run(
        jobs_for([parent, child], store), store, Execution(threads=1, folders=folders)
    )
    runs = [store.read(run_key(one)) for one in (parent, child)]
    first, second = (read_artefact(run.path / ADAPTER) for run in runs if run is not None)
    for name, tensor in second.items():
        same = torch.allclose(tensor, first[name], atol=1e-9)
        assert same is not name.startswith("head."), name
    assert any(name.endswith("up") and tensor.any() for name, tensor in second.items())
