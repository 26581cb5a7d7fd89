"""What the commands take that train nothing: user CPU seconds of the whole process, least of some.

    python benchmarks/warm_commands.py --times 5
    python benchmarks/warm_commands.py --seeds 460    # and a plan of about 100,000 runs

They read the committed results in `runs/` and change nothing of the project: tables go to a
temporary folder. Bytecode is compiled before the first measurement.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

PROJECT = Path(__file__).parents[1]
COMMANDS = ("list", "status", "plan AA-2", "table 3-shared-2 --out {out}", "table AA-2 --out {out}")


def seconds(command: str, folder: str) -> float:
    """User CPU seconds of a command, whose exit code may say that runs are missing."""
    words = command.format(out=folder, store=f"{folder}/store").split()
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    subprocess.run(
        [sys.executable, "-m", "repro", *words],
        cwd=PROJECT,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
    )
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--seeds", type=int, help="seeds of a plan of AA-2 on an empty store")
    given = parser.parse_args()
    commands = list(COMMANDS)
    if given.seeds:
        commands.append(f"plan AA-2 --scale paper --seeds {given.seeds} --store {{store}}")
    with tempfile.TemporaryDirectory() as folder:
        for command in commands:
            seconds(command, folder)
            taken = sorted(seconds(command, folder) for _ in range(given.times))
            print(f"{taken[0]:6.2f} s (to {taken[-1]:.2f})  {command}", flush=True)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(f"largest process: {peak:,.0f} MiB")


if __name__ == "__main__":
    main()
