"""Learned embeddings of tasks on their way from a group's learner into `result.json`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from group_samples import spec_of, trained
from run_samples import cells

from repro.engine.jobs import Execution
from repro.engine.results import keep_group
from repro.spec import RunSpec, run_key
from repro.store import Store
from repro.training.checkpoint import read_artefact
from repro.training.group import Group


@pytest.fixture
def spec() -> RunSpec:
    return spec_of(cells("plain", "relu"), recipe__epochs=2, recipe__keep="first-best")


def stored(spec: RunSpec, group: Group, tmp_path: Path) -> bytes:
    store = Store(tmp_path / "store")
    keep_group(store, group, {}, Execution(), lambda event: None)
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
    kept: Any = read_artefact(group.artefact(group.members[0]))[name].flatten()
    result = stored(spec, group, tmp_path)
    found = Store(tmp_path / "store").read(run_key(spec))
    assert found is not None
    assert found.result.embeddings == {"rte": kept[:3].tolist(), "cola": kept[3:6].tolist()}
    assert b'"embeddings": {"cola":[' in result


def test_a_method_without_embeddings_leaves_no_field(spec: RunSpec, tmp_path: Path) -> None:
    assert b"embeddings" not in stored(spec, trained([spec], tmp_path / "work"), tmp_path)
