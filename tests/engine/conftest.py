"""A store for the engine's tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from repro.engine import dispatch
from repro.store import Store


@pytest.fixture(autouse=True)
def _no_sync(monkeypatch: pytest.MonkeyPatch) -> None:
    """Syncing matters when the power fails; here it would only cost time.

    The processes that tests start do sync.
    """
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


@pytest.fixture(autouse=True)
def _no_backoff(monkeypatch: pytest.MonkeyPatch) -> None:
    """A job is tried again at once."""
    monkeypatch.setattr(dispatch, "BACKOFF", (0.0,) * len(dispatch.BACKOFF))


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")
