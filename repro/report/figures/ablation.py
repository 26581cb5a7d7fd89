"""The heat map of switched-off adapters as it stands: every grid, and what is said of them.

Built from the store alone, without torch. Grids hold numbers in the papers' units: points (percent
of Matthews correlation or accuracy lost) and percent (change relative to the intact model).
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from repro.papers.figures import Figure
from repro.papers.tables import Request
from repro.papers.three_shared.figures import (
    ALL_LAYERS,
    ONE_LAYER,
    houlsby_says,
    published_drops,
    published_intact,
)
from repro.report.view import why_missing
from repro.spec import RunSpec, run_key
from repro.spec.glue import GLUE
from repro.spec.spans import INTACT, Span, all_spans, span_group
from repro.spec.types import GlueName
from repro.store.entry import StoredRun
from repro.store.store import Store

PROTOCOL = "glue"
RELATIVE = "accuracy"
"""Houlsby et al. draw the change in this metric, relative to the intact model's."""
NAMES = {"matthews": "Matthews correlation", "accuracy": "accuracy"}
Grid = Mapping[Span, float]


@dataclass(frozen=True, slots=True)
class Panel:
    """One grid. `undefined` spans were scored and have no number; `absent` says why it is empty."""

    name: str
    title: str
    unit: str
    layers: int
    grid: Grid
    undefined: frozenset[Span] = frozenset()
    absent: str = ""


@dataclass(frozen=True, slots=True)
class Statement:
    """What Houlsby et al. say, its number in percent, and that number here (None: not scored)."""

    text: str
    published: float
    reproduced: float | None
    source: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class AblationView:
    """The figure at one scale. `trained` and `ablated` are the runs of the first seed."""

    figure: Figure
    request: Request
    trained: RunSpec
    ablated: RunSpec
    runs: tuple[str, ...]
    intact: Mapping[str, float]
    published_intact: float | None
    panels: tuple[Panel, Panel, Panel, Panel]
    correlation: float | None
    correlation_reason: str
    statements: tuple[Statement, ...] = field(default=())
    partial: str = ""
    unavailable: str = ""

    @property
    def task(self) -> GlueName:
        """Which task of GLUE."""
        return self.figure.task(self.request)

    @property
    def cells(self) -> int:
        """Spans in all."""
        return len(all_spans(self.trained.backbone.layers))

    @property
    def done(self) -> int:
        """Spans that were scored for every seed."""
        drawn = self.panels[1]
        return 0 if self.partial else len(drawn.grid) + len(drawn.undefined)

    @property
    def complete(self) -> bool:
        """Every span is scored, or nothing can be: the task's data cannot be had here."""
        return self.done == self.cells or bool(self.unavailable)


def view_ablation(figure: Figure, request: Request, store: Store) -> AblationView:
    """Lays the store's results beside the published grid."""
    task = figure.task(request)
    chains = figure.chains(request)
    keys = [run_key(chain[-1]) for chain in chains]
    found = [run for key in keys if (run := store.read(key)) is not None]
    unavailable = request.unavailable.get(task, "")
    missing = unavailable or _missing(store, chains, found)
    layers = chains[0][0].backbone.layers
    drops = mean_grid([_drops(run, task, layers) for run in found])
    changes = mean_grid([_changes(run, task, layers) for run in found])
    panels = _panels(task, layers, drops, changes, missing if not found else "")
    correlation, reason = rank_correlation(panels[0], panels[1])
    shown = published_drops(task)
    return AblationView(
        figure=figure,
        request=request,
        trained=chains[0][0],
        ablated=chains[0][-1],
        runs=tuple(run.key for run in found),
        intact=_intact(found, task),
        published_intact=100 * (published_intact().value or 0.0) if shown else None,
        panels=panels,
        correlation=correlation,
        correlation_reason=reason,
        statements=_statements(task, found, layers, changes),
        partial=f"{len(found)} of {len(keys)} seeds; the rest: {missing}"
        if found and len(found) < len(keys)
        else "",
        unavailable=unavailable,
    )


def drop(intact: float, score: float) -> float:
    """Points lost: positive where switching adapters off hurts."""
    return intact - score


def relative_change(intact: float, score: float) -> float:
    """Percent gained, as Houlsby et al. define it: negative where switching off hurts."""
    return 100 * (score - intact) / intact


