"""A run made from a parent holds while the parent's result is the one that it used."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from store_samples import files_of, spec_of, write_child, write_run

from repro.errors import StoreError
from repro.store import Store, shelf


def test_a_child_is_missing_once_its_parent_has_another_result(tmp_path: Path) -> None:
    said: list[str] = []
    store = Store(tmp_path, warn=said.append)
    parent = write_run(store, seed=0)
    child = write_child(store, parent)
    assert store.state(child) == "done"
    shutil.rmtree(store.root / parent[:2] / parent)
    assert store.state(child) == "done"  # nothing contradicts it
    store.write(parent, spec_of(0), files_of(parent, value=60.0))
    assert store.state(child) == "missing"
    assert "another result" in " ".join(said)
    again = write_child(store, parent)
    assert again == child
    assert store.state(child) == "done"
    assert len(list((tmp_path / "quarantine").glob(f"{child[:12]}*"))) == 1


def test_an_equal_result_of_the_parent_changes_nothing(tmp_path: Path) -> None:
    store = Store(tmp_path)
    parent = write_run(store, seed=0, environment="one")
    child = write_child(store, parent)
    shutil.rmtree(store.root / parent[:2] / parent)
    write_run(store, seed=0, environment="another machine")
    assert store.state(child) == "done"


def test_a_child_that_cannot_be_moved_away_counts_as_missing_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    store = Store(tmp_path, warn=said.append)
    parent = write_run(store, seed=0)
    child = write_child(store, parent)
    shutil.rmtree(store.root / parent[:2] / parent)
    store.write(parent, spec_of(0), files_of(parent, value=60.0))

    def refusing(*_: object) -> Path:
        raise StoreError("the file system is read-only")

    monkeypatch.setattr(shelf, "move_aside", refusing)
    assert store.read(child) is None
    assert "read-only" in " ".join(said)
