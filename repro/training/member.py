"""One run of a group as it stands, and how the group is executed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

from repro.spec import RunSpec
from repro.training.checkpoint import HistoryFile


@dataclass(frozen=True, slots=True)
class Settings:
    """How a group is executed; nothing here changes what a run is."""

    device: torch.device
    checkpoint_seconds: float = 60.0
    checkpoint_steps: int | None = None
    micro_batch: int | None = None
    stopping: Callable[[], bool] = lambda: False
    """Whether training is to end at the next step, with a checkpoint."""
    compiled: bool = False
    """Steps of methods that allow it are compiled graphs; see `repro.training.graphs`."""
    keeps_states: bool = True
    """Whether the frozen states of a small set are kept over the epochs."""


class Stopped(Exception):
    """Training ended because it was asked to; it continues from the checkpoint."""


@dataclass(slots=True)
class Member:
    """One run of the group as it stands. `built` is `spec` with what its parents found."""

    spec: RunSpec
    built: RunSpec
    key: str
    history: HistoryFile
    scores: list[dict[str, Any]] = field(default_factory=list)
    diverged_at: int | None = None
    kept: int | None = None
    """The epoch whose weights are kept, where that is not simply the last."""
    best: float | None = None
