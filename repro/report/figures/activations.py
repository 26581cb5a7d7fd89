"""Learned activations: the curve of each layer, or why there is none, and the picture.

Built without torch, from the coefficients that results hold. In the picture every curve has axes
of its own, the published one dashed behind it.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from repro.methods.adaptable_adapters import AdaptableAdapters, evaluate
from repro.papers.figures import Activations, Curve, Digitised, Panel
from repro.papers.matrix import Matrix
from repro.papers.request import Request
from repro.report.declared import runs_differ
from repro.report.figures.style import BASE, INK, QUIET, SMALL, WIDTH, headed
from repro.report.figures.view import FigureView, lacking
from repro.report.render import csv_of
from repro.report.runs_found import Lookup
from repro.spec import RunSpec
from repro.spec.glue import GLUE
from repro.store.result import Activation
from repro.store.store import Store
from repro.words import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

PANELS: tuple[Panel, ...] = ("layers", "tasks")
Y_LABEL = "R(x)"
CSV_COLUMNS = (
    "figure", "scale", "panel", "task", "layer", "published_layer", "kind", "x", "y", "met",
    "in_use", "model", "encoder", "source",
)  # fmt: skip
MOST = 15.0
"""What is farther from 0 is not drawn."""
OURS, THEIRS, SHADE = "#0072B2", INK, "#DCEBF5"
"""Colours of a curve of ours and of a published one, and behind them where inputs were met."""
ACROSS = 5
"""Pairs of axes side by side."""
STEP = 0.05
"""Between two places on x."""
Points = tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class Line:
    """One curve: `layer` is ours (from 0), None where none stands for the published one.

    `learned` is None where `absent` says why; `used`: the layer's adapter is in use; `constant`:
    the run predicts one class.
    """

    curve: Curve
    layer: int | None
    key: str
    learned: Activation | None
    used: bool
    constant: bool
    absent: str
    published: Digitised | None

    def points(self, x: NDArray[np.float64]) -> Points:
        """(x, R(x)) of what is learned; none where nothing is."""
        if self.learned is None:
            return ()
        one = self.learned
        y = evaluate(one.numerator, one.denominator, one.form, x)
        return tuple(zip(x.tolist(), y.tolist(), strict=True))

    @property
    def document(self) -> dict[str, Any]:
        one, published = self.learned, self.published
        return {
            "task": self.curve.task,
            "layer": self.layer,
            "published_layer": self.curve.layer,
            "absent": self.absent or None,
            "in_use": self.used,
            "learned": one.model_dump(mode="json") if one is not None else None,
            "published": asdict(published) if published is not None else None,
        }


@dataclass(frozen=True)
class ActivationsView(FigureView):
    """The whole figure; its cells are the curves that runs can give, because their data is here and
    the model has such a layer. `lead` is the run of the first panel. `differs`: why the curves
    cannot be compared with the published ones, "" where they can.
    """

    model: str
    lines: tuple[Line, ...]
    differs: str

    def panel(self, name: Panel) -> tuple[Line, ...]:
        return tuple(line for line in self.lines if line.curve.panel == name)

    @property
    def same_depth(self) -> bool:
        """Every layer of the paper's encoder is here, under its own number."""
        placed: dict[int, int] = self.figure.placed(own_layers(self.lead))
        return placed == {n: n for n in self.figure.layers}

    @property
    def x(self) -> NDArray[np.float64]:
        """Places on x: as far as the published curves reach."""
        ends = [x for one in self.figure.published().values() for x, _ in one.points]
        number = round((max(ends) - min(ends)) / STEP) + 1
        return np.linspace(min(ends), max(ends), number).round(6)

    @property
    def stamp(self) -> str:
        """Scale, encoder, model and rows, and whether the layers are the published ones."""
        drawn = f"{self.model}, {self.figure.rows(self.request)}, seed {self.lead.seed}"
        return self.stamped(drawn, differs=self.differs, what="curves")

    def title(self, panel: Panel) -> str:
        """Layers of one adapter: QNLI; layer 2 on several tasks."""
        if panel == "layers":
            return f"Layers of one run: {GLUE[self.figure.task].title}"
        lines = self.panel(panel)
        layers = sorted({line.layer for line in lines if line.layer is not None})
        of = f"Layer {layers[0]}" if layers else "No layer"
        return f"{of}{self._stands_for(self.figure.layer)} on {counted(len(lines), 'task')}"

    def name(self, line: Line) -> str:
        """layer 4 (for layer 7 of 24); CoLA."""
        if line.curve.panel == "tasks":
            return GLUE[line.curve.task].title
        own = "no layer" if line.layer is None else f"layer {line.layer}"
        return own + self._stands_for(line.curve.layer)

    def _stands_for(self, layer: int) -> str:
        return "" if self.same_depth else f" (for {layer} of {self.figure.depth})"

    @property
    def published_label(self) -> str:
        return f"published, {self.figure.encoder} (digitised from a picture)"

    @property
    def caption(self) -> str:
        task = self.lead.task
        kind = "generated" if task.source == "generated" else "published"
        rows = f"{task.train_rows:,} {kind} rows" if task.train_rows else f"all {kind} rows"
        errors = {one.error for one in self.figure.published().values()}
        parts = [
            f"{self.figure.title}. {self.stamp}.",
            f"Each adapter of {rows}, a quarter of them for development; inputs are those of the "
            "scored rows.",
            "Solid: where inputs were met; thin: beyond them. Dashed, in the same colour: "
            f"{self.published_label}, each point within ±{min(errors):g} or ±{max(errors):g}.",
            f"Curves drawn: {self.done}/{self.cells}.",
        ]
        return " ".join(parts)

    def own_notes(self) -> list[str]:
        missing = (line for line in self.lines if line.learned is None)
        found = [f"Not drawn, {self.name(line)}: {line.absent}." for line in missing]
        cut = [line for line in self.lines if any(abs(y) > MOST for _, y in line.points(self.x))]
        if cut:
            named = ", ".join(map(self.name, cut))
            found.append(f"Cut off in the picture beyond ±{MOST:g}, whole in its CSV: {named}.")
        pools = [GLUE[t].title for t in self.figure.needed(self.request) if t in self.request.pools]
        if pools:
            titles = ", ".join(pools)
            found.append(
                f"Training rows drawn from validation rows, of which others score: {titles}."
            )
        if self.collapsed:
            found.append(f"Runs that predict one class: {self.collapsed}.")
        return found + ["Of several seeds the first one is drawn."] * (self.request.seeds > 1)

    @property
    def alternative(self) -> str:
        said = {panel: "; ".join(map(self._said, self.panel(panel))) for panel in PANELS}
        return f"Curves of learned activations, {self.stamp}. " + " ".join(
            f"{self.title(panel)}: {curves}." for panel, curves in said.items()
        )

    def _said(self, line: Line) -> str:
        """layer 0 1.2 at -4, 0.9 at 0, 0.3 at 4; published -2.0 at -3.5, ..."""
        here = f"not drawn ({line.absent})"
        if line.learned is not None:
            here = _ends(line.points(self.x))
        there = f", published {_ends(line.published.points)}" if line.published else ""
        return f"{self.name(line)} {here}{there}"

    @property
    def csv(self) -> str:
        rows: list[list[Any]] = []
        ours, theirs = (self.model, self.lead.backbone.name), self.figure.methods[0]
        for line in self.lines:
            curve, one, printed = line.curve, line.learned, line.published
            head = [self.id, self.request.scale, curve.panel, curve.task]
            for x, y in line.points(self.x):
                met = one is not None and one.low <= x <= one.high
                own = [line.layer, curve.layer, "reproduced", x, round(y, 6), met, line.used]
                rows.append([*head, *own, *ours, ""])
            for x, y in printed.points if printed else ():
                own = ["", curve.layer, "digitised", x, y, "", ""]
                rows.append([*head, *own, theirs, self.figure.encoder, printed and printed.source])
        return csv_of(CSV_COLUMNS, rows)

    def data(self) -> dict[str, Any]:
        return {
            "method": self.model,
            "section": self.figure.rows(self.request),
            "encoder": self.lead.backbone.name,
            "caption": self.caption,
            "panels": [
                {
                    "name": panel,
                    "title": self.title(panel),
                    "unit": Y_LABEL,
                    "curves": [line.document for line in self.panel(panel)],
                }
                for panel in PANELS
            ],
        }

    def draw(self) -> Drawing:
        from matplotlib.lines import Line2D
        from matplotlib.patches import Patch

        rows = [
            (self.title(panel) if not n else "", lines[n : n + ACROSS])
            for panel in PANELS
            if (lines := [one for one in self.panel(panel) if one.learned or one.published])
            for n in range(0, len(lines), ACROSS)
        ]
        absent = ((self.name(one), one.absent) for one in self.lines if not one.learned)
        said = lacking("Not reproduced", absent)
        drawing = headed(WIDTH, 2.35 * len(rows) + 0.5, self.figure.title, self.stamp, *said)
        parts = drawing.subfigures(len(rows), 1, squeeze=False)[:, 0]
        for part, (words, lines) in zip(parts, rows, strict=True):
            part.suptitle(words, x=0.01, ha="left", weight="bold", fontsize=BASE)
            for place, line in enumerate(lines, 1):
                fill(part.add_subplot(1, ACROSS, place), self, line)
        dashed = Line2D(
            [], [], color=THEIRS, linewidth=1.2, linestyle="--", label=self.published_label
        )
        kinds: list[Any] = [
            Line2D([], [], color=OURS, linewidth=2.0, label="here"),
            Patch(color=SHADE, label="inputs met here; thin: beyond them, cut at the frame"),
        ]
        shown = [*kinds, dashed] if self.done else [dashed]
        drawing.legend(handles=shown, loc="outside lower left", ncols=3)
        return drawing


