"""The heat map of switched-off adapters as it stands: every grid, and what is said of them.

Built from the store alone, without torch. Grids hold numbers in the papers' units: points (percent
of Matthews correlation or accuracy lost) and percent (change relative to the intact model).
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from repro.papers.figures import Figure
from repro.papers.matrix import Matrix
from repro.papers.published import Published
from repro.papers.request import Request
from repro.papers.three_shared.figures import (
    ALL_LAYERS,
    ONE_LAYER,
    houlsby_says,
    published_drops,
    published_intact,
)
from repro.report.declared import runs_differ
from repro.report.files import command_line
from repro.report.runs_found import Lookup, why_missing
from repro.spec import RunSpec
from repro.spec.glue import GLUE
from repro.spec.spans import INTACT, Span, all_spans, span_group
from repro.spec.tasks import GlueName
from repro.store.entry import StoredRun
from repro.store.store import Store

PROTOCOL = "glue"
RELATIVE = "accuracy"
"""Houlsby et al. draw the change in this metric, relative to the intact model's."""
MAJORITY = "majority_share"
NO_SHARE = "no change in percent: the intact model's accuracy is 0"
NAMES = {"matthews": "Matthews correlation", "accuracy": "accuracy"}
Grid = Mapping[Span, float]


@dataclass(frozen=True, slots=True)
class Panel:
    """One grid. With a `constant` span off every row gets one class (None: nobody says which spans
    do); `absent`: why the grid is empty; `undefined`: spans without a number, each with its reason.
    """

    name: str
    title: str
    unit: str
    layers: int
    grid: Grid
    constant: frozenset[Span] | None = None
    absent: str = ""
    undefined: Mapping[Span, str] = field(default_factory=dict)

    @property
    def blank(self) -> str:
        """Why nothing can be drawn; empty where something can."""
        if self.grid:
            return ""
        return self.absent or next(iter(self.undefined.values()), "no span has a number")


@dataclass(frozen=True, slots=True)
class Statement:
    """What Houlsby et al. say, its number in percent, and that number here (None: not scored, or
    undefined for the reason that is the note).
    """

    text: str
    published: float
    reproduced: float | None
    source: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class AblationView:
    """The figure at one scale. `trained` and `ablated` are the runs of the first seed, `runs` the
    stored ones behind the grids, those of `drawn` seeds; the intact models of `collapsed` seeds
    give every row one class. `differs`: why they cannot be compared with the published ones.
    """

    figure: Figure
    request: Request
    trained: RunSpec
    ablated: RunSpec
    runs: tuple[str, ...]
    drawn: int
    collapsed: int
    intact: Mapping[str, float]
    published_intact: float | None
    panels: tuple[Panel, Panel, Panel, Panel]
    correlation: float | None
    correlation_reason: str
    statements: tuple[Statement, ...] = field(default=())
    partial: str = ""
    differs: str = ""

    @property
    def task(self) -> GlueName:
        """Which task of GLUE."""
        return self.figure.task(self.request)

    @property
    def lead(self) -> RunSpec:
        """The run that tells what all share."""
        return self.trained

    @property
    def cells(self) -> int:
        """Spans in all."""
        return len(all_spans(self.trained.backbone.layers))

    @property
    def done(self) -> int:
        """Spans that were scored for every seed."""
        return 0 if self.partial else len(self.panels[1].grid)

    @property
    def complete(self) -> bool:
        """Every span is scored."""
        return self.done == self.cells


