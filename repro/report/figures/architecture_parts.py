"""The parts of a drawing in inches: boxes with their words, signs of sums, lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from repro.report.figures.architecture import Box
from repro.report.figures.style import INK, LEAST, PAPER, SMALL, text_ems

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FROZEN, TRAINED, RESIDUAL = "#8A8A8A", "#0072B2", "#009E73"
"""Of Okabe and Ito's palette but for the grey; residual paths are dashed, too."""
FILLS = {False: "#F2F2F2", True: "#E3F0F8"}
RADIUS = 0.075
"""Of the sign of a sum."""
Point = tuple[float, float]


def box(axes: Axes, part: Box, at: Point, width: float, height: float) -> None:
    """A box with its title, what it is, its parameters, and the shape of what leaves it."""
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
        axes.text(at[0], y, line, ha="center", va="center", fontsize=size, color=INK)


def plus(axes: Axes, at: Point) -> None:
    """The sign of a sum."""
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
