"""Draws the heat map of switched-off adapters: grids with cells of one size, side by side."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from repro.report.figures.ablation import AblationView, Panel
from repro.report.figures.style import GAIN, LOSS, MARK, PAPER, WIDTH, headed, ink_on, rounded
from repro.report.figures.view import lacking

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

CELL, MARGINS, MOST = 0.33, 0.75, 27
"""Inches of a cell, inches beside a grid, and cells that stand side by side in a row of grids."""
DIGITS = 7.3
"""Points of the number in a cell: -100.0 has room."""


def draw_grids(view: AblationView) -> Drawing:
    """The grids that show something; call it within `styled`."""
    rows = in_rows([panel for panel in view.panels if not panel.blank])
    said = lacking("Not drawn", ((p.title.lower(), p.blank) for p in view.panels if p.blank))
    if any(panel.constant for row in rows for panel in row):
        said.append(f"Framed: {view.framed}")
    wide = [CELL * sum(panel.layers for panel in row) + MARGINS * len(row) for row in rows]
    tall = [CELL * max(panel.layers for panel in row) + 1.4 for row in rows]
    width = max([0.75 * WIDTH, *wide])
    drawing = headed(width, math.fsum(tall), view.headline, view.stamp, *said)
    parts: Any = drawing.subfigures(len(rows) or 1, 1, height_ratios=tall or None, squeeze=False)
    for part, row, own in zip(parts[:, 0], rows, wide, strict=False):
        ratios = [*(CELL * panel.layers + MARGINS for panel in row), width - own + 0.01]
        grid = part.add_gridspec(1, len(ratios), width_ratios=ratios)
        for place, panel in enumerate(row):
            shared = view.panels[:2] if panel in view.panels[:2] else (panel,)
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