def view_ablation(figure: Figure, request: Request, store: Store) -> AblationView:
    """Lays the store's results beside the published grid."""
    task = figure.task(request)
    matrix = figure.matrix(request)
    keys = list(matrix.wanted)
    found = [run for key in keys if (run := store.read(key)) is not None]
    trained, ablated = (matrix.entries[place].spec for place in (0, 1))
    missing = _missing(matrix, store, found)
    layers = trained.backbone.layers
    drops = mean_grid([lost(run, task) for run in found])
    changes = mean_grid([_grid(run, task, RELATIVE, relative_change) for run in found])
    undefined = _undefined(found, task)
    constant = frozenset(span for run in found for span in _constant(run, task))
    panels = _panels(task, layers, drops, changes, constant, undefined, "" if found else missing)
    correlation, reason = rank_correlation(panels[0], panels[1])
    return AblationView(
        figure=figure,
        request=request,
        trained=trained,
        ablated=ablated,
        runs=tuple(entry.key for entry in matrix.entries if store.read(entry.key)),
        drawn=len(found),
        collapsed=_scores(found, task, MAJORITY, INTACT).count(100.0),
        intact=_intact(found, task),
        published_intact=percent(published_intact()) if published_drops(task) else None,
        panels=panels,
        correlation=correlation,
        correlation_reason=reason,
        statements=_statements(task, found, layers, changes, NO_SHARE if undefined else ""),
        partial=f"{len(found)} of {len(keys)} seeds; the rest: {missing}"
        if found and len(found) < len(keys)
        else "",
        differs=grids_differ(figure, request, store) if found else "",
    )


def grids_differ(figure: Figure, request: Request, store: Store) -> str:
    """Why the grids of a request cannot be compared with the published ones; "" where they can."""
    task = figure.task(request)
    published, here = figure.published_rows[task], GLUE[task].evaluation[0]
    other = f"published: {published}, reproduced: {here}" if published != here else ""
    return runs_differ(figure.matrix(request), Lookup(store), ("", task)) or other


def lost(run: StoredRun, task: GlueName) -> Grid:
    """Points that each span costs one run, in the metric that the task is selected by."""
    return _grid(run, task, GLUE[task].monitor, drop)


def drop(intact: float, score: float) -> float:
    """Points lost: positive where switching adapters off hurts."""
    return intact - score


def relative_change(intact: float, score: float) -> float | None:
    """Percent gained, as Houlsby et al. define it: negative where switching off hurts.

    None, undefined, where the intact model's score is 0.
    """
    return 100 * (score - intact) / intact if intact else None


def percent(cell: Published) -> float:
    """A printed share in percent, without the noise of binary fractions."""
    return round(100 * (cell.value or 0.0), 9)


def mean_grid(grids: Sequence[Grid]) -> dict[Span, float]:
    """The mean over seeds, of the spans that were scored for each."""
    spans = [span for span in (grids[0] if grids else {}) if all(span in grid for grid in grids)]
    return {span: statistics.fmean(grid[span] for grid in grids) for span in spans}


def rank_correlation(one: Panel, other: Panel) -> tuple[float | None, str]:
    """Spearman's, over the spans with a number in both; None, and why, where there is none."""
    if one.absent or other.absent:
        return None, one.absent or other.absent
    if one.layers != other.layers:
        return None, _depths(one.layers, other.layers)
    spans = sorted(set(one.grid) & set(other.grid))
    pairs = [(one.grid[span], other.grid[span]) for span in spans]
    if len(pairs) < 3 or any(len(set(values)) == 1 for values in zip(*pairs, strict=True)):
        return None, "too few spans of different value"
    from scipy.stats import spearmanr

    return float(spearmanr(pairs).statistic), f"over {len(pairs)} spans"


def _score(run: StoredRun, task: GlueName, metric: str, group: str) -> float | None:
    score = run.score(GLUE[task].evaluation[0], PROTOCOL, metric, group, run.last_epoch)
    return None if score is None else score.value + 0.0  # a zero without a sign


def _grid(
    run: StoredRun, task: GlueName, metric: str, change: Callable[[float, float], float | None]
) -> dict[Span, float]:
    """What each span changes, where that is defined; (intact, score) -> change."""
    intact = _score(run, task, metric, INTACT)
    scores = {s: _score(run, task, metric, span_group(s)) for s in _spans(run)}
    return {
        span: value
        for span, score in scores.items()
        if intact is not None and score is not None and (value := change(intact, score)) is not None
    }


def _undefined(found: Sequence[StoredRun], task: GlueName) -> dict[Span, str]:
    """The spans whose relative change is undefined for a seed, and so is their mean."""
    without = [run for run in found if _score(run, task, RELATIVE, INTACT) == 0]
    return {span: NO_SHARE for run in without for span in _spans(run)}


def _constant(run: StoredRun, task: GlueName) -> list[Span]:
    """The spans without whose adapters every row gets one class; Matthews is then 0."""
    return [s for s in _spans(run) if _score(run, task, MAJORITY, span_group(s)) == 100.0]


