"""The heat map of switched-off adapters: its grids, what is said of them, and the picture.

Built from the store alone, without torch. Grids hold numbers in the papers' units: points (percent
of Matthews correlation or accuracy lost) and percent (change relative to the intact model). The
first layer that is switched off is on y, the last one on x, so the lower triangle is no span and
stays empty. In every panel no change is the lightest colour, and a loss has the same hue.
"""

from __future__ import annotations

import math
import statistics
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from repro.methods.bottleneck_adapters import BottleneckAdapters
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
from repro.report.declared import not_comparable, runs_differ
from repro.report.figures.style import (
    GAIN,
    LOSS,
    MARK,
    PAPER,
    WIDTH,
    headed,
    ink_on,
    rounded,
)
from repro.report.figures.view import csv_of, lacking
from repro.report.files import command_line
from repro.report.runs_found import Lookup, why_missing
from repro.spec import RunSpec
from repro.spec.glue import GLUE
from repro.spec.spans import INTACT, Span, all_spans, span_group
from repro.spec.tasks import GlueName
from repro.store.entry import StoredRun
from repro.store.store import Store
from repro.words import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

CSV_COLUMNS = (
    "figure", "scale", "task", "panel", "unit", "first_layer", "last_layer", "value", "one_class",
)  # fmt: skip
CELL, MARGINS, MOST = 0.33, 0.75, 27
"""Inches of a cell, inches beside a grid, and cells that stand side by side in a row of grids."""
DIGITS = 7.3
"""Points of the number in a cell: -100.0 has room."""
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
        """Why a picture would show nothing; "" where it shows something."""
        values = set(self.grid.values())
        if len(values) == 1 and len(self.grid) > 1:
            return f"{rounded(values.pop())} for every span"
        if values:
            return ""
        return self.absent or next(iter(self.undefined.values()), "no span has a number")

    @property
    def shown(self) -> list[Span]:
        """The spans with a number or undefined, by first layer, then by last."""
        return [] if self.absent else sorted({*self.grid, *self.undefined})

    def one_class(self, span: Span) -> bool | None:
        """Whether every row gets one class; None where nobody says."""
        return None if self.constant is None else span in self.constant


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


def view_of(figure: Figure, request: Request, store: Store) -> AblationView:
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


def headline(view: AblationView) -> str:
    """What is drawn, in one line."""
    method = view.trained.method
    size = f", size {method.size}" if isinstance(method, BottleneckAdapters) else ""
    model = view.figure.method(view.request)
    return f"Adapters of layers i to j switched off: {GLUE[view.task].title}, {model}{size}"


def stamp(view: AblationView) -> str:
    """Scale, encoder, seeds, and whether the published grid is comparable."""
    backbone, seeds = view.trained.backbone, view.request.seeds
    parts = [
        f"{view.request.scale.capitalize()} scale",
        f"{backbone.name} ({backbone.layers} layers)",
        "seed 0" if seeds == 1 else _seeds(view.drawn, seeds),
    ]
    parts += not_comparable(view.request.scale, view.differs)
    return " · ".join(parts)


def _seeds(drawn: int, asked: int) -> str:
    """mean of 3 seeds, mean of 2 of 3 seeds, 1 of 3 seeds, none of 3 seeds."""
    of = f"{drawn or 'none'} of " if drawn < asked else ""
    return f"{'mean of ' if drawn > 1 else ''}{of}{counted(asked, 'seed')}"


def constant(view: AblationView) -> str:
    """What a frame means; of several seeds one is enough."""
    seed = "For at least one seed every" if view.drawn > 1 else "Every"
    return f"{seed} row gets one class, so that Matthews' correlation is 0."


def collapsed(view: AblationView) -> str:
    """What gives a constant answer."""
    return "intact model" if view.collapsed else ""


def constant_answer(view: AblationView) -> list[str]:
    """That an intact model gives a constant answer, if one does."""
    if not view.collapsed:
        return []
    seeds = view.request.seeds
    of = f" of {view.collapsed} of {counted(view.drawn, 'seed')}" if seeds > 1 else ""
    return [f"The intact model{of} predicts one class: its spans say nothing about adapters."]


def agreement(view: AblationView) -> str:
    """How alike the two grids are, or why that cannot be said."""
    if view.correlation is None:
        return f"No rank correlation: {view.correlation_reason}."
    return f"Spearman rank correlation {rounded(view.correlation, 2)}, {view.correlation_reason}."


