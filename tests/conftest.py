"""Makes the helper modules beside this file importable; tests are quick and equal on every run."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

# Before torch is imported: tests' tensors are too small to share among threads.
os.environ.setdefault("OMP_NUM_THREADS", "1")

settings.register_profile("repro", derandomize=True, deadline=None)
settings.load_profile("repro")


@pytest.fixture
def strange_name() -> Iterator[None]:
    """This process is called by bytes that are no UTF-8, and by a parenthesis."""
    comm = Path("/proc/self/comm")
    if not comm.exists():
        pytest.skip("this system has no /proc/self/comm")
    before = comm.read_bytes()
    comm.write_bytes(b"\xff) \xfe")
    yield
    comm.write_bytes(before.strip())
