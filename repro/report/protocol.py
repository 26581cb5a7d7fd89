"""How an artefact's runs are trained, value by value: what the paper says and what is used; and on
which machines they were.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from repro.papers.curves import Curves
from repro.papers.figures import Embeddings
from repro.papers.own_method import needed_settings
from repro.papers.registry import ARTEFACTS
from repro.papers.request import Request
from repro.papers.tables import Table
from repro.spec import RunSpec
from repro.spec.identity import flatten, identity_fields
from repro.store.entry import StoredRun
from repro.words import counted, duration, grouped

UNTOLD = ("seed", "scale", "backbone.revision", "task.revision", "parents")
"""Fields that say nothing of how a paper trains."""
VERSIONS = (
    "python", "torch", "transformers", "tokenizers", "numpy", "peft", "cuda", "driver", "repro",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Value:
    """A value of a run, and where it comes from: paper, code or assumed, with its citation."""

    field: str
    value: Any
    origin: str | None
    citation: str | None

    def __str__(self) -> str:
        said = "none" if self.value is None else str(self.value)
        return said + (f" — {self.origin}: {self.citation}" if self.origin else "")


@dataclass(frozen=True, slots=True)
class Choice:
    """One field: the value at the paper's scale and the one used here, for some rows or all."""

    field: str
    paper: Value | None
    here: Value | None
    rows: tuple[str, ...]
    """The rows that it holds for; none where it holds for all."""

    @property
    def same(self) -> bool:
        values = [known.value for known in (self.paper, self.here) if known is not None]
        return len(values) == 2 and values[0] == values[1]


def values(spec: RunSpec) -> list[Value]:
    """Every value of a run with its own source, or that of what it is a part of."""
    found = []
    for path, value in flatten(identity_fields(spec)):
        whole = path
        while whole not in spec.sources and "." in whole:
            whole = whole.rpartition(".")[0]
        source = spec.sources.get(whole)
        origin, citation = (source.origin, source.citation) if source else (None, None)
        found.append(Value(path, value, origin, citation))
    return found


def first_runs(table: Table, request: Request) -> dict[str, RunSpec]:
    """Row -> its first run, of its first seed on the first task that is asked for."""
    wanted = [c for c in table.scores if c.task in table.needed(request)] or table.columns
    matrix = table.matrix(request)
    rows = [row for row in matrix.artefact.trained if row.measure == "score"]
    return {row.name: matrix.of(row.name, wanted[0].name)[0] for row in rows}


def choices(request: Request) -> list[Choice]:
    """Every field of an artefact's runs; what differs between rows once for each value."""
    printed = Request(  # nothing is set by hand but what a further row needs
        request.id, "paper", 1, tasks=request.tasks, method=request.method,
        settings=needed_settings(request), as_released=request.as_released,
        sections=request.sections,
    )  # fmt: skip
    here, paper = _runs(request), _runs(printed)
    pairs: dict[str, dict[str, tuple[Value | None, Value | None]]] = {}
    for row in here:
        ours = {one.field: one for one in values(here[row])}
        theirs = {one.field: one for one in values(paper[row])} if row in paper else {}
        for field in dict.fromkeys((*theirs, *ours)):
            if not field.startswith(UNTOLD):
                pairs.setdefault(field, {})[row] = theirs.get(field), ours.get(field)
    found = []
    for field, of_row in sorted(pairs.items()):
        for rows in grouped((repr(pair), row) for row, pair in of_row.items()).values():
            some = () if len(rows) == len(here) else tuple(rows)
            found.append(Choice(field, *of_row[rows[0]], some))
    return found


def _runs(request: Request) -> dict[str, RunSpec]:
    """Row -> its run; a figure has one, that trains what it shows."""
    artefact = ARTEFACTS[request.id]
    if isinstance(artefact, Table):
        references = {row.name for row in artefact.rows if row.reference}
        found = first_runs(artefact, request)
        return {row: spec for row, spec in found.items() if row not in references}
    matrix = artefact.matrix(request)
    if isinstance(artefact, Embeddings):
        return {"": matrix.of("")[0]}
    drawn = matrix.wanted if isinstance(artefact, Curves) else matrix.runs
    return {"": next(iter(drawn.values()))} if drawn else {}


@dataclass(frozen=True, slots=True)
class Machine:
    """What was trained on one device with the same versions: the seconds of each job, which may
    train several runs together.
    """

    device: str
    versions: str
    seconds: tuple[float, ...]

    @property
    def work(self) -> str:
        """2.1 h in 14 jobs."""
        return self.total([self])

    @staticmethod
    def total(machines: Iterable[Machine]) -> str:
        seconds = [taken for machine in machines for taken in machine.seconds]
        return f"{duration(math.fsum(seconds))} in {counted(len(seconds), 'job')}"


def machines(keys: Sequence[str], read: Callable[[str], StoredRun | None]) -> list[Machine]:
    """Where these runs were trained, one entry a device and set of versions, each job once; empty
    where nothing was stored of it.
    """
    jobs: dict[tuple[str, str], dict[tuple[str, ...], float]] = {}
    for key in keys:
        run = read(key)
        found = run.environment() if run is not None else {}
        if found:
            told = ", ".join(f"{name} {found[name]}" for name in VERSIONS if found.get(name))
            place = str(found["device_name"]), told
            jobs.setdefault(place, {})[tuple(found["members"])] = float(found["seconds"])
    return [Machine(*place, tuple(done.values())) for place, done in sorted(jobs.items())]
