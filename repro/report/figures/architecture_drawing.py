"""Draws a model as it is configured: its chains one below the other, then the inside of a cell.

Everything is placed in inches from the lower left corner of the page. A chain has a column a layer:
the frozen layer above, its cell below, the sum of what flows into the cell between them. Residual
paths run along a lane between the two rows. Of a deep encoder the middle is left out: the first
stages and the last one are drawn, and what is between is counted.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from repro.report.figures.architecture import ArchitectureView, Box, Panel, Signal
from repro.report.figures.style import BASE, INK, LEAST, PAPER, QUIET, SMALL, WIDTH, blank

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

EMS = {".": 0.32, ",": 0.32, " ": 0.32, "-": 0.36, "×": 0.84, "→": 0.84}
"""Widths in this font as a share of its size; a digit's is 0.64."""

FROZEN, TRAINED, RESIDUAL = "#8A8A8A", "#0072B2", "#009E73"
"""Of Okabe and Ito's palette but for the grey; residual paths are dashed, too."""
FILLS = {False: "#F2F2F2", True: "#E3F0F8"}
RADIUS = 0.075
"""Of the sign of a sum."""
Point = tuple[float, float]
EDGE, ROW, WIDEST = 0.12, 0.56, 1.1
"""Inches: the page's margin, a box's height, the widest column."""
GAP, LANE = 0.62, 0.2
"""Inches between the two rows, and from the upper row down to the residual paths."""
MOST = 12
"""Layers that are drawn one by one."""
HEAD, WORDS = 0.62, 0.45
"""Inches: height of the figure's title, and of a panel's."""
STEP, TALL, SIDE = 0.66, 0.6, 0.85
"""Inches between two rows of boxes in a cell, their height, and the room beside a cell."""
SUMMED = "attention.norm"
"""The one step that reads a sum; the others read each of their inputs for itself."""


def draw_architecture(view: ArchitectureView) -> Drawing:
    heights = [_height(panel) for panel in view.panels]
    top = HEAD + math.fsum(heights)
    drawing = blank(WIDTH, top)
    drawing.set_layout_engine("none")  # everything has its place
    axes = drawing.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set(xlim=(0, WIDTH), ylim=(0, top), aspect="equal")
    axes.text(EDGE, top - 0.06, view.headline, va="top", fontsize=BASE + 1)
    axes.text(EDGE, top - 0.28, view.stamp, va="top", fontsize=SMALL)
    _legend(axes, top - 0.36)
    top -= HEAD
    for number, (panel, tall) in enumerate(zip(view.panels, heights, strict=True), 1):
        axes.text(EDGE, top, f"{number}  {panel.title}", va="top", weight="bold", fontsize=BASE)
        axes.text(EDGE, top - 0.19, panel.sums, va="top", fontsize=SMALL, color=QUIET)
        if panel.wiring is None:
            _cell(axes, panel, top - WORDS)
        else:
            draw_chain(axes, panel, columns(view.layers, panel.method.stage), top - WORDS)
        top -= tall
    return drawing


def _height(panel: Panel) -> float:
    if panel.wiring is not None:
        return WORDS + height(panel)
    rows = 1 + max(row for _, row, _ in _places(panel))
    return WORDS + rows * STEP + 0.3


def _cell(axes: Axes, panel: Panel, top: float) -> None:
    """The steps of a cell from left to right; what is side by side stands one above the other."""
    places = _places(panel)
    left, right = EDGE + SIDE, WIDTH - EDGE - SIDE
    width = min(WIDEST, (right - left) / (1 + max(column for column, _, _ in places)))
    centre = top - STEP * (1 + max(row for _, row, _ in places)) / 2
    half = 0.4 * width
    spot: dict[str, Point] = {"x": (left - half - 0.2, centre)}
    for column, row, part in places:
        beside = [other for other, _, _ in places if other == column]
        y = centre + ((len(beside) - 1) / 2 - row) * STEP
        spot[part.name] = left + (column + 0.5) * width, y
    for part in panel.boxes:
        x, y = spot[part.name]
        box(axes, part, (x, y), 2 * half, TALL)
        if part.name == SUMMED:
            _inner_sum(axes, spot, part, half)
            continue
        for name in part.inputs:
            start = spot[name]
            line(axes, [(start[0] + half, start[1]), (x - half, y)], TRAINED)
    tokens, hidden = panel.boxes[-1].shape
    end = spot[panel.boxes[-1].name][0] + half
    line(axes, [(end, centre), (end + 0.22, centre)], TRAINED)
    for x, word, side in ((left - 0.22, "input", "right"), (end + 0.27, "output", "left")):
        words = f"{word}\n{tokens} × {hidden}"
        axes.text(x, centre, words, ha=side, va="center", fontsize=SMALL)