def _spans(run: StoredRun) -> list[Span]:
    return all_spans(run.spec.backbone.layers)


def _panels(
    task: GlueName,
    layers: int,
    drops: Grid,
    changes: Grid,
    constant: frozenset[Span],
    undefined: Mapping[Span, str],
    missing: str,
) -> tuple[Panel, Panel, Panel, Panel]:
    """Published, reproduced, their difference; and the relative change, which nobody printed."""
    unit = f"drop in {NAMES[GLUE[task].monitor]}, points"
    published = _published(task, unit)
    reproduced = Panel("reproduced", "Reproduced", unit, layers, drops, constant, missing)
    absent = reproduced.absent or published.absent
    if not absent and published.layers != layers:
        absent = _depths(published.layers, layers)
    both = {} if absent else {s: v - published.grid[s] for s, v in reproduced.grid.items()}
    title = "Reproduced minus published"
    difference = Panel("difference", title, "difference, points", layers, both, absent=absent)
    title, unit = "Relative change in accuracy", "change, percent of the intact model's accuracy"
    relative = Panel("relative", title, unit, layers, changes, constant, missing, undefined)
    return published, reproduced, difference, relative


def _published(task: GlueName, unit: str) -> Panel:
    cells = published_drops(task)
    grid = {span: percent(cell) for span, cell in cells.items()}
    layers = 1 + max((last for _, last in grid), default=-1)
    absent = "" if grid else f"{GLUE[task].title}: nobody printed the numbers of a grid"
    return Panel("published", "Published", unit, layers, grid, absent=absent)


def _depths(published: int, here: int) -> str:
    return f"the published grid has {published} layers and this encoder {here}"


def _missing(matrix: Matrix[Figure], store: Store, found: Sequence[StoredRun]) -> str:
    """Why runs are missing; a child that waits for its parent has the parent's reason."""
    stored = {run.key for run in found}
    waiting = [spec for key, spec in matrix.wanted.items() if key not in stored]
    absent = [_first_missing(matrix, store, spec) for spec in waiting]
    why = why_missing(store, absent) if absent else ""
    return f"{why}: {command_line(matrix.request)}" if why == "not run" else why


def _first_missing(matrix: Matrix[Figure], store: Store, spec: RunSpec) -> RunSpec:
    """The trained run where it is missing, else the one that switches its adapters off."""
    (key,) = spec.parents.values()
    return matrix.runs[key] if store.read(key) is None else spec


def _intact(found: Sequence[StoredRun], task: GlueName) -> dict[str, float]:
    """Mean over seeds of the intact model's scores."""
    values = {metric: _scores(found, task, metric, INTACT) for metric in GLUE[task].metrics}
    return {metric: statistics.fmean(row) for metric, row in values.items() if row}


def _statements(
    task: GlueName,
    found: Sequence[StoredRun],
    layers: int,
    changes: Grid,
    undefined: str,
) -> tuple[Statement, ...]:
    """What Houlsby et al. say of one layer and of all layers, beside what is found here."""
    single = [value for (i, j), value in changes.items() if i == j]
    last = span_group((0, layers - 1))
    one, every = houlsby_says(ONE_LAYER), houlsby_says(ALL_LAYERS[task])
    shares = _scores(found, task, MAJORITY, last)
    return (
        Statement(
            "Largest relative drop in accuracy with the adapters of one layer off",
            one.value or 0.0, 0.0 - min(single) if single else None, one.source,
            undefined,
        ),
        Statement(
            f"Accuracy on {GLUE[task].title} with all adapters off, said to be the majority class",
            every.value or 0.0, _mean(_scores(found, task, RELATIVE, last)), every.source,
            f"{_mean(shares):.1f} % of the rows get the commonest prediction" if shares else "",
        ),
    )  # fmt: skip


def _scores(found: Sequence[StoredRun], task: GlueName, metric: str, group: str) -> list[float]:
    """One number a seed that has it."""
    return [v for run in found if (v := _score(run, task, metric, group)) is not None]


def _mean(values: Sequence[float]) -> float | None:
    return statistics.fmean(values) if values else None
