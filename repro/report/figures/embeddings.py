"""Task embeddings as they stand in the store: two maps of them, their distances, or why not.

Built without torch, from the vectors that a result holds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean
from typing import Literal

import numpy as np

from repro.papers.embeddings import FEWEST, Embeddings
from repro.papers.request import Request
from repro.report.figures.embedding_maps import (
    Matrix,
    cosine_distances,
    neighbour_map,
    principal_components,
)
from repro.report.runs_found import Found, Lookup
from repro.spec import HyperFormer, RunSpec
from repro.spec.t5 import WrittenName
from repro.store.store import Store

DIGITS = 4
"""Decimals of what is written: more may differ from machine to machine."""
PanelName = Literal["pca", "tsne"]
Distances = dict[tuple[WrittenName, WrittenName], float]


@dataclass(frozen=True, slots=True)
class Map:
    """The tasks in two dimensions. `shares` are those of the variance, of each principal component;
    `absent` says why there are no points.
    """

    name: PanelName
    points: dict[WrittenName, tuple[float, float]]
    shares: tuple[float, ...] = ()
    absent: str = ""


@dataclass(frozen=True, slots=True)
class EmbeddingsView:
    """The whole figure. `tasks` are those shown, `key` is the run's; `width` that of a vector.

    `distances` are cosine distances between two tasks, both ways; none of a zero vector. `absent`
    says why there is no vector. `collapsed`: the run gives constant answers on every task.
    """

    figure: Embeddings
    request: Request
    lead: RunSpec
    key: str
    width: int
    tasks: tuple[WrittenName, ...]
    maps: tuple[Map, Map]
    distances: Distances
    absent: str
    collapsed: bool

    @property
    def done(self) -> int:
        """Embeddings that are learned."""
        return 0 if self.absent else len(self.tasks)

    @property
    def cells(self) -> int:
        """Embeddings asked for; none of a run that cannot be trained here."""
        return 0 if self.figure.lacking(self.lead, self.request) else len(self.tasks)

    @property
    def runs(self) -> tuple[str, ...]:
        """The stored run behind it."""
        return () if self.absent else (self.key,)

    def nearest(self, task: WrittenName) -> WrittenName | None:
        """The task at the least cosine distance, None where there is no distance."""
        others = [b for a, b in self.distances if a == task]
        return min(others, key=lambda other: self.distances[task, other], default=None)

    def mean_distance(self, *, within: bool) -> tuple[float | None, int]:
        """The mean over pairs of tasks of one kind, or of two kinds, and how many pairs."""
        kind = self.figure.kind_of
        pairs = [p for p in combinations(self.tasks, 2) if (kind(p[0]) == kind(p[1])) == within]
        found = [self.distances[pair] for pair in pairs if pair in self.distances]
        return fmean(found) if found else None, len(found)


def view_embeddings(figure: Embeddings, request: Request, store: Store) -> EmbeddingsView:
    """Raises UnknownName for a method that the figure cannot show."""
    (spec,), lookup = figure.matrix(request).of(""), Lookup(store)
    tasks = figure.shown(spec, request)
    assert isinstance(spec.method, HyperFormer)
    (found,) = lookup.find([spec])
    gaps = [f"no data of {name}: {why}" for name, why in figure.lacking(spec, request).items()]
    absent = "; ".join(gaps) or _absent(found, tasks, lookup)
    learned = found.run.result.embeddings if found.run is not None else None
    vectors = np.array([(learned or {})[task] for task in tasks]) if not absent else np.empty((0,))
    return EmbeddingsView(
        figure=figure,
        request=request,
        lead=spec,
        key=found.key,
        width=spec.method.task_embedding,
        tasks=tasks,
        maps=(
            _map("pca", tasks, vectors, absent, principal_components),
            _map("tsne", tasks, vectors, absent, lambda known: (neighbour_map(known), np.empty(0))),
        ),
        distances={} if absent else _distances(tasks, vectors),
        absent=absent,
        collapsed=found.run is not None and bool(found.run.result.collapsed),
    )


def _absent(found: Found, tasks: tuple[WrittenName, ...], lookup: Lookup) -> str:
    if found.run is None:
        return lookup.why([found], None, "")
    held = found.run.result.embeddings or {}
    lacking = [task for task in tasks if task not in held]
    return f"no embedding is stored of {', '.join(lacking)}" if lacking else ""


def _map(
    name: PanelName,
    tasks: tuple[WrittenName, ...],
    vectors: Matrix,
    absent: str,
    mapped: Callable[[Matrix], tuple[Matrix, Matrix]],
) -> Map:
    if not absent and len(tasks) < FEWEST:
        absent = f"{len(tasks)} of at least {FEWEST} tasks"
    if absent:
        return Map(name, {}, absent=absent)
    try:
        places, shares = mapped(vectors)
    except ValueError as problem:
        return Map(name, {}, absent=str(problem))
    points = {task: _rounded(place) for task, place in zip(tasks, places, strict=True)}
    return Map(name, points, tuple(round(float(share), DIGITS) for share in shares))


def _rounded(place: Matrix) -> tuple[float, float]:
    """Without a sign on zero."""
    x, y = (round(float(value), DIGITS) + 0.0 for value in place)
    return x, y


def _distances(tasks: tuple[WrittenName, ...], vectors: Matrix) -> Distances:
    far = cosine_distances(vectors)
    return {
        (a, b): round(float(far[i, j]), DIGITS)
        for i, a in enumerate(tasks)
        for j, b in enumerate(tasks)
        if i != j and np.isfinite(far[i, j])
    }
