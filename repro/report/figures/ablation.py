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
from operator import sub
from typing import TYPE_CHECKING, Any

from repro.methods.bottleneck_adapters import BottleneckAdapters
from repro.papers.figures import Figure
from repro.papers.matrix import Matrix
from repro.papers.published import Published
from repro.papers.request import Request
from repro.papers.three_shared.tables import (
    ALL_LAYERS,
    ONE_LAYER,
    houlsby_says,
    published_drops,
    published_intact,
)
from repro.report.captions import METRICS
from repro.report.declared import runs_differ
from repro.report.figures.style import GAIN, LOSS, MARK, PAPER, WIDTH, headed, ink_on
from repro.report.figures.view import FigureView, lacking
from repro.report.files import command_line
from repro.report.render import csv_of, number
from repro.report.runs_found import Lookup, why_missing
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
PROTOCOL = "glue"
RELATIVE = "accuracy"
"""Houlsby et al. draw the change in this metric, relative to the intact model's."""
MAJORITY = "majority_share"
NO_SHARE = "no change in percent: the intact model's accuracy is 0"
CELL, MARGINS, MOST = 0.33, 0.75, 27
"""Inches of a cell, inches beside a grid, and cells that stand side by side in a row of grids."""
DIGITS = 7.3
"""Points of the number in a cell: -100.0 has room."""
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
            return f"{number(values.pop())} for every span"
        if values:
            return ""
        return self.absent or next(iter(self.undefined.values()), "no span has a number")

    @property
    def cells(self) -> list[dict[str, Any]]:
        """The spans with a number or undefined, by first layer, then by last."""
        spans = [] if self.absent else sorted({*self.grid, *self.undefined})
        return [
            {
                "first": span[0],
                "last": span[1],
                "value": self.grid.get(span),
                "undefined": self.undefined.get(span),
                "one_class": None if self.constant is None else span in self.constant,
            }
            for span in spans
        ]


@dataclass(frozen=True, slots=True)
class Statement:
    """What Houlsby et al. say, its number in percent, and that number here (None: not scored, or
    undefined for the reason that is the note).
    """

    text: str
    published: float
    reproduced: float | None
    source: str
    note: str | None = None

    def __str__(self) -> str:
        note = f" ({self.note})" if self.note else ""
        here = self.note or "not run"
        if self.reproduced is not None:
            here = f"{number(self.reproduced)} %{note}"
        return f"{self.text}: {self.published:g} %; here: {here}."


