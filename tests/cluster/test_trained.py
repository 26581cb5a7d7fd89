"""Runs trained by real workers of Slurm and Ray: the bytes that this machine's workers store."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from clusters import wait_until

from repro.store import Store

PROJECT = Path(__file__).parents[2]
DRIVER = PROJECT / "tests" / "drive_jobs.py"
OWN = ("environment.json", "MANIFEST.json")
"""Files of a run that hold times and machines."""
SECTION = ("AA-2", "--scale", "smoke", "--section", "Low-data-100", "--threads", "1")


def drive(root: Path, model: Path, which: str, executor: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, DRIVER, root, model, which, executor],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(PROJECT)},
    )


def finish(root: Path, model: Path, which: str, executor: str) -> dict[str, Any]:
    """A driver's last word."""
    output, _ = drive(root, model, which, executor).communicate()
    last: dict[str, Any] = json.loads(output.splitlines()[-1])
    return last


def contents(root: Path) -> dict[str, bytes]:
    """The files of all runs in a store, but for those that no two trainings have in common."""
    keys = Store(root).keys()
    assert keys
    files = [path for key in keys for path in (root / key[:2] / key).iterdir()]
    return {str(p.relative_to(root)): p.read_bytes() for p in files if p.name not in OWN}


@pytest.fixture
def ray_address(ray_cluster: Any, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("RAY_ADDRESS", ray_cluster.address)
    return str(ray_cluster.address)


@pytest.fixture(params=["slurm", "ray"])
def executor(request: pytest.FixtureRequest) -> str:
    request.getfixturevalue({"slurm": "slurm_cluster", "ray": "ray_address"}[request.param])
    return str(request.param)


def test_parent_and_child_are_stored_as_this_machine_stores_them(
    tmp_path: Path, model: Path, family: dict[str, bytes], executor: str
) -> None:
    assert finish(tmp_path / "store", model, "family", executor)["kinds"] == [None, None]
    assert contents(tmp_path / "store") == family


@pytest.fixture(scope="module")
def family(model: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """What a worker of this machine stores."""
    root = tmp_path_factory.mktemp("local") / "store"
    assert finish(root, model, "family", "local")["kinds"] == [None, None]
    return contents(root)


@pytest.mark.slow
def test_killed_driver_and_killed_worker_leave_the_bytes_of_an_unbroken_run(
    tmp_path: Path, model: Path, executor: str
) -> None:
    which = "long"  # else it may have ended before it is killed
    assert finish(tmp_path / "unbroken", model, which, "local")["kinds"] == [None]
    root = tmp_path / "store"
    driver = drive(root, model, which, executor)
    worker = next(at_step(root, 2))
    driver.kill()
    driver.communicate()
    if executor == "ray":
        wait_until(lambda: not Path(f"/proc/{worker}").exists())
        again = drive(root, model, which, executor)
        worker = next(at_step(root, 3))
    else:
        again = drive(root, model, which, executor)
    os.kill(worker, signal.SIGKILL)
    output, _ = again.communicate()
    assert json.loads(output.splitlines()[-1])["kinds"] == [None]
    assert contents(root) == contents(tmp_path / "unbroken")


@pytest.mark.slow
def test_two_commands_at_once_on_one_store_leave_the_bytes_of_one(
    tmp_path: Path, model: Path, executor: str
) -> None:
    """Twelve jobs, of which each command starts those that the other has not claimed."""
    assert set(finish(tmp_path / "unbroken", model, "many", "local")["kinds"]) == {None}
    root = tmp_path / "store"
    drivers = [drive(root, model, "many", executor) for _ in range(2)]
    ends = [json.loads(driver.communicate()[0].splitlines()[-1]) for driver in drivers]
    assert {kind for end in ends for kind in end["kinds"]} <= {None, "running"}
    assert contents(root) == contents(tmp_path / "unbroken")
    assert not list((root / "quarantine").glob("*"))


def at_step(root: Path, step: int) -> Iterator[int]:
    """The process id of the worker, once it has trained so many steps."""
    found: list[int] = []

    def is_there() -> bool:
        for path in (root / "work").glob("*/progress.json"):
            told = json.loads(path.read_text())
            if told["state"] == "training" and told["step"] >= step:
                found.append(told["process"])
        return any(Path(f"/proc/{pid}").exists() for pid in found)

    wait_until(is_there, 240)
    yield found[-1]


@pytest.fixture(scope="module")
def section(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """AA-2's section of 100 rows as this machine's workers store it."""
    return table(tmp_path_factory.mktemp("section") / "store")


def table(root: Path, *options: str) -> dict[str, bytes]:
    words = [sys.executable, "-m", "repro", "table", *SECTION, "--store", str(root), *options]
    subprocess.run(
        words,
        check=True,
        capture_output=True,
        cwd=root.parent,
        env={**os.environ, "PYTHONPATH": str(PROJECT)},
    )
    return contents(root)


@pytest.mark.slow
def test_a_section_of_a_table_is_stored_as_this_machine_stores_it(
    tmp_path: Path, section: dict[str, bytes], executor: str
) -> None:
    profile = tmp_path / "site.toml"
    profile.write_text(f'[ray]\naddress = "{os.environ.get("RAY_ADDRESS", "")}"\n')
    found = table(tmp_path / "store", "--executor", executor, "--profile", str(profile))
    assert found == section
