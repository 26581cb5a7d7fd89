"""A worker as its executor sees it: a process that takes one job after the other."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from repro.engine.worker import GOES_ON, LOG, PACKAGE, code_digest
from repro.store.atomic import store_errors

Event = dict[str, Any]


class Worker:
    """The process is started for the first job, and anew after any end but a good one.

    A start costs seconds, of which a small job would be mostly made. As a context, it ends the
    process; one that has a job is killed, and its claims go with it.
    """

    def __init__(self, root: Path) -> None:
        """`root`: the store's folder."""
        self.root = root
        self.code = code_digest()
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Worker:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._process is not None and kind is not None:
            self._process.kill()
        self._end()

    def train(self, job: str, folder: Path, hear: Callable[[Event], None]) -> tuple[int, Event]:
        """Trains the job in work folder `folder`: its exit code, and its last word on a failure.

        `hear` gets every event. What else is printed goes to the job's log. Raises StoreError where
        that cannot be written.
        """
        failed: Event = {}
        with (folder / LOG).open("ab", buffering=0) as log:
            process = self._started(log)
            assert process.stdin is not None
            assert process.stdout is not None
            with contextlib.suppress(BrokenPipeError):  # it died since; its output ends at once
                process.stdin.write(f"{job}\n")
                process.stdin.flush()
            for line in process.stdout:
                event = _event(line)
                if event is None:  # some library's print
                    with store_errors(folder / LOG):
                        log.write(line.encode())
                elif event["event"] != "ended":
                    failed = event if event["event"] == "failed" else failed
                    hear(event)
                elif event["code"] in GOES_ON:
                    return event["code"], failed
        return self._end(), failed

    def _started(self, log: IO[bytes]) -> subprocess.Popen[str]:
        """The process; one that starts says in the job's log what goes wrong before the job."""
        if self._process is None:
            command = [sys.executable, "-P", str(PACKAGE / "engine" / "start.py")]
            self._process = subprocess.Popen(
                [*command, str(self.root)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=os.environ | {"REPRO_PARENT": str(os.getpid()), "REPRO_CODE": self.code},
                encoding="utf-8",
                errors="backslashreplace",  # a library may print any bytes
            )
        return self._process

    def _end(self) -> int:
        """Waits for the process, which has no job any more; its exit code."""
        process, self._process = self._process, None
        if process is None:
            return 0
        with contextlib.suppress(BrokenPipeError):
            process.communicate()  # closes its input
        return process.returncode


def _event(line: str) -> Event | None:
    """The event that a line of a worker's output tells, None for any other line."""
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) and "event" in found else None
