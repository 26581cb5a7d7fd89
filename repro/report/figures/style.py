"""How every figure looks and is saved: one place for fonts, sizes, colours and formats.

The same data gives the same bytes: no date, no version and no random id enters a file.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
import tempfile
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

WIDTH = 10.0
"""Inches of a figure that takes a page's whole width."""
BASE, SMALL, LEAST = 10.0, 8.5, 5.5
"""Points: of text, of ticks and notes, and the smallest that is still read in print. A portrait
page of 7 inches of text shrinks a figure of full width to 0.7, so ticks and notes to 6 points.
"""
INK, QUIET, PAPER = "#222222", "#666666", "white"
MARK = "#D55E00"
"""What must be seen on any colour: vermillion of Okabe and Ito's palette."""
LOSS, GAIN = "PuOr", "PuOr_r"
"""Colour maps that hold for colour-blind readers, of what is lost and of what is gained: nearly
white at 0, a loss is purple, a gain orange.
"""
LETTERS, LINE = 14.0, 0.22
"""Letters of a title that fit into an inch, and the height of one of its lines in inches."""

Looks = Mapping[str, Mapping[str, Any]]
"""What a line or a mark is -> how it is drawn, in the words of matplotlib."""

CONFIG = "MPLCONFIGDIR"
RC: dict[str, Any] = {
    "font.family": "DejaVu Sans",  # comes with the library, so every machine has it
    "font.size": BASE,
    "axes.titlesize": BASE,
    "axes.titleweight": "bold",
    "axes.labelsize": SMALL,
    "xtick.labelsize": SMALL,
    "ytick.labelsize": SMALL,
    "text.parse_math": False,  # a model's name may hold two dollar signs; formulas ask for it
    "text.color": INK,
    "axes.edgecolor": QUIET,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "legend.fontsize": SMALL,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "figure.dpi": 100,
    "savefig.dpi": 160,
    "svg.hashsalt": "repro",
    "svg.fonttype": "path",
    "pdf.fonttype": 42,
}
METADATA: dict[str, dict[str, None]] = {
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}


@contextmanager
def styled() -> Iterator[None]:
    """Draws in this style, whatever the reader's own matplotlibrc says."""
    _import_with_defaults()
    import matplotlib as mpl

    with mpl.rc_context():
        mpl.rcdefaults()
        settings: Any = mpl.rcParams
        settings.update(RC)
        yield


def _import_with_defaults() -> None:
    """Imports matplotlib, unless that has been done, without what the reader has set for it.

    It raises while it is imported if `MPLBACKEND` names what is not installed here (a notebook's
    backend), or if a matplotlibrc or a style file is damaged. The current folder, the environment
    and the configuration folder may each hold one; the cache of fonts is found as always.
    """
    if "matplotlib" in sys.modules:
        return
    given = {name: os.environ.pop(name, None) for name in ("MPLBACKEND", "MATPLOTLIBRC", CONFIG)}
    with tempfile.TemporaryDirectory() as empty:
        os.environ[CONFIG] = empty
        try:
            with contextlib.chdir(empty):
                import matplotlib.style  # noqa: F401
        finally:
            del os.environ[CONFIG]
            os.environ |= {name: value for name, value in given.items() if value is not None}


def blank(width: float, height: float) -> Drawing:
    """An empty drawing of this size in inches, on no screen and in no global list."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as Drawing

    drawing = Drawing(figsize=(width, height), facecolor=PAPER, layout="constrained")
    FigureCanvasAgg(drawing)
    return drawing


def headed(width: float, height: float, title: str, *said: str) -> Drawing:
    """An empty drawing with a title and further lines, which are wrapped at its width.

    `height` is that of what will be drawn below them. A figure without anything to draw is its
    title and the reasons.
    """
    letters = int(LETTERS * width)
    lines = [textwrap.fill(line, letters, break_on_hyphens=False) for line in (title, *said)]
    text = "\n".join(lines)
    drawing = blank(width, height + LINE * (text.count("\n") + 1) + 0.1)
    if not height:
        drawing.set_layout_engine("none")  # there is nothing to place
    drawing.suptitle(text, x=0.01, ha="left", fontsize=BASE, linespacing=1.5)
    return drawing


def legend(drawing: Drawing, looks: Looks, columns: int) -> None:
    """What the lines and marks mean, below everything, so many beside each other; none without."""
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], label=name, **look) for name, look in looks.items()]
    if handles:
        drawing.legend(handles=handles, loc="outside lower left", ncols=columns)


def ruled(axes: Axes, axis: Literal["x", "y"] = "y") -> None:
    """Thin lines behind everything, at the ticks of an axis."""
    axes.grid(axis=axis, color="#DDDDDD", linewidth=0.5, zorder=0)
    axes.set_axisbelow(True)


def ink_on(shade: Sequence[float]) -> str:
    """The ink, dark or white, that contrasts more with a colour (red, green, blue in 0..1, ...).

    By relative luminance as WCAG 2 defines it; dark and white are equal at 0.21.
    """
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in shade[:3]]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return INK if luminance > 0.21 else PAPER


def rendered(drawing: Drawing) -> dict[str, bytes]:
    """Format -> the file's content; call it within `styled`.

    The parts are placed once, for all formats.
    """
    drawing.draw_without_rendering()
    drawing.set_layout_engine("none")
    found = {}
    for format, metadata in METADATA.items():
        out = io.BytesIO()
        drawing.savefig(out, format=format, metadata=metadata)
        found[format] = out.getvalue()
    return found
