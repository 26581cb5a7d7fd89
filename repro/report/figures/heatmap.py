"""Draws the heat map of switched-off adapters.

Upper row: published, reproduced, their difference, the first two in one scale of colours. Lower
row: the relative change in accuracy, and what Houlsby et al. say of it. The first layer that is
switched off is on y, the last one on x, so the lower triangle is no span and stays empty. In every
panel no change is the lightest colour, and a loss has the same hue.
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from repro.report.figures.ablation import AblationView, Panel
from repro.report.figures.style import (
    BASE,
    GAIN,
    LEAST,
    LOSS,
    MARK,
    PAPER,
    QUIET,
    SMALL,
    WIDTH,
    blank,
    ink_on,
    text_ems,
)
from repro.report.figures.text import aside, headline, rounded, stamp

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

CELL = 0.21
"""Inches that a cell has at least: an encoder of many layers makes the figure wider."""
MARGINS = 0.65
"""Inches that a panel of the upper row loses to ticks, labels and the gap to the next one."""


@dataclass(frozen=True, slots=True)
class Colours:
    """A map, and how far it reaches to either side of 0, its lightest colour."""

    map: str
    farthest: float


def draw_ablation(view: AblationView) -> Drawing:
    """The figure; call it within `styled`."""
    deepest = max(panel.layers for panel in view.panels)
    width = max(WIDTH, 3 * (CELL * deepest + MARGINS))
    drawing = blank(width, 0.9 * width)
    title = f"{headline(view)}\n{stamp(view)}"
    drawing.suptitle(title, x=0.01, ha="left", fontsize=BASE + 1, linespacing=1.5)
    grid = drawing.add_gridspec(2, 6, height_ratios=[1.0, 1.3])
    published, reproduced, difference, relative = view.panels
    side = width / 3 - MARGINS
    drops = about_zero(LOSS, published, reproduced)
    left, middle = (drawing.add_subplot(grid[0, place]) for place in (slice(2), slice(2, 4)))
    fill(left, published, drops, side)
    fill(middle, reproduced, drops, side)
    add_bar(drawing, [left, middle], reproduced.unit)
    right = drawing.add_subplot(grid[0, 4:])
    fill(right, difference, about_zero(LOSS, difference), side)
    add_bar(drawing, [right], difference.unit)
    below = drawing.add_subplot(grid[1, :3])
    fill(below, relative, about_zero(GAIN, relative), 1.3 * side)
    add_bar(drawing, [below], relative.unit)
    write(drawing.add_subplot(grid[1, 3:]), aside(view))
    return drawing


def about_zero(map: str, *panels: Panel) -> Colours:
    """Colours that reach the farthest value of these panels."""
    values = [abs(value) for panel in panels for value in panel.grid.values()]
    return Colours(map, max(values, default=0.0) or 1.0)


def fill(axes: Axes, panel: Panel, colours: Colours, side: float) -> None:
    """Draws one grid on `axes`, about `side` inches wide, or writes why there is none."""
    axes.set_title(panel.title, loc="left")
    if panel.blank:
        frame(axes, panel.blank)
        return
    import numpy as np
    import seaborn

    layers = panel.layers
    values = np.full((layers, layers), np.nan)
    texts = np.full((layers, layers), "", dtype=object)
    ticks = every(layers)
    written, size = labels(panel, side / layers)
    for span, value in panel.grid.items():
        values[span], texts[span] = value, written[span]
    seaborn.heatmap(
        values, mask=np.isnan(values), vmin=-colours.farthest, vmax=colours.farthest,
        cmap=colours.map, annot=texts, fmt="", annot_kws={"size": size}, linewidths=0.5,
        linecolor=PAPER, square=True, cbar=False, xticklabels=ticks, yticklabels=ticks,
        ax=axes,
    )  # fmt: skip
    for text in axes.texts:
        column, row = text.get_position()
        shade = axes.collections[0].to_rgba(values[int(row), int(column)])
        text.set_color(ink_on(tuple(shade)))
    outline(axes, panel)
    axes.set_xlabel("last layer switched off")
    axes.set_ylabel("first layer switched off")
    axes.tick_params(length=0, labelrotation=0)


def frame(axes: Axes, words: str) -> None:
    """The place of a grid that there is not, and why."""
    axes.set(xticks=[], yticks=[], box_aspect=1)
    axes.spines[:].set(color=QUIET, linewidth=0.5, linestyle=(0, (4, 4)))
    filled = textwrap.fill(words[0].upper() + words[1:], 34)
    axes.text(0.5, 0.5, filled, ha="center", va="center", color=QUIET, transform=axes.transAxes)


def labels(panel: Panel, inches: float) -> tuple[dict[Any, str], float]:
    """What stands in each cell, and in how many points: tenths, or whole numbers in small cells."""
    for decimals in (1, 0):
        texts = {span: rounded(value, decimals) for span, value in panel.grid.items()}
        widest = max((text_ems(text) for text in texts.values()), default=1.0)
        size = min(BASE, 0.9 * 72 * inches / widest)
        if size >= LEAST:
            break
    return texts, size


def every(layers: int) -> int:
    """Each how many layers a tick is written, so that at most a dozen stand on an axis."""
    return -(-layers // 12)


def outline(axes: Axes, panel: Panel) -> None:
    """Marks the spans without whose adapters every row gets one class."""
    from matplotlib.patches import Rectangle

    for first, last in sorted(panel.constant or ()):
        place = (last + 0.06, first + 0.06)
        axes.add_patch(Rectangle(place, 0.88, 0.88, fill=False, ec=MARK, lw=1.2))


def add_bar(drawing: Drawing, panels: list[Axes], unit: str) -> None:
    """A colour bar below `panels`, where one of them is drawn."""
    from matplotlib.ticker import MaxNLocator

    drawn = [axes for axes in panels if axes.collections]
    if not drawn:
        return
    bar = drawing.colorbar(
        drawn[0].collections[0],
        ax=drawn,
        location="bottom",
        shrink=0.8 / len(drawn),
        aspect=30,
        pad=0.02,
    )
    bar.set_label(unit)
    bar.locator = MaxNLocator(5)
    bar.update_ticks()
    bar.outline.set_visible(False)


def write(axes: Axes, paragraphs: list[tuple[str, list[str]]]) -> None:
    """Paragraphs of a heading and its sentences, from the top of `axes`."""
    from matplotlib.offsetbox import AnchoredOffsetbox, TextArea, VPacker

    axes.set_axis_off()
    lines: list[Artist] = []
    for heading, sentences in paragraphs:
        lines.append(TextArea(heading, textprops={"size": BASE, "weight": "bold"}))
        lines += [
            TextArea(textwrap.fill(sentence, 66), textprops={"size": SMALL, "linespacing": 1.4})
            for sentence in sentences
        ]
        lines.append(TextArea(" ", textprops={"size": LEAST}))
    box = VPacker(children=lines, pad=0, sep=4)
    axes.add_artist(AnchoredOffsetbox("upper left", child=box, frameon=False, pad=0.5))
