"""What an operation of the store costs for each run, from a hundred to a hundred thousand entries.

    python benchmarks/store_scale.py --entries 100 1000 10000 100000
    python benchmarks/store_scale.py --plan 460

An operation is flat if its cost for a run does not grow with the store: the last column compares
the largest store with the smallest. Seconds are those of one core (process time), without syncs.
`--plan` measures the plan of all runs of AA-2 with so many seeds (460: about 100,000 runs).
"""

from __future__ import annotations

import argparse
import gc
import os
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from repro.engine import housekeeping
from repro.engine.cost import ASSUMED
from repro.engine.plan import make_plan
from repro.methods.untrained import AlwaysNull
from repro.papers.request import Request
from repro.spec import Backbone, Recipe, RunSpec, SquadTask, run_key
from repro.store import Result, Score, Store, render
from repro.store.entry import FileEntry, Manifest, digest_of, manifest_bytes, spec_bytes

ASKED = 100
"""Runs that are read, looked for or stored in each measurement of a single run."""


def spec_of(seed: int) -> RunSpec:
    """A run; only the seed tells it from the others."""
    return RunSpec(
        scale="smoke",
        backbone=Backbone(
            id="tiny", revision="1", layers=2, hidden_size=8, intermediate_size=16, parameters=100,
            name="tiny",
        ),
        task=SquadTask(source="generated", revision="1", train="generated", evaluation="generated"),
        method=AlwaysNull(),
        recipe=Recipe(
            epochs=1, batch_size=1, learning_rate=0.001, schedule="constant",
            bias_correction=True, clip_norm=None, logit_clamp=(-10.0, 10.0),
        ),
        seed=seed,
    )  # fmt: skip


def files_of(key: str) -> dict[str, bytes | Path]:
    """What is stored of a run, with one score."""
    score = Score(
        task="squad2", split="dev", protocol="official", epoch=1, metric="f1", group="all",
        value=50.0, n=10,
    )  # fmt: skip
    result = Result(key=key, parameters_trained=1, parameters_total=101, scores=[score])
    return {"result.json": render(result), "environment.json": b"{}"}


def put(store: Store, seeds: range) -> list[str]:
    """Stores the runs of these seeds."""
    specs = {run_key(spec): spec for spec in map(spec_of, seeds)}
    for key, spec in specs.items():
        store.write(key, spec, files_of(key))
    return [*specs]


def fill(root: Path, seeds: range) -> None:
    """Writes entries as the store would, but where they lie and without a look at anything."""
    for spec in map(spec_of, seeds):
        key = run_key(spec)
        files = {**files_of(key), "spec.json": spec_bytes(spec)}
        written = {name: data for name, data in files.items() if isinstance(data, bytes)}
        listed = {n: FileEntry(sha256=digest_of(d), size=len(d)) for n, d in written.items()}
        manifest = Manifest(key=key, partial=False, files=listed)
        folder = root / key[:2] / key
        folder.mkdir(parents=True)
        for name, data in (written | {"MANIFEST.json": manifest_bytes(manifest)}).items():
            (folder / name).write_bytes(data)


def seconds(work: Callable[[], object]) -> float:
    """Process time of one call."""
    began = time.process_time()
    work()
    return time.process_time() - began


def measured(root: Path, entries: int) -> dict[str, float]:
    """Operation -> microseconds for a run, in a store of so many entries."""
    store = Store(root)
    fill(root, range(len(store.keys()), entries - ASKED))
    keys: list[str] = []
    found = {
        "store a run": seconds(lambda: keys.extend(put(store, range(entries - ASKED, entries))))
    }
    some = keys[-ASKED:]
    absent = [run_key(spec_of(seed)) for seed in range(10**6, 10**6 + ASKED)]
    fresh = Store(root)

    def claim() -> None:
        for key in absent:
            with fresh.claim([key]):
                pass

    found["read a run"] = seconds(lambda: [fresh.read(key) for key in some])
    found["read and verify a run"] = seconds(lambda: [fresh.read(k, verify=True) for k in some])
    found["state of a missing run"] = seconds(lambda: [fresh.state(key) for key in absent])
    found["claim a run"] = seconds(claim)
    of_one = {name: 1e6 * taken / ASKED for name, taken in found.items()}
    of_all = {
        "list the keys": seconds(fresh.keys),
        "read all specs": seconds(fresh.specs),
        "identities (why)": seconds(fresh.identities),
        "store ls": seconds(lambda: housekeeping.listed(fresh, {})),
        "store du": seconds(lambda: housekeeping.disk_use(fresh)),
        "store gc": seconds(lambda: housekeeping.find_waste(fresh, {}, 0.0)),
    }
    return of_one | {name: 1e6 * taken / entries for name, taken in of_all.items()}


def plan(seeds: int) -> None:
    """Plans AA-2 at paper scale with so many seeds on an empty store."""
    with tempfile.TemporaryDirectory() as folder:
        gc.set_threshold(100_000, 50, 100)  # as the command line does
        began = time.process_time()
        made = make_plan([Request("AA-2", "paper", seeds)], Store(folder), ASSUMED["cuda"])
        taken = time.process_time() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{len(made.runs):,} runs, {len(made.jobs):,} jobs: {taken:.1f} s, {peak:,.0f} MiB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--entries", type=int, nargs="+", default=[100, 1000, 10_000])
    parser.add_argument("--plan", type=int, metavar="SEEDS")
    parser.add_argument("--folder", type=Path, help="where the store is made (default: temporary)")
    given = parser.parse_args()
    if given.plan:
        plan(given.plan)
        return
    os.fsync = lambda descriptor: None  # type: ignore[assignment]
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        columns = [measured(Path(folder) / "runs", count) for count in sorted(given.entries)]
    print(f"{'us for a run':24}" + "".join(f"{count:>10,}" for count in sorted(given.entries)))
    for name in columns[0]:
        values = [column[name] for column in columns]
        cells = "".join(f"{value:10,.0f}" for value in values)
        print(f"{name:24}{cells}{values[-1] / values[0]:8.2f}")


if __name__ == "__main__":
    main()