@dataclass(frozen=True)
class AblationView(FigureView):
    """The figure at one scale; its cells are spans. Runs of `drawn` seeds are behind the grids; the
    intact models of `constant` seeds give every row one class. `differs`: why the grids cannot be
    compared with the published ones.
    """

    task: GlueName
    method: str
    drawn: int
    constant: int
    intact: Mapping[str, float]
    published_intact: float | None
    panels: tuple[Panel, Panel, Panel, Panel]
    correlation: float | None
    correlation_reason: str
    statements: tuple[Statement, ...]
    partial: str
    differs: str

    @property
    def headline(self) -> str:
        method = self.lead.method
        size = f", size {method.size}" if isinstance(method, BottleneckAdapters) else ""
        title = GLUE[self.task].title
        return f"Adapters of layers i to j switched off: {title}, {self.method}{size}"

    @property
    def stamp(self) -> str:
        """Scale, encoder, seeds (mean of 2 of 3 seeds), and whether the grids are comparable."""
        seeds, drawn = self.request.seeds, self.drawn
        of = f"{drawn or 'none'} of " if drawn < seeds else ""
        many = f"{'mean of ' if drawn > 1 else ''}{of}{counted(seeds, 'seed')}"
        return self.stamped("seed 0" if seeds == 1 else many, differs=self.differs)

    @property
    def framed(self) -> str:
        seed = "For at least one seed every" if self.drawn > 1 else "Every"
        return f"{seed} row gets one class, so that Matthews' correlation is 0."

    @property
    def constant_answer(self) -> list[str]:
        seeds = counted(self.drawn, "seed")
        of = f" of {self.constant} of {seeds}" if self.request.seeds > 1 else ""
        said = f"The intact model{of} predicts one class: its spans say nothing about adapters."
        return [said] * bool(self.constant)

    @property
    def caption(self) -> str:
        task, recipe = self.lead.task, self.lead.recipe
        rows = f"{task.train_rows:,}" if task.train_rows else "all"
        kind = "generated" if task.source == "generated" else "published"
        agreement = f"No rank correlation: {self.correlation_reason}."
        if self.correlation is not None:
            value = number(self.correlation, 2)
            agreement = f"Spearman rank correlation {value}, {self.correlation_reason}."
        theirs = f"Their numbers are of their own adapters, those here of {self.method}."
        said = [*[theirs] * (self.method != "houlsby"), *map(str, self.statements)]
        parts = [
            f"{self.figure.title}. {self.headline}. {self.stamp}.",
            f"Trained on {rows} {kind} rows, {counted(recipe.epochs, 'epoch')}, batch "
            f"{recipe.batch_size}, rate {recipe.learning_rate:g}, {recipe.precision}; scored on "
            f"{GLUE[self.task].evaluation[0]}.",
            f"Grids: {self.panels[1].unit} (published, reproduced and the difference), and the "
            "change in accuracy, in percent of the intact model's.",
            *self.constant_answer,
            agreement,
            f"Houlsby et al., section 3.6: {' '.join(said)}",
            f"Spans scored: {self.done}/{self.cells}.",
        ]
        return " ".join(parts)

    @property
    def alternative(self) -> str:
        drawn = [f"{panel.title}: {panel.blank or _ends(panel.grid)}" for panel in self.panels]
        return (
            "Heat maps over the first (y) and the last (x) layer whose adapters are switched off. "
            f"{'. '.join(drawn)}."
        )

    def own_notes(self) -> list[str]:
        found = self.constant_answer
        framed, undefined = self.panels[1].constant, self.panels[3].undefined
        if framed:
            found.append(f"{counted(len(framed), 'span')} framed: {self.framed}")
        if undefined:
            reasons = "; ".join(sorted(set(undefined.values())))
            found.append(f"{counted(len(undefined), 'span')} undefined: {reasons}.")
        return found + [f"{self.partial.removesuffix('.')}."] * bool(self.partial)

    @property
    def csv(self) -> str:
        """One cell of one panel a line, layers from 0; `one_class`: all rows get one. An undefined
        value is empty.
        """
        head = self.id, self.request.scale, self.task
        names = ("first", "last", "value", "one_class")
        return csv_of(
            CSV_COLUMNS,
            [
                (*head, panel.name, panel.unit, *(cell[name] for name in names))
                for panel in self.panels
                for cell in panel.cells
            ],
        )

    def data(self) -> dict[str, Any]:
        return {
            "task": self.task,
            "method": self.method,
            "encoder": self.lead.backbone.name,
            "caption": self.caption,
            "intact": {
                "reproduced": dict(self.intact),
                "published": self.published_intact,
                "collapsed": self.constant,
            },
            "panels": [
                {name: getattr(panel, name) for name in ("name", "title", "unit", "layers")}
                | {"absent": panel.absent or None, "cells": panel.cells}
                for panel in self.panels
            ],
            "rank_correlation": {"value": self.correlation, "reason": self.correlation_reason},
            "statements": list(map(asdict, self.statements)),
        }

    def draw(self) -> Drawing:
        """The grids that show something, with cells of one size, side by side."""
        rows = in_rows([panel for panel in self.panels if not panel.blank])
        said = lacking("Not drawn", ((p.title.lower(), p.blank) for p in self.panels if p.blank))
        if any(panel.constant for row in rows for panel in row):
            said.append(f"Framed: {self.framed}")
        wide = [CELL * sum(panel.layers for panel in row) + MARGINS * len(row) for row in rows]
        tall = [CELL * max(panel.layers for panel in row) + 1.4 for row in rows]
        width = max([0.75 * WIDTH, *wide])
        drawing = headed(width, math.fsum(tall), self.headline, self.stamp, *said)
        parts: Any = drawing.subfigures(
            len(rows) or 1, 1, height_ratios=tall or None, squeeze=False
        )
        for part, row, own in zip(parts[:, 0], rows, wide, strict=False):
            ratios = [*(CELL * panel.layers + MARGINS for panel in row), width - own + 0.01]
            grid = part.add_gridspec(1, len(ratios), width_ratios=ratios)
            for place, panel in enumerate(row):
                shared = self.panels[:2] if panel in self.panels[:2] else (panel,)
                fill(part.add_subplot(grid[place]), panel, farthest(*shared))
        return drawing


