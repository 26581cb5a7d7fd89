"""What a published table is, and what a user may ask of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from repro.papers.published import Published, load_published
from repro.spec import Backbone, RunSpec, Scale


@dataclass(frozen=True, slots=True)
class Request:
    """One table or figure at one scale, as a user asked for it. What is None is the scale's own.

    `data_revisions` names the data found for each GLUE task (None: the hub's), `unavailable` why a
    task's data cannot be had here: its cells are gaps.
    """

    table: str
    scale: Scale
    seeds: int
    backbone: Backbone | None = None
    data_revision: str | None = None
    data_revisions: dict[str, str | None] = field(default_factory=dict)
    unavailable: dict[str, str] = field(default_factory=dict)
    tasks: tuple[str, ...] | None = None
    method: str | None = None
    train_rows: int | None = None
    evaluation_rows: int | None = None
    epochs: int | None = None
    learning_rate: float | None = None
    bottleneck: int | None = None
    precision: str | None = None
    as_released: bool = False


class Artefact(Protocol):
    """A table or a figure: what a plan needs of it."""

    @property
    def id(self) -> str:
        """What a user types."""

    def runs(self, request: Request) -> list[RunSpec]:
        """Every run behind it, each once, parents before their children."""


@dataclass(frozen=True, slots=True)
class Column:
    """One printed column and the score that reproduces it."""

    name: str
    published_column: str
    published_metric: str
    metric: str
    group: str


@dataclass(frozen=True, slots=True)
class Row:
    """One printed row and the run that reproduces it.

    `published` is its name in the CSV (None: a row of ours, without a published value); `epoch`
    picks one epoch of the run's history (None: the last).
    """

    name: str
    variant: str
    published: str | None = None
    section: str = ""
    epoch: int | None = None
    reference: bool = False
    note: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """A published table as data. `run(variant, request, seed)` is the run behind a row."""

    id: str
    paper: str
    title: str
    published: str
    rows: tuple[Row, ...]
    columns: tuple[Column, ...]
    protocol: str
    splits: dict[Scale, str]
    default_seeds: dict[Scale, int]
    run: Callable[[str, Request, int], RunSpec]
    notes: tuple[str, ...] = field(default=())

    def published_cell(self, row: Row, column: Column) -> Published | None:
        """The printed number, or None where the paper has none."""
        if row.published is None:
            return None
        cells = load_published(self.paper, self.published)
        return cells.get((row.published, column.published_column, column.published_metric))

    def runs(self, request: Request) -> list[RunSpec]:
        """Every run behind the table, each once: one seed of all rows before the second seed."""
        variants = list(dict.fromkeys(row.variant for row in self.rows))
        return [self.run(v, request, seed) for seed in range(request.seeds) for v in variants]
