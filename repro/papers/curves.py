"""What a published figure of curves is: series of points, each one setting of a method."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import ClassVar, Literal

from repro.papers.figures import Drawn
from repro.papers.matrix import Chain, Matrix
from repro.papers.request import Request
from repro.papers.setting import Template
from repro.spec import Scale

MEDIAN, MEAN = "median", "mean"
"""The panel over all tasks; the others are named by their task."""
Axis = Literal["trained parameters", "initial standard deviation", "samples a task"]


@dataclass(frozen=True, slots=True)
class Point:
    """One setting: `value` is its size, its layers or its deviation; None where there is one."""

    series: str
    label: str
    value: float | None = None

    @property
    def name(self) -> str:
        """Adapters, size 64."""
        return f"{self.series}, {self.label}" if self.label else self.series


@dataclass(frozen=True, slots=True)
class Scored:
    """The score of a task's runs that is drawn, in percent, and what it is called.

    `published_rows` and `split`: the rows that the paper's points are of, and ours (see
    `tables.Score`). `also`: further metrics, of which the score is the mean with `metric`.
    """

    name: str
    published_rows: str
    split: str
    protocol: str
    metric: str
    group: str = "ALL"
    also: tuple[str, ...] = ()

    @property
    def metrics(self) -> tuple[str, ...]:
        """All of them."""
        return (self.metric, *self.also)

    @property
    def other_rows(self) -> str:
        """Why the paper's points are not of the rows that are scored here; "" where they are."""
        if self.published_rows == self.split:
            return ""
        return f"published: {self.published_rows}, reproduced: {self.split}"


@dataclass(frozen=True, slots=True)
class Mark:
    """A published point of one panel. Without `x` it is a level, without `y` a threshold on x.

    `encoder`: whose point it is; `sem`: its standard error, where it is printed.
    """

    panel: str
    series: str
    kind: Literal["digitised", "quoted"]
    x: float | None
    y: float | None
    sem: float | None
    label: str
    source: str
    encoder: str = ""


@dataclass(frozen=True, slots=True)
class Said:
    """What a paper says in its text: how far a series is behind the reference on a task.

    `note`: why nothing here can be compared with it, where that is so.
    """

    text: str
    published: float
    source: str
    series: str = ""
    task: str = ""
    note: str = ""


Chains = Callable[[Point, str, Request], Sequence[Chain]]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Curves(Drawn):
    """A published figure of curves as data.

    `points(request)` are its settings, `chains(point, task, request)` the runs of one, a chain for
    each seed, after those that they need. What is compared is compared with the series `reference`
    ("": there is none). `drawn`: the tasks of a scale unless asked; `shown`: those of them that
    have a panel of their own. `across`: the first panel is over tasks: percentiles of the
    difference to the reference, or ("mean") the mean of all their metrics. `spread` of a point over
    seeds: the standard error of their mean, drawn as a bar, or their standard deviation, drawn as a
    band.
    """

    kind: ClassVar[str] = "curves"

    axis: Axis
    tasks: tuple[str, ...]
    drawn: dict[Scale, tuple[str, ...]]
    shown: tuple[str, ...]
    across: Literal["", "median", "mean"]
    reference: str
    points: Callable[[Request], tuple[Point, ...]]
    chains: Chains
    scored: Callable[[str, Request], Scored]
    marks: Callable[[], tuple[Mark, ...]] = field(default=tuple)
    said: Callable[[], tuple[Said, ...]] = field(default=tuple)
    spread: Literal["sem", "sd"] = "sem"

    def needed(self, request: Request) -> tuple[str, ...]:
        """The tasks that are asked for. Raises ReproError for a method, which is no choice here."""
        self.check_no_method(request)
        asked = self.drawn[request.scale] if request.tasks is None else request.tasks
        return tuple(task for task in self.tasks if task in asked)

    def available(self, request: Request) -> tuple[str, ...]:
        """Those of them whose data can be had."""
        return tuple(task for task in self.needed(request) if task not in request.unavailable)

    def matrix(self, request: Request) -> Matrix[Curves]:
        """The runs of every point on every task that is available, one a seed."""
        return _matrix(self, request)

    def leads(self, request: Request) -> dict[str, list[Point]]:
        """Series -> its points, in order."""
        found: dict[str, list[Point]] = {}
        for point in self.points(request):
            found.setdefault(point.series, []).append(point)
        return found


@lru_cache(maxsize=32)
def _matrix(figure: Curves, request: Request) -> Matrix[Curves]:
    cells = {
        (point.name, task): figure.chains(point, task, request)
        for task in figure.available(request)
        for point in figure.points(request)
    }
    return Matrix(figure, request, cells)


def one_a_seed(runs: Callable[[Point, str, Request], Template]) -> Chains:
    """The `chains` of a figure with one run a seed, of `runs(point, task, request)`, which need no
    other.
    """
    return lambda point, task, request: runs(point, task, request).chains(request)
