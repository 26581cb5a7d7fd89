"""A store for the engine's tests, and workers whose ends a test chooses."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fake_worker
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


@pytest.fixture
def scenario(store: Store, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Says how jobs end from now on; see `fake_worker.py`."""
    folder = store.root.parent
    monkeypatch.setattr(sys, "executable", str(fake_worker.starter(folder)))

    def say(**rules: Any) -> None:
        (folder / "scenario.json").write_text(json.dumps(rules))

    return say
