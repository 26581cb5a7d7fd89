"""How what was asked for stands: its runs by table, row and cell, looked at while they train."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from repro.engine.jobs import read_job
from repro.engine.plan import PlannedRun, plan_runs, runs_of
from repro.engine.progress import Progress, read_progress
from repro.papers.matrix import Where
from repro.papers.registry import ARTEFACTS
from repro.papers.request import Request
from repro.spec import run_key
from repro.store.store import Store

STATES = ("done", "running", "missing", "failed", "blocked")


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell and its runs, with those that they are made from; of curves a point and a task."""

    row: str
    column: str
    runs: list[PlannedRun]


@dataclass(slots=True)
class Standing:
    """The runs of what one name stands for: a table, a figure, or all settings of a sweep.

    `look` reads the store again, but for the runs that are done: these stay done. The matrices are
    made once, which is most of the work.
    """

    name: str
    requests: Sequence[Request]
    store: Store
    runs: dict[str, PlannedRun] = field(init=False)
    _keys: dict[Where, list[str]] = field(init=False)
    _wanted: set[str] = field(init=False)

    def __post_init__(self) -> None:
        matrices = [ARTEFACTS[one.id].matrix(one) for one in self.requests]
        specs, self._wanted, tables = runs_of(matrices)
        found, _ = plan_runs(specs, self._wanted, tables, self.store, retry_failed=True)
        self.runs = {run.key: run for run in found}
        self._keys = {}
        for matrix in matrices:
            for entry in matrix.entries:
                keys = self._keys.setdefault((entry.row, entry.column), [])
                if entry.key in self.runs and entry.key not in keys:
                    keys.append(entry.key)

    def look(self) -> None:
        """Reads the state of the runs that were not done."""
        open_ = {key: run for key, run in self.runs.items() if run.state != "done"}
        specs = {key: run.spec for key, run in open_.items()}
        tables = {key: run.tables for key, run in open_.items()}
        found, _ = plan_runs(specs, self._wanted, tables, self.store, retry_failed=True)
        now = {run.key: run for run in found}
        # A parent that nothing lacks any more is in no plan of the others.
        self.runs = {
            key: now.get(key, run)
            for key, run in self.runs.items()
            if run.state == "done" or key in now
        }

    def count(self, runs: Sequence[PlannedRun] | None = None) -> dict[str, int]:
        """How many runs, of all or of these, are in each state."""
        some = list(self.runs.values()) if runs is None else runs
        return {state: sum(run.state == state for run in some) for state in STATES}

    @property
    def done(self) -> bool:
        """Whether every run has a result."""
        return all(run.state == "done" for run in self.runs.values())

    def cells(self) -> Iterator[Cell]:
        """Every cell that has runs, row after row as the table has them."""
        for (row, column), keys in self._keys.items():
            runs = [self.runs[key] for key in keys if key in self.runs]
            if runs:
                yield Cell(row, column, runs)


def progress_of_runs(store: Store) -> dict[str, Progress]:
    """Key -> how far the job is that trains the run, of every job that a worker is at."""
    found: dict[str, Progress] = {}
    for folder in (store.root / "work").glob("*"):
        progress, job = read_progress(folder), read_job(folder)
        if progress is not None and job is not None:
            found |= dict.fromkeys(map(run_key, job.specs), progress)
    return found
