"""Stands in for the worker: ends jobs as `scenario.json` beside the store says, notes each attempt.

Knows nothing of the project, so that it starts in no time.
"""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import signal
import sys
import time
from pathlib import Path
from typing import Any


def starter(folder: Path) -> Path:
    """Writes a program that stands in for the Python that the executor starts workers with, but
    not for that of Ray's own processes.
    """
    program = folder / "python"
    other = f'[ "$1" = -P ] || exec "{sys.executable}" "$@"'
    program.write_text(f'#!/bin/sh\n{other}\nexec "{sys.executable}" -S "{__file__}" "$@"\n')
    program.chmod(0o755)
    return program


def main() -> int:
    if "REPRO_PARENT" in os.environ:
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # dies with its parent
    root, *jobs = sys.argv[3:]  # after -P and the file that starts workers
    for line in sys.stdin if jobs == ["-"] else jobs:
        job = line.strip()
        code = execute(Path(root), job)
        say("ended", job=job, code=code)
        if code not in (0, 10, 11):
            return code
    return 0


def execute(root: Path, job: str) -> int:
    scenario = json.loads((root.parent / "scenario.json").read_text())
    document = json.loads((root / "work" / job / "job.json").read_text())
    rates = [spec["recipe"]["learning_rate"] for spec in document["specs"]]
    size = document["execution"]["micro_batch"] or document["specs"][0]["recipe"]["batch_size"]
    log = os.open(root / "work" / job / "log.txt", os.O_WRONLY | os.O_APPEND)
    os.dup2(log, 2)
    attempt = {"rates": rates, "micro_batch": size, "process": os.getpid()}
    attempt |= {name: os.environ.get(name) for name in ("CUDA_VISIBLE_DEVICES", "OMP_NUM_THREADS")}
    count = note(root.parent / "attempts.jsonl", attempt)
    while "until" in scenario and not (root.parent / scenario["until"]).exists():
        time.sleep(0.02)
    for line in scenario.get("say", []):
        print(line, flush=True)
    gpu = root.parent / (os.environ.get("CUDA_VISIBLE_DEVICES") or "").replace("/", "-")
    if scenario.get("alone_on_gpu"):
        gpu.touch(exist_ok=False)
    if "meet" in scenario:
        meet(root.parent, job, scenario["meet"])
    if "stop" in scenario:
        return wait_for_stop(root.parent, ends=scenario["stop"])
    if count <= scenario.get("killed", 0):
        os.kill(os.getpid(), signal.SIGKILL)
    if len(rates) > scenario.get("members", 99) or size > scenario.get("windows", 99):
        say("failed", kind="out-of-memory", message="CUDA out of memory.")
        return 20
    if set(rates) & set(scenario.get("broken", [])):
        raise ZeroDivisionError("this member breaks")
    if "failed" in scenario:
        say("failed", **scenario["failed"])
        (root / "work" / job / "failure.json").write_text(json.dumps(scenario["failed"]))
    if scenario.get("alone_on_gpu"):
        gpu.unlink()
    code = int(scenario.get("exit", 0))
    if code == 0:
        shutil.rmtree(root / "work" / job)
    return code


def meet(folder: Path, job: str, number: int) -> None:
    """Waits until so many jobs run at once."""
    (folder / f"met-{job}").touch()
    while len(list(folder.glob("met-*"))) < number:
        time.sleep(0.002)


def wait_for_stop(folder: Path, *, ends: bool) -> int:
    """Waits to be asked to stop, and ends then, or does not."""
    asked = folder / "asked"
    for number in (signal.SIGTERM, signal.SIGUSR2):
        signal.signal(number, lambda *_: asked.touch())
    say("step")
    while not (ends and asked.exists()):
        time.sleep(0.002)
    return 30


def say(event: str, **more: Any) -> None:
    print(json.dumps({"event": event, **more}), flush=True)


def note(path: Path, attempt: dict[str, Any]) -> int:
    """Appends an attempt; returns how many there are now."""
    with path.open("a") as stream:
        stream.write(json.dumps(attempt) + "\n")
    return len(path.read_text().splitlines())


if __name__ == "__main__":
    sys.exit(main())
