"""Sites of stores that no training made, and of the committed one."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import fake_glue
import pytest
from committed import committed

from repro.report.figures.view import FigureView
from repro.report.files import save_request, saved_requests, table_name
from repro.report.reproduce import view_of
from repro.report.summary import summarise
from repro.site.folder import write_site
from repro.site.pages import site_files
from repro.store import Store

PICTURE = b'<svg xmlns="http://www.w3.org/2000/svg" width="400" height="300"/>'
Build = Callable[[Store], dict[str, bytes]]


@pytest.fixture(autouse=True)
def _no_sync(monkeypatch: pytest.MonkeyPatch) -> None:
    """Syncing matters when the power fails; here it would only cost time."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


@pytest.fixture(scope="session")
def build(tmp_path_factory: pytest.TempPathFactory) -> Build:
    """The site of everything that was asked for in a store; its pictures are empty."""

    def builder(store: Store) -> dict[str, bytes]:
        pictures = tmp_path_factory.mktemp("pictures")
        views = [view_of(request, store) for request in saved_requests(store)]
        for view in views:
            if isinstance(view, FigureView):
                (pictures / f"{table_name(view.request)}.svg").write_bytes(PICTURE)
        return site_files(summarise(views, store), store, pictures)

    return builder


@pytest.fixture(scope="session")
def reference(build: Build, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The site of the committed store of real runs, and of a made-up table of three seeds."""
    store = committed(tmp_path_factory.mktemp("more"), "reference")
    asked = fake_glue.request(scale="reduced", seeds=3, tasks=("cola", "sst2"))
    fake_glue.store_table(store, asked)
    save_request(store, asked)
    return build(store)


@pytest.fixture(scope="session")
def site(reference: dict[str, bytes], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same in a folder."""
    folder = tmp_path_factory.mktemp("site") / "site"
    write_site(folder, reference)
    return folder