def _places(panel: Panel) -> list[tuple[int, int, Box]]:
    """Column, row and box: boxes that read the same outputs share a column."""
    found: list[tuple[int, int, Box]] = []
    for part in panel.boxes:
        column, row = (found[-1][0] + 1, 0) if found else (0, 0)
        if found and part.inputs == found[-1][2].inputs:
            column, row = found[-1][0], found[-1][1] + 1
        found.append((column, row, part))
    return found


def _inner_sum(axes: Axes, spot: dict[str, Point], part: Box, half: float) -> None:
    """What enters the attention is added to what leaves it, before the norm."""
    straight, around = (spot[name] for name in part.inputs)
    x, y = spot[part.name]
    joint, over = (straight[0] + x) / 2, y + 1.5 * STEP + 0.02
    line(axes, [(straight[0] + half, y), (joint - RADIUS, y)], TRAINED)
    line(axes, [(joint + RADIUS, y), (x - half, y)], TRAINED)
    start = around[0], around[1] + TALL / 2
    line(axes, [start, (start[0], over), (joint, over), (joint, y + RADIUS)], RESIDUAL)
    plus(axes, (joint, y))


def _legend(axes: Axes, y: float) -> None:
    """At the upper right: whose boxes are whose, and what a dashed line is."""
    from matplotlib.patches import Rectangle

    x = WIDTH - EDGE - 3.3
    for trained, said, wide in ((False, "frozen", 0.75), (True, "trained", 0.8)):
        edge = TRAINED if trained else FROZEN
        axes.add_patch(Rectangle((x, y - 0.06), 0.2, 0.12, lw=0.9, fc=FILLS[trained], ec=edge))
        axes.text(x + 0.26, y, said, va="center", fontsize=SMALL)
        x += wide
    line(axes, [(x, y), (x + 0.36, y)], RESIDUAL)
    axes.text(x + 0.42, y, "residual path", va="center", fontsize=SMALL)
    plus(axes, (x + 1.4, y))
    axes.text(x + 1.53, y, "sum", va="center", fontsize=SMALL)


@dataclass(frozen=True, slots=True)
class Columns:
    """Where the layers of a chain stand: the layers that are drawn and those left out, and the x of
    each one's column; one left out stands in the gap. 0 is the embeddings, and the scorer stands
    behind the last layer.
    """

    layers: int
    width: float
    shown: tuple[int, ...]
    hidden: range
    middle: Mapping[int, float]

    @property
    def box(self) -> float:
        return 0.86 * self.width


def columns(layers: int, stage: int) -> Columns:
    """All layers, or of a deep encoder two stages at its start and one at its end."""
    hidden = range(0)
    if layers > max(MOST, 3 * stage + 1):
        hidden = range(2 * stage + 1, layers - stage + 1)
    shown = tuple(layer for layer in range(1, layers + 1) if layer not in hidden)
    width = min(WIDEST, (WIDTH - 2 * EDGE) / (len(shown) + bool(hidden) + 2))
    middle, place = {}, 0
    for layer in range(layers + 2):
        middle[layer] = EDGE + (place + 0.5) * width
        place += not (layer in hidden and layer + 1 in hidden)
    return Columns(layers, width, shown, hidden, middle)


def height(panel: Panel) -> float:
    return 2 * ROW + GAP + (0.85 if sectors(panel) else 0.22)


def sectors(panel: Panel) -> list[Signal]:
    """The sums that are made before the last one: sectors side by side."""
    assert panel.wiring is not None
    return [addend for addend in panel.wiring.output.addends if addend.parts]


def draw_chain(axes: Axes, panel: Panel, at: Columns, top: float) -> None:
    """Boxes, then what flows into each cell, then what the scorer reads."""
    assert panel.wiring is not None
    upper, lower = top - ROW / 2, top - ROW - GAP - ROW / 2
    _boxes(axes, panel, at, upper, lower)
    for layer, signal in enumerate(panel.wiring.inputs, 1):
        _into(axes, signal, layer, at, (upper, lower))
    if sectors(panel):
        _into_scorer_from_sectors(axes, panel, at, (upper, lower))
    else:
        _into(axes, panel.wiring.output, at.layers + 1, at, (upper, lower))