def view_of(figure: Activations, request: Request, store: Store) -> ActivationsView:
    """Raises UnknownName or ReproError for what the figure cannot show."""
    matrix, lookup, published = figure.matrix(request), Lookup(store), figure.published()
    lines = [_line(matrix, lookup, curve, published.get(curve)) for curve in figure.curves(request)]
    tasks = [task for task in figure.needed(request) if task not in request.unavailable]
    wanted = [line for line in lines if line.curve.task in tasks and line.layer is not None]
    titles = [GLUE[line.curve.task].title for line in lines if line.constant]
    return ActivationsView(
        matrix=matrix,
        lead=matrix.of("", figure.task)[0],
        runs=tuple(dict.fromkeys(line.key for line in lines if line.learned is not None)),
        cells=len(wanted),
        done=sum(line.learned is not None for line in wanted),
        collapsed=", ".join(dict.fromkeys(titles)),
        model=figure.method(request),
        lines=tuple(lines),
        differs=runs_differ(matrix, lookup, *(("", task) for task in tasks)),
    )


def own_layers(spec: RunSpec) -> Sequence[int]:
    """The layers of a run that learn an activation."""
    assert isinstance(spec.method, AdaptableAdapters)
    return spec.method.adapted_layers(spec.backbone.layers)


def _line(
    matrix: Matrix[Activations], lookup: Lookup, curve: Curve, published: Digitised | None
) -> Line:
    (found,) = lookup.find(matrix.of("", curve.task))
    layer = matrix.artefact.placed(own_layers(found.spec)).get(curve.layer)
    result = found.run.result if found.run is not None else None
    learned = (result.activations or {}).get(str(layer)) if result else None
    absent = matrix.request.unavailable.get(curve.task, "")
    if not absent and layer is None:
        absent = f"{found.spec.backbone.name} has too few layers"
    if not absent and learned is None:
        absent = "no activation is stored" if result else lookup.why([found], None, "")
    return Line(
        curve,
        layer,
        found.key,
        learned=None if absent else learned,
        used=result is not None and layer in (result.layers or ()),
        constant=result is not None and bool(result.collapsed),
        absent=absent,
        published=published,
    )


