"""An executor that trains in this process: real jobs, without the seconds that a worker's start
costs. What only a process of its own shows is tested with `LocalExecutor`.
"""

from __future__ import annotations

import sys
from contextlib import redirect_stderr
from types import TracebackType
from typing import Any, Self
from unittest.mock import patch

from repro.engine.dispatch import Ended, Listener
from repro.engine.jobs import Job
from repro.engine.loaded import Loaded
from repro.engine.worker import LOG, Stopping, serve_one
from repro.store import Store


class InProcess:
    """Takes one job at a time; called as `LocalExecutor` is, whatever workers that is given."""

    slots = 1
    at_ctrl_c = ""

    def __init__(self, *_: Any) -> None:
        self._given: tuple[Job, Store] | None = None
        self._loaded: Loaded | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...

    def follows(self, job: Job) -> bool:
        return False

    def start(self, job: Job, store: Store) -> None:
        self._given = job, store

    def wait(self, hear: Listener, seconds: float | None) -> list[Ended]:
        """Trains the job that was started; what a worker logs goes to its log."""
        assert self._given is not None
        job, store = self._given
        self._loaded = self._loaded or Loaded(store.cache)
        said = sys.stderr

        def tell(event: dict[str, Any]) -> None:
            with redirect_stderr(said):
                hear(job, event)

        with (
            patch("repro.engine.worker.report", tell),
            patch("repro.engine.worker.send_errors_to"),
            (store.work_dir(job.id) / LOG).open("a") as log,
            redirect_stderr(log),
        ):
            return [Ended(job, serve_one(store, job.id, self._loaded, Stopping()))]

    def stop(self) -> None: ...