def _boxes(axes: Axes, panel: Panel, at: Columns, upper: float, lower: float) -> None:
    for layer in (0, *at.shown):
        box(axes, panel.box(f"T{layer}"), (at.middle[layer], upper), at.box, ROW)
        if layer:
            box(axes, panel.box(f"C{layer}"), (at.middle[layer], lower), at.box, ROW)
    if at.hidden:
        x, first, last = at.middle[at.hidden.start], at.hidden.start, at.hidden[-1]
        for letter, y in (("T", upper), ("C", lower)):
            count = len(at.hidden) * panel.box(f"{letter}{first}").parameters
            lines = ["···", f"${letter}_{{{first}}}$ to ${letter}_{{{last}}}$", f"{count:,}"]
            words(axes, lines, (x, y), at.box, ROW)
    scorer = at.middle[at.layers + 1]
    y = lower - 0.63 - ROW / 2 + 0.1 if sectors(panel) else lower
    box(axes, panel.box("scorer"), (scorer, y), at.box, ROW)
    for layer in range(at.layers):
        if not (layer in at.hidden and layer + 1 in at.hidden):
            ends = at.middle[layer] + at.box / 2, at.middle[layer + 1] - at.box / 2
            line(axes, [(ends[0], upper), (ends[1], upper)], FROZEN)


def _into(axes: Axes, signal: Signal, layer: int, at: Columns, rows: tuple[float, float]) -> None:
    """The lines that end at the cell of a layer, or at the scorer, which stands behind the last.

    Of a layer that is left out only those from layers that are drawn.
    """
    upper, lower = rows
    x, joint = at.middle[layer], lower + ROW / 2 + (GAP - LANE) / 2
    alone, hidden = len(signal.terms) == 1, layer in at.hidden
    if not alone and not hidden:
        line(axes, [(x, joint - RADIUS), (x, lower + ROW / 2)], TRAINED)
        plus(axes, (x, joint))
    for term in signal.terms:
        letter, number = term[0], int(term[1:])
        if hidden and number in at.hidden:
            continue
        if letter == "C" and (alone or hidden):
            line(axes, [(at.middle[number] + at.box / 2, lower), (x - at.box / 2, lower)], TRAINED)
        elif letter == "C":
            start, bend = (at.middle[number] + wide / 2 for wide in (at.box, at.width))
            path = [(start, lower), (bend, lower), (bend, joint), (x - RADIUS, joint)]
            line(axes, path, TRAINED)
        elif number == layer:
            end = lower + ROW / 2 if alone else joint + RADIUS
            line(axes, [(x, upper - ROW / 2), (x, end)], FROZEN)
        elif hidden:
            _residual(axes, at, number, upper, x - 0.25 * at.box)
        else:  # from above, beside the layer's own line
            corner = x - RADIUS * 0.7, joint + RADIUS * 0.7
            _residual(axes, at, number, upper, x - 0.13, corner)


def _into_scorer_from_sectors(
    axes: Axes, panel: Panel, at: Columns, rows: tuple[float, float]
) -> None:
    """A sum below each sector, and the sum of all of them."""
    assert panel.wiring is not None
    upper, lower = rows
    partial, total = lower - ROW / 2 - 0.18, lower - ROW / 2 - 0.53
    scorer = at.middle[at.layers + 1]
    starts = []
    for addend in panel.wiring.output.addends:
        if addend.parts:
            if _sector(axes, addend, at, (upper, lower, partial), total):
                starts.append(at.middle[int(addend.terms[0][1:])])
            continue
        x = EDGE + at.width * 0.93  # beside the first cell
        lane = upper - ROW / 2 - LANE / 2
        first = at.middle[int(addend.name[1:])] - 0.3 * at.box
        path = [(first, upper - ROW / 2), (first, lane), (x, lane), (x, total)]
        line(axes, path, RESIDUAL, arrow=False)
        starts.append(x)
    plus(axes, (scorer - at.width / 2 - RADIUS, total))
    line(axes, [(min(starts), total), (scorer - at.width / 2 - 2 * RADIUS, total)], TRAINED)
    line(axes, [(scorer - at.width / 2, total), (scorer - at.box / 2, total)], TRAINED)
    names = [addend.name for addend in panel.wiring.output.addends if addend.name]
    alone = " and ".join(f"${name[0]}_{{{name[1:]}}}$" for name in names)
    axes.text(
        min(starts) + 0.06, total - 0.05, f"the sum of all sectors and {alone}",
        va="top", fontsize=SMALL, color=QUIET, parse_math=True,
    )  # fmt: skip