def _ends(points: Points) -> str:
    chosen = [points[0], min(points, key=lambda point: abs(point[0])), points[-1]]
    return ", ".join(f"{y:.2f} at {x:g}" for x, y in chosen)


def fill(axes: Axes, view: ActivationsView, line: Line) -> None:
    """One curve: thick where inputs were met, thin beyond, the published one dashed.

    y reaches as far as the thick curve and the published one.
    """
    import seaborn

    own = view.name(line) + ("" if line.used or line.learned is None else ", switched off")
    axes.set_title(textwrap.fill(own, 24), fontsize=SMALL, weight="normal", loc="left")
    seen: list[float] = []
    if line.published is not None:
        x, y = zip(*line.published.points, strict=True)
        seaborn.lineplot(x=x, y=y, color=THEIRS, linestyle="--", linewidth=1.0, ax=axes)
        seen += y
    if (one := line.learned) is not None:
        x, y = zip(*line.points(view.x), strict=True)
        met = [(a, b) for a, b in zip(x, y, strict=True) if one.low <= a <= one.high]
        axes.axvspan(max(one.low, x[0]), min(one.high, x[-1]), color=SHADE, linewidth=0, zorder=0)
        seaborn.lineplot(x=x, y=y, color=OURS, linewidth=0.8, ax=axes)
        seaborn.lineplot(
            x=[a for a, _ in met], y=[b for _, b in met], color=OURS, linewidth=2.0, ax=axes
        )
        seen += [b for _, b in met]
    low, high = max(min(seen, default=0.0), -MOST), min(max(seen, default=0.0), MOST)
    room = 0.1 * max(high - low, 1.0)
    axes.set(xlim=(view.x[0], view.x[-1]), ylim=(low - room, high + room), xlabel="x")
    axes.set_ylabel(Y_LABEL if axes.get_subplotspec().is_first_col() else "")  # type: ignore[union-attr]
    axes.axhline(0, color=QUIET, linewidth=0.4, zorder=1)
    axes.axvline(0, color=QUIET, linewidth=0.4, zorder=1)
