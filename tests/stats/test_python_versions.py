"""The same runs give the same digits on every Python version."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
STATISTICS = """
import random
from repro.stats.claims import superiority
from repro.stats.summary import expected_maximum, summarise, variation

draw = random.Random(1)
for n in range(2, 40):
    left, right = ([draw.uniform(0, 100) for _ in range(n)] for _ in range(2))
    print(summarise(left), variation(left), expected_maximum(left, 1 + n // 3))
    print(superiority(left, right))
"""
"""Needs the standard library alone, which is all that another interpreter may have. Ranks need
numpy; they are of means by `fmean`, which is exact on every version."""


def _statistics(interpreter: str) -> str:
    """What `interpreter` prints."""
    started = [interpreter, "-B", "-c", STATISTICS]
    return subprocess.run(
        started, env={"PYTHONPATH": str(ROOT)}, stdout=subprocess.PIPE, text=True, check=True
    ).stdout


def _another_python() -> str | None:
    """An interpreter on the other side of 3.12, where the builtin `sum` of floats changed."""
    newer = sys.version_info >= (3, 12)
    names = ["python3.11"] if newer else ["python3.14", "python3.13", "python3.12"]
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    for name in names:
        for command in (name, *map(str, pyenv.glob(f"*/bin/{name}"))):
            try:
                started = subprocess.run([command, "-V"], capture_output=True, check=False)
            except FileNotFoundError:
                continue
            if started.returncode == 0:
                return command
    return None


def test_statistics_do_not_depend_on_the_python_version() -> None:
    other = _another_python()
    if other is None:
        pytest.skip("no Python on the other side of 3.12 beside the one that runs the tests")
    assert _statistics(other) == _statistics(sys.executable)
