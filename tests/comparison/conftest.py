"""A store whose runs no training made."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from repro.store import Store


@pytest.fixture(autouse=True)
def _no_sync(monkeypatch: pytest.MonkeyPatch) -> None:
    """Syncing matters when the power fails; here it would only cost time."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")
