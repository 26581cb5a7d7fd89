"""With the network off every verb works on what `prepare` fetched before."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fake_hub import COMMIT, parquet, serving, use_hub
from glue_samples import rows

from repro.cli.main import GROUPS, VERBS
from repro.cli.store import COMMANDS
from repro.store import Store

PROJECT = Path(__file__).parents[2]
Call = Callable[..., Any]
GLUE = "/datasets/nyu-mll/glue/resolve/{}/rte/{}-00000-of-00001.parquet"
OURS = "Ours (3-shared)"
SET = ["--tasks", "rte", "--scale", "reduced", "--backbone", "tiny"]
SMALL = [*SET, "--train-rows", "24", "--evaluation-rows", "12", "--epochs", "1", "--seeds", "1"]
ROW = ["3-shared-2", *SMALL, "--row", OURS]
NOBODY = "http://127.0.0.1:9"
NO_SOCKETS = """\
import os, socket

def refuse(*asked, **_):
    if getattr(asked[0], "family", socket.AF_INET) in (socket.AF_INET, socket.AF_INET6):
        with open(os.environ["REPRO_ASKED"], "a") as file:
            file.write(f"{asked}\\n")
        raise OSError(101, os.strerror(101))

socket.socket.connect = socket.socket.connect_ex = refuse
socket.create_connection = socket.getaddrinfo = refuse
"""


@pytest.fixture(scope="module")
def world(run: Call, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder where `prepare` fetched what a row needs, into the hub's cache and to be carried,
    from a hub that is gone since; and where the row was trained without network.
    """
    world = tmp_path_factory.mktemp("world")
    (world / "sitecustomize.py").write_text(NO_SOCKETS)
    files = {
        GLUE.format(COMMIT, split): parquet(rows("rte", count))
        for split, count in {"train": 2_490, "validation": 277}.items()
    }
    with serving(files) as server:
        answer = run(
            "prepare", "3-shared-2", *SET, "--to", "carried", at=world, HF_ENDPOINT=server.address,
            HF_HUB_OFFLINE="0", HF_HOME=str(world / "home"), NO_PROXY="127.0.0.1",
        )  # fmt: skip
    assert answer.code == 0, answer.err
    path = os.pathsep.join([str(world), str(PROJECT)])
    answer = run(
        "run", *ROW, "--threads", "1", at=world, HF_HUB_OFFLINE="0", HF_HOME=str(world / "home"),
        PYTHONPATH=path, REPRO_ASKED=str(world / "asked"),
    )  # fmt: skip
    assert answer.code == 0, answer.err
    (world / "mine.csv").write_text("seed,RTE\n1,50.0\n2,60.0\n")
    return world


@pytest.fixture
def offline(
    world: Path, cli: Call, models: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Call]:
    """Calls the command line in that folder, and the processes that it starts, without sockets."""
    use_hub(monkeypatch, NOBODY, world / "home")
    monkeypatch.chdir(world)
    monkeypatch.setenv("REPRO_MODELS", str(models))
    monkeypatch.setenv("REPRO_ASKED", str(world / "asked"))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(world), str(PROJECT)]))
    for name in ("connect", "connect_ex"):
        monkeypatch.setattr(socket.socket, name, getattr(socket.socket, name))
    for name in ("create_connection", "getaddrinfo"):
        monkeypatch.setattr(socket, name, getattr(socket, name))
    exec(NO_SOCKETS, {})
    yield cli
    (world / "asked").unlink(missing_ok=True)


WORDS: dict[str, tuple[list[str], int]] = {
    "list": ([], 0),
    "show": (["3-shared-2"], 0),
    "plan": (ROW, 0),
    "prepare": (["3-shared-2", *SET], 0),
    "run": (ROW, 0),
    "table": (ROW, 0),
    "figure": (["architecture-resadapters"], 0),
    "sweep": (["3-shared-2", *SMALL, "--row", OURS, "--set", "method.size=8,16", "--no-run"], 3),
    "report": ([], 0),
    "claims": ([], 0),
    "audit": ([], 0),
    "add": (["3-shared-2", "--name", "Mine", "--scores", "mine.csv", "--scale", "reduced"], 0),
    "compare": ([OURS, "Ours (not shared)", "--table", "3-shared-2", *SMALL], 0),
    "export": (["glue", *ROW], 2),
    "import-scores": (["scores.csv", "--manifest", "none.json"], 2),
    "freeze": (["KEY", "--task", "rte"], 2),
    "status": ([], 0),
    "why": (["KEY"], 0),
    "curves": (["KEY"], 0),
    "doctor": (["3-shared-2", *SET], 0),
    "new": (["method", "my-scales"], 0),
    "rehearse": (["ResAdapters-1", "--scale", "smoke", "--row", "Adapter", "--threads", "1"], 0),
    "bench": (["--threads", "1"], 0),
    "worker": (["0123456789abcdef"], 1),
    "store ls": ([], 0),
    "store du": ([], 0),
    "store gc": ([], 0),
    "store rm": (["--request", "none"], 2),
    "store pack": (["all.jsonl.xz"], 0),
    "store merge": (["runs", "--store", "copy"], 0),
    "store verify": ([], 0),
}
"""Verb -> what follows it, and its exit code: 2 where the verb has nothing to do here."""
MEASURING = ("rehearse", "bench")
"""Verbs that take minutes."""


def test_no_verb_is_left_out() -> None:
    groups = [f"store {name}" for name in COMMANDS]
    assert list(GROUPS) == ["store"]
    assert {*WORDS} == {*VERBS, *groups}


@pytest.mark.usefixtures("unpainted")
@pytest.mark.parametrize(
    "verb",
    [pytest.param(verb, marks=[pytest.mark.slow] * (verb in MEASURING)) for verb in WORDS],
)
def test_a_verb_works_without_network(verb: str, offline: Call, world: Path) -> None:
    words, code = WORDS[verb]
    key = Store(world / "runs").keys()[0]
    answer = offline(*verb.split(), *(key if word == "KEY" else word for word in words))
    assert answer.code == code, answer.out + answer.err
    assert "Traceback" not in answer.err
    # Only `export` needs rows that no run reads and that `prepare` does not fetch: the test rows.
    assert (world / "asked").exists() == (verb == "export")


@pytest.mark.usefixtures("in_process")
def test_the_folder_that_is_carried_is_enough_to_train(
    world: Path, offline: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    use_hub(monkeypatch, NOBODY, tmp_path / "empty")
    for name in ("data", "models"):
        monkeypatch.setenv(f"REPRO_{name.upper()}", str(world / "carried" / name))
    answer = offline("run", *ROW, "--threads", "1")
    assert answer.code == 0, answer.err
    assert not (world / "asked").exists()
    key = Store(world / "runs").keys()[0]
    carried, fetched = (Store(place / "runs").read(key) for place in (tmp_path, world))
    assert carried is not None
    assert fetched is not None
    assert json.loads(carried.source.read("result.json")) == json.loads(
        fetched.source.read("result.json")
    )
