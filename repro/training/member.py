"""One run of a group as it stands, with its files, and how the group is executed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from repro.spec import RunSpec
from repro.spec.contents import file_digest
from repro.training.checkpoint import Damaged, HistoryFile, read_artefact


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
    """One run of the group as it stands. `built` is `spec` with what its parents found.

    Its files lie beside its history, in the group's work folder, until the result is stored.
    """

    spec: RunSpec
    built: RunSpec
    key: str
    history: HistoryFile
    scores: list[dict[str, Any]] = field(default_factory=list)
    diverged_at: int | None = None
    kept: int | None = None
    """The epoch whose weights are kept, where that is not simply the last."""
    best: float | None = None

    @property
    def predictions(self) -> Path:
        """Where its final predictions are."""
        return self.history.path.with_name(f"predictions-{self.key}.json")

    @property
    def artefact(self) -> Path:
        """Where its trained tensors are."""
        epoch = f"-{self.kept}" if self.kept is not None else ""
        return self.history.path.with_name(f"adapter-{self.key}{epoch}.safetensors")

    def progress(self, *, finished: bool) -> dict[str, Any]:
        """What a checkpoint holds of it; `finished`: the last epoch was scored."""
        return {
            "key": self.key,
            "history": self.history.flush(),
            "diverged_at": self.diverged_at,
            "scores": self.scores,
            "kept": self.kept,
            "best": self.best,
            "predictions": self._digest_of_predictions(finished),
        }

    def resume(self, stored: dict[str, Any], *, finished: bool) -> None:
        """Continues from what `progress` gave.

        Raises Damaged where files that the checkpoint counts on lie beside it no longer.
        """
        self.history.cut(*stored["history"])
        self.diverged_at, self.scores = stored["diverged_at"], stored["scores"]
        self.kept, self.best = stored["kept"], stored["best"]
        if self.diverged_at is None and (finished or self.kept is not None):
            read_artefact(self.artefact)
        if self._digest_of_predictions(finished) != stored["predictions"]:
            raise Damaged(f"{self.predictions} does not hold what its checkpoint says.")

    def forget_outdone(self) -> None:
        """Removes kept weights that a later epoch outdid, once a checkpoint knows it."""
        if self.kept is not None:
            for path in self.artefact.parent.glob(f"adapter-{self.key}-*.safetensors"):
                if path != self.artefact:
                    path.unlink()

    def _digest_of_predictions(self, finished: bool) -> str | None:
        """None until the last epoch was scored; of a run that diverged, too."""
        if not finished or self.diverged_at is not None or not self.predictions.exists():
            return None
        return file_digest(self.predictions)
