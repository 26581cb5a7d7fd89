"""On what the runs were trained: the environments that are stored beside results."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from repro.site.runs import Runs
from repro.words import counted, duration

VERSIONS = ("python", "torch", "transformers", "tokenizers", "numpy", "cuda", "driver", "repro")


@dataclass(frozen=True, slots=True)
class Machine:
    """Jobs of one device with the same versions; a job trains runs together."""

    device: str
    work: str
    versions: str


def machines(keys: Sequence[str], runs: Runs) -> list[Machine]:
    """One line a device and set of versions; empty where nothing was stored of it."""
    jobs: dict[tuple[str, str], dict[tuple[str, ...], float]] = {}
    for key in keys:
        run = runs.read(key)
        found = run.environment() if run is not None else {}
        if found:
            told = ", ".join(f"{name} {found[name]}" for name in VERSIONS if found.get(name))
            place = str(found["device_name"]), told
            jobs.setdefault(place, {})[tuple(found["members"])] = float(found["seconds"])
    return [
        Machine(device, _work(list(done.values())), told)
        for (device, told), done in sorted(jobs.items())
    ]


def _work(seconds: list[float]) -> str:
    """How long all jobs of a machine took together."""
    return f"{duration(math.fsum(seconds))} in {counted(len(seconds), 'job')}"