def view_of(figure: Figure, request: Request, store: Store) -> AblationView:
    """Lays the store's results beside the published grid."""
    task, matrix = figure.task(request), figure.matrix(request)
    keys, lead = list(matrix.wanted), matrix.entries[0].spec
    found = [run for key in keys if (run := store.read(key)) is not None]
    missing = _missing(matrix, store, found)
    changes = mean_grid([_grid(run, task, RELATIVE, relative_change) for run in found])
    panels = _panels(task, lead.backbone.layers, found, changes, "" if found else missing)
    correlation, reason = rank_correlation(panels[0], panels[1])
    intact = {metric: _scores(found, task, metric, INTACT) for metric in GLUE[task].metrics}
    partial = f"{len(found)} of {len(keys)} seeds; the rest: {missing}"
    whole = not found or len(found) == len(keys)
    constant = _scores(found, task, MAJORITY, INTACT).count(100.0)
    return AblationView(
        matrix=matrix,
        lead=lead,
        runs=tuple(entry.key for entry in matrix.entries if store.read(entry.key)),
        cells=len(all_spans(lead.backbone.layers)),
        done=len(panels[1].grid) if whole else 0,
        collapsed="intact model" if constant else "",
        task=task,
        method=figure.method(request),
        drawn=len(found),
        constant=constant,
        intact={metric: statistics.fmean(row) for metric, row in intact.items() if row},
        published_intact=percent(published_intact()) if published_drops(task) else None,
        panels=panels,
        correlation=correlation,
        correlation_reason=reason,
        statements=_statements(task, found, panels[3]),
        partial="" if whole else partial,
        differs=grids_differ(figure, request, store) if found else "",
    )


def grids_differ(figure: Figure, request: Request, store: Store) -> str:
    """Why the grids of a request cannot be compared with the published ones; "" where they can."""
    task = figure.task(request)
    published, here = figure.published_rows[task], GLUE[task].evaluation[0]
    other = f"published: {published}, reproduced: {here}" if published != here else ""
    return runs_differ(figure.matrix(request), Lookup(store), ("", task)) or other


def lost(run: StoredRun, task: GlueName) -> Grid:
    """Points that each span costs one run, in the metric that the task is selected by: positive
    where switching adapters off hurts.
    """
    return _grid(run, task, GLUE[task].monitor, sub)


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
    spans = all_spans(run.spec.backbone.layers)
    scores = {span: _score(run, task, metric, span_group(span)) for span in spans}
    return {
        span: value
        for span, score in scores.items()
        if intact is not None and score is not None and (value := change(intact, score)) is not None
    }


def _panels(
    task: GlueName, layers: int, found: Sequence[StoredRun], changes: Grid, missing: str
) -> tuple[Panel, Panel, Panel, Panel]:
    """Published, reproduced, their difference; and the relative change, which nobody printed.

    A relative change is undefined where it is for one seed. Of a constant span the seed gives every
    row one class; Matthews is then 0.
    """
    spans = all_spans(layers)
    undefined = dict.fromkeys(spans, NO_SHARE)
    if all(_score(run, task, RELATIVE, INTACT) != 0 for run in found):
        undefined = {}
    constant = frozenset(s for s in spans if 100.0 in _scores(found, task, MAJORITY, span_group(s)))
    monitor = GLUE[task].monitor
    unit = f"drop in {METRICS.get(monitor, monitor)}, points"
    published, drops = _published(task, unit), mean_grid([lost(run, task) for run in found])
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
    stored, absent = {run.key for run in found}, []
    for key, spec in matrix.wanted.items():
        if key not in stored:
            (parent,) = spec.parents.values()
            absent.append(matrix.runs[parent] if store.read(parent) is None else spec)
    why = why_missing(store, absent) if absent else ""
    return f"{why}: {command_line(matrix.request)}" if why == "not run" else why


def _statements(
    task: GlueName, found: Sequence[StoredRun], relative: Panel
) -> tuple[Statement, Statement]:
    """What Houlsby et al. say of one layer and of all layers, beside what is found here."""
    single = [value for (i, j), value in relative.grid.items() if i == j]
    last = span_group((0, relative.layers - 1))
    one, every = houlsby_says(ONE_LAYER), houlsby_says(ALL_LAYERS[task])
    shares, scores = (_scores(found, task, metric, last) for metric in (MAJORITY, RELATIVE))
    share = f"{statistics.fmean(shares):.1f} % of the rows" if shares else ""
    return (
        Statement(
            "Largest relative drop in accuracy with the adapters of one layer off",
            one.value or 0.0, 0.0 - min(single) if single else None, one.source,
            NO_SHARE if relative.undefined else None,
        ),
        Statement(
            f"Accuracy on {GLUE[task].title} with all adapters off, said to be the majority class",
            every.value or 0.0, statistics.fmean(scores) if scores else None, every.source,
            f"{share} get the commonest prediction" if shares else None,
        ),
    )  # fmt: skip


def _scores(found: Sequence[StoredRun], task: GlueName, metric: str, group: str) -> list[float]:
    return [v for run in found if (v := _score(run, task, metric, group)) is not None]


def _ends(grid: Grid) -> str:
    least, most = min(grid, key=lambda s: grid[s]), max(grid, key=lambda s: grid[s])
    return (
        f"from {number(grid[least])} (layers {least[0]} to {least[1]}) "
        f"to {number(grid[most])} (layers {most[0]} to {most[1]})"
    )


# The picture.


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
        values.loc[first, last], texts.loc[first, last] = value, number(value)
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