def statement(said: Statement) -> str:
    """What they say, and what is found here."""
    if said.reproduced is None:
        return f"{said.text}: {said.published:g} %; here: {said.note or 'not run'}."
    here, note = f"{rounded(said.reproduced)} %", f" ({said.note})" if said.note else ""
    return f"{said.text}: {said.published:g} %; here: {here}{note}."


def statements(view: AblationView) -> list[str]:
    """All of them; first, that other adapters than theirs are drawn, where they are."""
    drawn = view.figure.method(view.request)
    theirs = f"Their numbers are of their own adapters, those here of {drawn}."
    said = [statement(said) for said in view.statements]
    return said if drawn == "houlsby" else [theirs, *said]


def caption(view: AblationView) -> str:
    """What a reader must know of the grids."""
    task, recipe = view.trained.task, view.trained.recipe
    rows = f"{task.train_rows:,}" if task.train_rows else "all"
    kind = "generated" if task.source == "generated" else "published"
    parts = [
        f"{view.figure.title}.",
        f"{headline(view)}.",
        f"{stamp(view)}.",
        f"Trained on {rows} {kind} rows, {counted(recipe.epochs, 'epoch')}, batch "
        f"{recipe.batch_size}, rate {recipe.learning_rate:g}, {recipe.precision}; scored on "
        f"{GLUE[view.task].evaluation[0]}.",
        f"Grids: {view.panels[1].unit} (published, reproduced and the difference), and the change "
        "in accuracy, in percent of the intact model's.",
        *constant_answer(view),
        agreement(view),
        f"Houlsby et al., section 3.6: {' '.join(statements(view))}",
        f"Spans scored: {view.done}/{view.cells}.",
    ]
    return " ".join(parts)


def alternative(view: AblationView) -> str:
    """What stands in the picture, for who cannot see it."""
    drawn = [f"{panel.title}: {panel.blank or _ends(panel.grid)}" for panel in view.panels]
    return (
        "Heat maps over the first (y) and the last (x) layer whose adapters are switched off. "
        f"{'. '.join(drawn)}."
    )


def _ends(grid: Grid) -> str:
    least, most = min(grid, key=lambda s: grid[s]), max(grid, key=lambda s: grid[s])
    return (
        f"from {rounded(grid[least])} (layers {least[0]} to {least[1]}) "
        f"to {rounded(grid[most])} (layers {most[0]} to {most[1]})"
    )


def notes(view: AblationView) -> list[str]:
    """What is undefined or missing, and what holds for the figure at every scale."""
    found = constant_answer(view)
    framed = view.panels[1].constant
    if framed:
        found.append(f"{counted(len(framed), 'span')} framed: {constant(view)}")
    undefined = view.panels[3].undefined
    if undefined:
        reasons = "; ".join(sorted(set(undefined.values())))
        found.append(f"{counted(len(undefined), 'span')} undefined: {reasons}.")
    if view.partial:
        found.append(f"{view.partial.removesuffix('.')}.")
    return found + list(view.figure.notes)


def csv_text(view: AblationView) -> str:
    """One cell of one panel a line, layers from 0; `one_class`: all rows get one. An undefined
    value is empty.
    """
    head = view.figure.id, view.request.scale, view.task
    return csv_of(
        CSV_COLUMNS,
        [
            (*head, panel.name, panel.unit, *span, panel.grid.get(span), panel.one_class(span))
            for panel in view.panels
            for span in panel.shown
        ],
    )


def as_json(view: AblationView) -> dict[str, Any]:
    """What `figure --json` says of it, but for the files; docs/json.md describes it."""
    return {
        "id": view.figure.id,
        "scale": view.request.scale,
        "task": view.task,
        "method": view.figure.method(view.request),
        "encoder": view.trained.backbone.name,
        "caption": caption(view),
        "intact": {
            "reproduced": dict(view.intact),
            "published": view.published_intact,
            "collapsed": view.collapsed,
        },
        "panels": [_panel_json(panel) for panel in view.panels],
        "rank_correlation": {"value": view.correlation, "reason": view.correlation_reason},
        "statements": [asdict(said) | {"note": said.note or None} for said in view.statements],
        "complete": f"{view.done}/{view.cells}",
        "runs": list(view.runs),
        "notes": notes(view),
    }


