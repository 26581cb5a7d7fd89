"""A run that another is made from is needed with its weights."""

from __future__ import annotations

from pathlib import Path

from store_samples import files_of, result_of

from repro.cli.requests import make_request
from repro.engine.jobs import is_stored, make_job
from repro.engine.plan import make_plan
from repro.papers.registry import find_artefact
from repro.spec import RunSpec, run_key
from repro.store import Store, render

REQUEST = make_request(find_artefact("ablation-heatmap"), "smoke")


def states(store: Store) -> list[str]:
    """Of the trained run and of its child."""
    return [run.state for run in make_plan([REQUEST], store).runs]


def both_stored(store: Store) -> tuple[RunSpec, RunSpec]:
    """The trained run and its child, with results in `store`."""
    parent, child = [*find_artefact("ablation-heatmap").matrix(REQUEST).runs.values()]
    store.write(run_key(parent), parent, files_of(run_key(parent)))
    found = store.read(run_key(parent))
    assert found is not None
    result = result_of(run_key(child)).model_copy(update={"parents": {"trained": found.digest}})
    store.write(run_key(child), child, {"result.json": render(result)})
    return parent, child


def test_a_parent_of_which_only_scores_are_stored_is_trained_for_a_missing_child(
    tmp_path: Path,
) -> None:
    parent, _ = [*find_artefact("ablation-heatmap").matrix(REQUEST).runs.values()]
    whole = Store(tmp_path / "whole")
    whole.write(run_key(parent), parent, files_of(run_key(parent)))
    assert states(whole) == ["done", "missing"]
    whole.pack([run_key(parent)], tmp_path / "new" / "one.jsonl.xz", {})
    copied = Store(tmp_path / "new")
    assert copied.state(run_key(parent)) == "done"
    assert states(copied) == ["missing", "missing"]
    assert not is_stored(copied, make_job([parent]))


def test_scores_alone_will_do_once_the_child_is_stored(tmp_path: Path) -> None:
    whole = Store(tmp_path / "whole")
    child = both_stored(whole)[1]
    whole.pack([run_key(child)], tmp_path / "new" / "one.jsonl.xz", {})
    assert states(Store(tmp_path / "new")) == ["done", "done"]


def test_a_child_behind_is_not_read_once_its_parent_was_trained_anew(tmp_path: Path) -> None:
    whole = Store(tmp_path / "whole")
    parent, child = both_stored(whole)
    whole.pack([run_key(child)], tmp_path / "new" / "one.jsonl.xz", {})
    store = Store(tmp_path / "new")
    assert states(store) == ["done", "done"]
    store.write(run_key(parent), parent, files_of(run_key(parent), value=60.0))
    assert states(store) == ["done", "missing"]


def test_weights_that_were_damaged_are_trained_again(tmp_path: Path) -> None:
    parent, _ = [*find_artefact("ablation-heatmap").matrix(REQUEST).runs.values()]
    store = Store(tmp_path, warn=lambda line: None)
    folder = store.write(run_key(parent), parent, files_of(run_key(parent)))
    weights = folder / "adapter.safetensors"
    weights.chmod(0o644)
    weights.write_bytes(weights.read_bytes()[::-1])
    assert store.state(run_key(parent)) == "done"  # sizes are right
    assert states(store) == ["missing", "missing"]
    assert any((tmp_path / "quarantine").iterdir())
