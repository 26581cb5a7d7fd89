"""Real clusters on this machine: Slurm with two nodes, Ray with two nodes."""

from __future__ import annotations

import json
import os
import platform
import pwd
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fake_worker
import pytest
from clusters import (
    CONFIGURATION,
    LARGEST_ARRAY,
    PROGRAMS,
    Scenario,
    Slurm,
    command,
    free_ports,
    wait_until,
)
from tiny_folder import write_tiny_bert

from repro.engine import dispatch, slurm
from repro.store import Store


@pytest.fixture(scope="session")
def slurm_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Slurm]:
    """A Slurm that commands here find by SLURM_CONF."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", "/usr/sbin", prepend=os.pathsep)
        absent = [name for name in PROGRAMS if shutil.which(name) is None]
        if absent:
            pytest.skip(f"{', '.join(absent)} not found: install slurm-wlm and munge")
        folder = tmp_path_factory.mktemp("slurm")
        for name in ("munge", "state", "n1", "n2"):
            (folder / name).mkdir(mode=0o700)
        (folder / "munge" / "key").write_bytes(os.urandom(1024))
        (folder / "munge" / "key").chmod(0o400)
        text = CONFIGURATION.format(
            folder=folder, host=platform.node(), user=pwd.getpwuid(os.getuid()).pw_name,
            ports=free_ports(3), largest_array=LARGEST_ARRAY,
        )  # fmt: skip
        (folder / "slurm.conf").write_text(text)
        patch.setenv("SLURM_CONF", str(folder / "slurm.conf"))
        cluster = Slurm(folder)
        cluster.start("munged")
        wait_until((folder / "munge" / "socket").exists)
        cluster.start("slurmctld", "n1", "n2")
        try:
            wait_until(lambda: command("sinfo", "--noheader", "-o", "%A").strip() == "0/2")
            yield cluster
        finally:
            cluster.stop()


@pytest.fixture(scope="session")
def ray_cluster() -> Iterator[Any]:
    """A Ray of a head that runs nothing and two nodes of one CPU each."""
    pytest.importorskip("ray", reason="ray is not installed: pip install 'repro[ray]'")
    from ray.cluster_utils import Cluster

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        cluster = Cluster()
        try:
            try:
                for cpus in (0, 1, 1):
                    cluster.add_node(num_cpus=cpus)
            except Exception as error:
                if "timed out during startup" not in str(error):
                    raise
                pytest.skip("this machine is too busy: no node of Ray starts within half a minute")
            yield cluster
        finally:
            cluster.shutdown()


@pytest.fixture
def look_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Executors look at once, and jobs are tried again at once."""
    monkeypatch.setattr(slurm, "PAUSES", (0.2, 0.5))
    monkeypatch.setattr(dispatch, "BACKOFF", (0.0,) * len(dispatch.BACKOFF))


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


@pytest.fixture
def scenario(store: Store, monkeypatch: pytest.MonkeyPatch) -> Scenario:
    """Has workers be stand-ins and says how they end from now on; see `fake_worker.py`."""
    folder = store.root.parent
    monkeypatch.setattr(sys, "executable", str(fake_worker.starter(folder)))

    def say(**rules: Any) -> None:
        (folder / "scenario.json").write_text(json.dumps(rules))

    return say


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_bert(tmp_path_factory.mktemp("models") / "tiny")
