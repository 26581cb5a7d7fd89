"""Kills a process at any one of its calls that change the disk."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from store_child import STEPS

from repro.store import Store


@contextmanager
def interrupted(step: int, action: Callable[[], object]) -> Iterator[list[str]]:
    """Does `action` before the step-th call (from 0) that changes the disk; yields their names."""
    whole = {name: getattr(os, name) for name in STEPS}
    seen: list[str] = []

    def watched(name: str) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            seen.append(name)
            if len(seen) == step + 1:
                action()
            return whole[name](*args, **options)

        return call

    for name in STEPS:
        setattr(os, name, watched(name))
    try:
        yield seen
    finally:
        for name, call in whole.items():
            setattr(os, name, call)


def steps_of(work: Callable[[Store], object], root: Path) -> list[str]:
    with interrupted(-1, lambda: None) as seen:
        work(Store(root))
    return seen


def killed_in_a_fork(work: Callable[[], object], step: int) -> None:
    """Runs `work` in a copy of this process that kills itself at one step."""
    process = os.fork()
    if process == 0:
        try:
            with interrupted(step, lambda: os.kill(os.getpid(), signal.SIGKILL)):
                work()
        finally:
            os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == -signal.SIGKILL