def _sector(
    axes: Axes, signal: Signal, at: Columns, rows: tuple[float, float, float], total: float
) -> bool:
    """The end of one sector, if it is drawn: its last cell and its first layer are added."""
    upper, lower, joint = rows
    cell, layer = (int(term[1:]) for term in signal.terms)
    if cell in at.hidden:
        return False
    x = at.middle[cell]
    plus(axes, (x, joint))
    line(axes, [(x, lower - ROW / 2), (x, joint + RADIUS)], TRAINED)
    line(axes, [(x, joint - RADIUS), (x, total)], TRAINED)
    gap = x + at.width / 2
    _residual(axes, at, layer, upper, gap, (gap, joint), (x + RADIUS, joint))
    return True


def _residual(axes: Axes, at: Columns, layer: int, upper: float, turn: float, *rest: Point) -> None:
    """From a frozen layer along the lane to x = `turn`, then through the other points."""
    start, lane = at.middle[layer] + 0.3 * at.box, upper - ROW / 2 - LANE
    first = lane if layer in at.hidden else upper - ROW / 2
    line(axes, [(start, first), (start, lane), (turn, lane), *rest], RESIDUAL)


def box(axes: Axes, part: Box, at: Point, width: float, height: float) -> None:
    from matplotlib.patches import FancyBboxPatch

    edge = TRAINED if part.trained else FROZEN
    corner = at[0] - width / 2, at[1] - height / 2
    style = "round,pad=0,rounding_size=0.05"
    axes.add_patch(
        FancyBboxPatch(
            corner, width, height, boxstyle=style, fc=FILLS[part.trained], ec=edge, lw=0.9
        )
    )
    chain = part.title.startswith("$") or not part.trained
    lines = [part.title, *([] if chain or not part.what else [part.what]), f"{part.parameters:,}",
             f"{part.shape[0]} × {part.shape[1]}"]  # fmt: skip
    words(axes, lines, at, width, height)


def words(axes: Axes, lines: Sequence[str], at: Point, width: float, height: float) -> None:
    """Lines of text in a box, as large as it holds, the first one in dark ink."""
    widest = max(text_ems(line.replace("$", "").replace("_{", "").strip("}")) for line in lines)
    fits = 72 * 0.88 * width / widest
    size = max(LEAST, min(SMALL, fits, 72 * 0.92 * height / (1.2 * len(lines))))
    step = 1.2 * size / 72
    for n, line in enumerate(lines):
        y = at[1] + ((len(lines) - 1) / 2 - n) * step
        axes.text(
            at[0], y, line, ha="center", va="center", fontsize=size, color=INK, parse_math=True
        )


def text_ems(text: str) -> float:
    """About how wide a number is, as a multiple of the font's size."""
    return math.fsum(EMS.get(letter, 0.64) for letter in text)


def plus(axes: Axes, at: Point) -> None:
    from matplotlib.patches import Circle

    axes.add_patch(Circle(at, RADIUS, fc=PAPER, ec=INK, lw=0.9, zorder=4))
    arm = 0.6 * RADIUS
    for dx, dy in ((arm, 0.0), (0.0, arm)):
        x, y = (at[0] - dx, at[0] + dx), (at[1] - dy, at[1] + dy)
        axes.plot(x, y, color=INK, lw=0.9, zorder=5, solid_capstyle="butt")


def line(axes: Axes, points: Sequence[Point], colour: str, *, arrow: bool = True) -> None:
    """A line through these points; the last stretch ends in an arrow. Residual paths are dashed."""
    x, y = zip(*points, strict=True)
    dashes = (0, (3.0, 1.6)) if colour == RESIDUAL else "solid"
    axes.plot(x, y, color=colour, lw=1.1, ls=dashes, zorder=2 if colour == RESIDUAL else 1)
    if arrow:
        axes.annotate(
            "", xy=points[-1], xytext=points[-2], zorder=3,
            arrowprops={"arrowstyle": "-|>", "color": colour, "lw": 0, "shrinkA": 0, "shrinkB": 0,
                        "mutation_scale": 8},
        )  # fmt: skip
