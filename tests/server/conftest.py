"""A store of tiny GLUE runs with weights that no training made, and the command line over it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from glue_samples import glue_folder
from server_samples import Answer, Tiny, keep, offline
from tiny_folder import write_tiny_bert

from repro.cli.main import main
from repro.cli.requests import make_request
from repro.papers.registry import TABLES
from repro.store import Store


@pytest.fixture(autouse=True)
def _no_sync(monkeypatch: pytest.MonkeyPatch) -> None:
    """Syncing matters when the power fails; here it would only cost time."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "runs")


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Tiny:
    """All eight runs of a row on a tiny BERT, and a full fine-tuning without its weights."""
    folder = tmp_path_factory.mktemp("submission")
    write_tiny_bert(folder / "models" / "tiny", hidden=16)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        patch.setenv("REPRO_MODELS", str(folder / "models"))
        request = make_request(TABLES["3-shared-2"], "smoke", backbone="tiny")
        made = Tiny(folder, request)
        for task in made.request.data_revisions:
            keep(made.store, made.spec(task))
        keep(made.store, made.spec("rte", "Full fine-tuning"))
    return made


@pytest.fixture
def cli(
    tiny: Tiny, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Callable[..., Answer]:
    """Calls the command line in this process, in an empty folder, without data or network."""
    monkeypatch.chdir(tmp_path)
    for name in ("REPRO_STORE", "REPRO_DATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("REPRO_MODELS", str(tiny.folder / "models"))
    monkeypatch.setattr("repro.engine.devices.has_gpu", lambda: False)
    monkeypatch.setattr("repro.tasks.hub.fetch", offline)

    def call(*words: object) -> Answer:
        monkeypatch.setattr(sys, "argv", ["repro", *map(str, words)])
        capsys.readouterr()
        try:
            main()
            code = 0
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else int(bool(ended.code))
        said = capsys.readouterr()
        return Answer(code, said.out, said.err)

    return call


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of real data sets; skips where a test set is not there."""
    for name in ("cola", "sst2", "mrpc", "stsb", "qnli", "rte", "wnli", "ax"):
        folder = glue_folder(name).resolve()  # tests of the command line change the folder
        if not (folder / f"glue_{name}" / "test.jsonl.gz").is_file():
            pytest.skip(f"needs the test set of {name}")
    return folder
