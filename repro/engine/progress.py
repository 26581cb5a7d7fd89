"""What a worker leaves in its work folder for processes that did not start it.

`progress.json` says how far it is, `failure.json` why it ended. Both go with the folder.
"""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from statistics import fmean
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from repro.engine.jobs import Job
from repro.store.atomic import store_errors
from repro.store.entry import read_document
from repro.store.result import FailureKind
from repro.store.temporary import host, unfinished_name

Event = dict[str, Any]
PROGRESS, FAILURE = "progress.json", "failure.json"
SECONDS = 2.0
"""Between two writes of the progress, at least."""
STATES = {"loading": "loading", "encoding": "encoding", "step": "training", "evaluation": "scoring"}
"""Event of a worker -> what it is at."""


class Progress(BaseModel):
    """How far a job is."""

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)

    state: Literal["loading", "encoding", "training", "scoring"]
    epoch: int = 0
    step: int = 0
    steps: int = 0
    loss: float | None = None
    """Mean over the members at the last step."""
    seconds_left: float | None = None
    """Of training, at the pace of this process."""
    process: int
    host: str
    time: float
    """When this was written, in seconds since 1970."""


class JobFailure(BaseModel):
    """Why a job ended badly; see `repro.store.result.Failure` for what is stored of it."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    kind: FailureKind | Literal["store", "code"]
    """"store" (it cannot be written) and "code" (the program was changed) are no failure of the
    runs.
    """
    message: str
    passing: bool = False
    """Whether the same job may well succeed next: a hub that is down, a GPU that lost its state."""
    trace: str = ""
    """Where an error arose that nobody foresaw: the frames' files and functions, the exception."""


class Telling:
    """Passes a job's events on and keeps its `progress.json`."""

    def __init__(self, folder: Path, report: Callable[[Event], None]) -> None:
        self._path, self._report = folder / PROGRESS, report
        self._written = -SECONDS
        self._began: tuple[float, int] | None = None
        self._known: Event = {"process": os.getpid(), "host": host()}

    def __call__(self, event: Event) -> None:
        """Reports one event. Raises StoreError where the progress cannot be written."""
        self._report(event)
        state = STATES.get(event["event"])
        if state is None:
            return
        self._known["state"] = state
        if state == "training":
            self._note_step(event)
        if time.monotonic() - self._written >= SECONDS:
            self._write()

    def _note_step(self, event: Event) -> None:
        now, losses = time.monotonic(), list(filter(math.isfinite, event["losses"].values()))
        self._began = self._began or (now, event["step"])
        since, first = self._began
        pace = (now - since) / (event["step"] - first) if event["step"] > first else None
        self._known |= {name: event[name] for name in ("epoch", "step", "steps")} | {
            "loss": fmean(losses) if losses else None,
            "seconds_left": None if pace is None else pace * (event["steps"] - event["step"]),
        }

    def _write(self) -> None:
        """Replaces the file. It is not synced: after a power cut nobody needs it."""
        self._written = time.monotonic()
        temporary = self._path.with_name(unfinished_name(".tmp"))
        with store_errors(self._path):
            temporary.write_text(json.dumps(self._known | {"time": time.time()}), encoding="utf-8")
            os.replace(temporary, self._path)


def read_progress(folder: Path) -> Progress | None:
    """How far the job in a work folder is; None where no worker is at it, or none has said."""
    return read_document(folder / PROGRESS, Progress)


def read_failure(folder: Path) -> JobFailure | None:
    """Why the last worker of a work folder ended; None where it did not say."""
    return read_document(folder / FAILURE, JobFailure)


def hear_progress(root: Path, jobs: Iterable[Job], hear: Callable[[Job, Event], None]) -> None:
    """Tells of each job of the store `root` that trains now the step that its worker told last."""
    for job in jobs:
        found = read_progress(root / "work" / job.id)
        if found is not None and found.state == "training":
            losses = {} if found.loss is None else {"": found.loss}
            steps = {"epoch": found.epoch, "step": found.step, "steps": found.steps}
            hear(job, {"event": "step", "losses": losses, **steps})
