"""The command line, called in this process or in one of its own, and a store that it trained."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from in_process import InProcess
from tiny_folder import write_tiny_bert

from repro.cli.main import main
from repro.store import Store

PROJECT = Path(__file__).parents[2]
SMALL = [
    "--scale", "smoke", "--train-rows", "24", "--evaluation-rows", "12", "--epochs", "2",
    "--backbone", "tiny", "--threads", "1",
]  # fmt: skip
BATCH = """\
import contextlib, io, json, sys
from repro.cli.main import main

for words in json.loads(sys.stdin.read()):
    sys.argv, out, err, code = ["repro", *words], io.StringIO(), io.StringIO(), 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main()
        except SystemExit as ended:
            code = ended.code or 0
    print(json.dumps([code, out.getvalue(), err.getvalue()]))
"""
FORBID = """\
import sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("torch", "transformers", "datasets", "evaluate"):
            raise AssertionError(f"{name} was imported")

sys.meta_path.insert(0, Refuse())
"""


@dataclass(frozen=True)
class Answer:
    """What a command left: exit code, standard output, standard error."""

    code: int
    out: str
    err: str


@pytest.fixture(autouse=True)
def _no_sync(monkeypatch: pytest.MonkeyPatch) -> None:
    """Syncing matters when the power fails; here it would only cost time.

    The processes that tests start do sync.
    """
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


@pytest.fixture
def cli(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Answer]:
    """Calls the command line in this process, in an empty folder, without data or a GPU."""
    monkeypatch.chdir(tmp_path)
    for name in ("REPRO_STORE", "REPRO_DATA", "REPRO_MODELS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("repro.engine.devices.has_gpu", lambda: False)

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


@pytest.fixture
def unpainted(monkeypatch: pytest.MonkeyPatch) -> None:
    """The files of a picture hold nothing: writing three formats takes a second."""
    written = dict.fromkeys(("png", "svg", "pdf"), b"")
    monkeypatch.setattr("repro.report.figures.style.rendered", lambda drawing: written)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """The store that `cli` uses by default."""
    return Store(tmp_path / "runs")


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for REPRO_MODELS, with the model `tiny`."""
    folder = tmp_path_factory.mktemp("models")
    write_tiny_bert(folder / "tiny")
    return folder


def hear_ctrl_c() -> None:
    """In the child: a shell starts what runs in the background with this signal ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.fixture(scope="session")
def start(
    models: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts `python -m repro ...` in folder `at`, offline; `torch=False` forbids to import it."""
    empty, forbidding = tmp_path_factory.mktemp("empty"), tmp_path_factory.mktemp("no-torch")
    (forbidding / "sitecustomize.py").write_text(FORBID)
    started: list[subprocess.Popen[str]] = []

    def starter(
        *words: object,
        at: Path,
        torch: bool = True,
        program: tuple[str, ...] = ("-m", "repro"),
        **environment: str,
    ) -> subprocess.Popen[str]:
        path = [str(PROJECT)] if torch else [str(forbidding), str(PROJECT)]
        kept = {n: v for n, v in os.environ.items() if not n.startswith(("REPRO_", "HF_"))}
        own = {
            "PYTHONPATH": os.pathsep.join(path),
            "REPRO_MODELS": str(models),
            "HF_HUB_OFFLINE": "1",
            "HF_HOME": str(empty),
        }
        process = subprocess.Popen(
            [sys.executable, *program, *map(str, words)],
            cwd=at,
            env=kept | own | environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            preexec_fn=hear_ctrl_c,  # noqa: PLW1509 - no other thread runs here
        )
        started.append(process)
        return process

    yield starter
    for process in started:
        process.kill()
        process.communicate()


@pytest.fixture(scope="session")
def run(start: Callable[..., subprocess.Popen[str]]) -> Callable[..., Answer]:
    """Runs `python -m repro ...` to its end; see `start`."""

    def runner(*words: object, at: Path, torch: bool = True, **environment: str) -> Answer:
        process = start(*words, at=at, torch=torch, **environment)
        out, err = process.communicate()
        return Answer(process.returncode, out, err)

    return runner


@pytest.fixture(scope="session")
def without_torch(start: Callable[..., subprocess.Popen[str]]) -> Callable[..., list[Answer]]:
    """Gives commands one after the other in one process that cannot import torch or `datasets`."""

    def runner(*commands: Sequence[object], at: Path, **environment: str) -> list[Answer]:
        asked = json.dumps([[str(word) for word in words] for words in commands])
        process = start(at=at, program=("-c", BATCH), torch=False, **environment)
        out, err = process.communicate(asked)
        assert process.returncode == 0, err
        return [Answer(*json.loads(line)) for line in out.splitlines()]

    return runner


@pytest.fixture
def in_process(
    cli: Callable[..., Answer], models: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Answer]:
    """`cli`, which trains in this process and finds the model `tiny`."""
    monkeypatch.setenv("REPRO_MODELS", str(models))
    monkeypatch.setattr("repro.engine.local.LocalExecutor", InProcess)
    monkeypatch.setattr("repro.engine.rehearsal.LocalExecutor", InProcess)
    return cli


@dataclass(frozen=True)
class Trained:
    """A folder in which both tables were asked for, and the answers then."""

    folder: Path
    one: Answer
    two: Answer

    @property
    def store(self) -> Store:
        return Store(self.folder / "runs")


@pytest.fixture(scope="session")
def trained(run: Callable[..., Answer], tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """Trains both tables once. Tests that change it work on a copy."""
    folder = tmp_path_factory.mktemp("trained")
    one = run("table", "ResAdapters-1", *SMALL, at=folder)
    two = run("table", "ResAdapters-2", *SMALL, at=folder)
    return Trained(folder, one, two)
