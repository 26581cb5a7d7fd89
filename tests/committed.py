"""The committed bundles of results, without what a developer trained into `runs/`."""

from __future__ import annotations

from pathlib import Path

from repro.store import Store
from repro.store.bundle import SUFFIX

RUNS = Path(__file__).parents[1] / "runs"
NAMES = ("smoke", "reference")


def committed(folder: Path, *names: str) -> Store:
    """A store in the empty `folder` that shows these bundles, or both."""
    for name in names or NAMES:
        (folder / f"{name}{SUFFIX}").symlink_to(RUNS / f"{name}{SUFFIX}")
    return Store(folder)
