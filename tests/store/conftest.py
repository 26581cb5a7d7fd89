"""Processes and disks for the store's tests."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from store_samples import Child

PROJECT = Path(__file__).parents[2]
CHILD = PROJECT / "tests" / "store_child.py"


@pytest.fixture(autouse=True)
def _no_sync(monkeypatch: pytest.MonkeyPatch) -> None:
    """Syncing matters when the power fails, which no test can do; it costs them half their time.

    The processes that tests start do sync.
    """
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


@pytest.fixture
def start() -> Iterator[Callable[..., Child]]:
    """Starts `store_child.py` with some arguments; ended after the test."""
    children: list[Child] = []

    def starter(*arguments: object, environment: Mapping[str, str] | None = None) -> Child:
        child = subprocess.Popen(
            [sys.executable, CHILD, *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(PROJECT), **(environment or {})},
        )
        children.append(child)
        return child

    yield starter
    for child in children:
        child.kill()
        child.communicate()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A real file system of 512 KiB, where this user may mount one."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=512k", "store-test", str(disk)]
    try:
        subprocess.run(mount, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this user may not mount a tmpfs, so no disk can really be full")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)