def _panel_json(panel: Panel) -> dict[str, Any]:
    return {
        "name": panel.name,
        "title": panel.title,
        "unit": panel.unit,
        "layers": panel.layers,
        "absent": panel.absent or None,
        "cells": [
            {
                "first": span[0],
                "last": span[1],
                "value": panel.grid.get(span),
                "undefined": panel.undefined.get(span),
                "one_class": panel.one_class(span),
            }
            for span in panel.shown
        ],
    }


def draw(view: AblationView) -> Drawing:
    """The grids that show something, with cells of one size; call it within `styled`."""
    rows = in_rows([panel for panel in view.panels if not panel.blank])
    said = lacking("Not drawn", ((p.title.lower(), p.blank) for p in view.panels if p.blank))
    if any(panel.constant for row in rows for panel in row):
        said.append(f"Framed: {constant(view)}")
    wide = [CELL * sum(panel.layers for panel in row) + MARGINS * len(row) for row in rows]
    tall = [CELL * max(panel.layers for panel in row) + 1.4 for row in rows]
    width = max([0.75 * WIDTH, *wide])
    drawing = headed(width, math.fsum(tall), headline(view), stamp(view), *said)
    parts: Any = drawing.subfigures(len(rows) or 1, 1, height_ratios=tall or None, squeeze=False)
    published, reproduced = view.panels[:2]
    for part, row, own in zip(parts[:, 0], rows, wide, strict=False):
        ratios = [*(CELL * panel.layers + MARGINS for panel in row), width - own + 0.01]
        grid = part.add_gridspec(1, len(ratios), width_ratios=ratios)
        for place, panel in enumerate(row):
            shared = (published, reproduced) if panel in (published, reproduced) else (panel,)
            fill(part.add_subplot(grid[place]), panel, farthest(*shared))
    return drawing


def in_rows(panels: Sequence[Panel]) -> list[list[Panel]]:
    """Rows of panels, of at most `MOST` cells side by side; a larger one stands alone."""
    rows: list[list[Panel]] = []
    for panel in panels:
        if not rows or sum(p.layers for p in rows[-1]) + panel.layers > MOST:
            rows.append([])
        rows[-1].append(panel)
    return rows


def farthest(*panels: Panel) -> float:
    """How far colours reach to either side of 0, their lightest."""
    values = [abs(value) for panel in panels for value in panel.grid.values()]
    return max(values, default=0.0) or 1.0


def fill(axes: Axes, panel: Panel, reach: float) -> None:
    """Draws one grid, and below it a bar of the colours that its values have."""
    import pandas as pd
    import seaborn
    from matplotlib.patches import Rectangle
    from matplotlib.ticker import MaxNLocator

    numbers = range(panel.layers)
    values = pd.DataFrame(index=numbers, columns=numbers, dtype=float)
    texts = pd.DataFrame("", index=numbers, columns=numbers)
    for (first, last), value in panel.grid.items():
        values.loc[first, last], texts.loc[first, last] = value, rounded(value)
    seaborn.heatmap(
        values, vmin=-reach, vmax=reach, cmap=GAIN if panel.name == "relative" else LOSS,
        annot=texts, fmt="", annot_kws={"size": DIGITS}, linewidths=0.5,
        linecolor=PAPER, square=True, ax=axes,
        cbar_kws={"location": "bottom", "aspect": 25, "pad": 0.03, "ticks": MaxNLocator(4)},
    )  # fmt: skip
    for text in axes.texts:
        column, row = text.get_position()
        shade = axes.collections[0].to_rgba(values.iloc[int(row), int(column)])
        text.set_color(ink_on(tuple(shade)))
    for first, last in sorted(panel.constant or ()):
        place = (last + 0.06, first + 0.06)
        axes.add_patch(Rectangle(place, 0.88, 0.88, fill=False, ec=MARK, lw=1.2))
    letters = int(11 * CELL * panel.layers)
    bar = axes.collections[0].colorbar
    assert bar is not None
    if any(panel.grid.values()):
        bar.ax.set_xlim(min(0.0, *panel.grid.values()), max(0.0, *panel.grid.values()))
    bar.set_label(textwrap.fill(panel.unit, letters + 6))
    bar.outline.set_visible(False)
    axes.set_title(textwrap.fill(panel.title, letters), loc="left")
    axes.set(xlabel="last layer switched off", ylabel="first layer switched off", anchor="S")
    axes.tick_params(length=0, labelrotation=0)
