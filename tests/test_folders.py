"""A `~` that no shell has read is the home folder, in every variable and option of a folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from repro.backbones.describe import find_folder, locate
from repro.cli.options import open_store
from repro.spec.backbones import BERT_BASE, KNOWN
from repro.spec.facts import KNOWN as SETS
from repro.tasks.rows import here


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "home"


def test_the_store_may_lie_below_the_home_folder(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REPRO_STORE", "~/kept")
    assert open_store(None).root == home / "kept"
    assert open_store(Path("~/mine")).root == home / "mine"


def test_models_may_lie_below_the_home_folder(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "models" / "tiny").mkdir(parents=True)
    monkeypatch.setenv("REPRO_MODELS", "~/models")
    assert find_folder("tiny") == find_folder("~/models/tiny") == home / "models" / "tiny"
    mirror = home / "models" / BERT_BASE
    mirror.mkdir(parents=True)
    assert locate(KNOWN[BERT_BASE], {}) == str(mirror)


def test_data_may_lie_below_the_home_folder(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = home / "data" / "glue_rte" / "train.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text("")
    monkeypatch.setenv("REPRO_DATA", "~/data")
    assert here(SETS["rte"], ["train"]) == {"train": path}