def mean_grid(grids: Sequence[dict[Span, float | None]]) -> dict[Span, float | None]:
    """The mean over seeds; a span that has no number in one of them has none."""
    spans = grids[0] if grids else {}
    columns = {span: [grid[span] for grid in grids] for span in spans}
    return {
        span: None if None in values else statistics.fmean(v for v in values if v is not None)
        for span, values in columns.items()
    }


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
    return None if score is None else score.value


def _drops(run: StoredRun, task: GlueName, layers: int) -> dict[Span, float | None]:
    intact = _score(run, task, GLUE[task].monitor, INTACT)
    scores = {s: _score(run, task, GLUE[task].monitor, span_group(s)) for s in all_spans(layers)}
    return {
        span: None if intact is None or score is None else drop(intact, score)
        for span, score in scores.items()
    }


def _changes(run: StoredRun, task: GlueName, layers: int) -> dict[Span, float | None]:
    intact = _score(run, task, RELATIVE, INTACT)
    scores = {s: _score(run, task, RELATIVE, span_group(s)) for s in all_spans(layers)}
    return {
        span: relative_change(intact, score) if intact and score is not None else None
        for span, score in scores.items()
    }


def _panels(
    task: GlueName,
    layers: int,
    drops: dict[Span, float | None],
    changes: dict[Span, float | None],
    missing: str,
) -> tuple[Panel, Panel, Panel, Panel]:
    """Published, reproduced, their difference; and the relative change, which nobody printed."""
    unit = f"drop in {NAMES[GLUE[task].monitor]}, points"
    published = _published(task, unit)
    reproduced = _panel("reproduced", "Reproduced", unit, layers, drops, missing)
    absent = reproduced.absent or published.absent
    if not absent and published.layers != layers:
        absent = _depths(published.layers, layers)
    both = {} if absent else {s: v - published.grid[s] for s, v in reproduced.grid.items()}
    undefined = frozenset() if absent else reproduced.undefined
    title = "Reproduced minus published"
    difference = Panel("difference", title, "difference, points", layers, both, undefined, absent)
    relative = _panel(
        "relative", "Relative change in accuracy", "change, percent of the intact model's accuracy",
        layers, changes, missing,
    )  # fmt: skip
    return published, reproduced, difference, relative


def _panel(
    name: str, title: str, unit: str, layers: int, cells: dict[Span, float | None], absent: str
) -> Panel:
    grid = {span: value for span, value in cells.items() if value is not None}
    return Panel(name, title, unit, layers, grid, frozenset(set(cells) - set(grid)), absent)


def _published(task: GlueName, unit: str) -> Panel:
    cells = published_drops(task)
    grid = {span: 100 * (cell.value or 0.0) for span, cell in cells.items()}
    layers = 1 + max((last for _, last in grid), default=-1)
    absent = "" if grid else f"{GLUE[task].title}: nobody printed the numbers of a grid"
    return Panel("published", "Published", unit, layers, grid, absent=absent)


def _depths(published: int, here: int) -> str:
    return f"the published grid has {published} layers and this encoder {here}"


def _missing(
    store: Store, chains: Sequence[tuple[RunSpec, ...]], found: Sequence[StoredRun]
) -> str:
    """Why runs are missing; a child that waits for its parent has the parent's reason."""
    stored = {run.key for run in found}
    waiting = [chain for chain in chains if run_key(chain[-1]) not in stored]
    keys = [
        key for chain in waiting for spec in chain if store.state(key := run_key(spec)) != "done"
    ]
    return why_missing(store, keys) if keys else ""


def _intact(found: Sequence[StoredRun], task: GlueName) -> dict[str, float]:
    """Mean over seeds of the intact model's scores."""
    values = {metric: _scores(found, task, metric, INTACT) for metric in GLUE[task].metrics}
    return {metric: statistics.fmean(row) for metric, row in values.items() if row}


def _statements(
    task: GlueName,
    found: Sequence[StoredRun],
    layers: int,
    changes: dict[Span, float | None],
) -> tuple[Statement, ...]:
    """What Houlsby et al. say of one layer and of all layers, beside what is found here."""
    single = [value for (i, j), value in changes.items() if i == j and value is not None]
    last = span_group((0, layers - 1))
    one, every = houlsby_says(ONE_LAYER), houlsby_says(ALL_LAYERS[task])
    shares = _scores(found, task, "majority_share", last)
    return (
        Statement(
            "Largest relative drop in accuracy with the adapters of one layer off",
            one.value or 0.0, -min(single) if single else None, one.source,
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
