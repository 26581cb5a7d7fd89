"""Draws a sweep: score against one field, one line a task; of two fields also a heat map.

The chosen setting is marked. Of three fields and more, or of settings drawn at
random, every setting is a dot in a panel a field; of a search by halving, a line by epochs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import cycle, pairwise
from typing import TYPE_CHECKING, Any

from repro.papers.sweeps import EPOCHS, fields_in_short, setting_in_words, spans_powers
from repro.report.figures.style import (
    INK,
    MARK,
    QUIET,
    SMALL,
    WIDTH,
    Looks,
    headed,
    legend,
    ruled,
)
from repro.report.render import number
from repro.report.sweep import MEAN, SweepView, rows_in_words, value_in_words

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

MOST_PANELS = 6
"""Values of a second field that get a panel each; of more, each is a line of the objective."""
ACROSS = 3
HEIGHT = 3.3
"""Panels in a row, and inches of one."""
BESIDE, BESIDE_LINES = 0.05, 4
"""Share of an axis over which the points of several lines stand beside each other."""
NEAREST = 0.07
"""Share of an axis between two ticks at least."""
DOT, LEFT_OUT = "#0072B2", "#BBBBBB"
MARKERS = "osD^vPX<>"
"""A line has a marker of its own, beside its colour."""
STAR: dict[str, Any] = {
    "linestyle": "", "marker": "*", "markersize": 14, "markerfacecolor": MARK,
    "markeredgecolor": "white", "markeredgewidth": 0.8, "zorder": 6,
}  # fmt: skip


def draw_sweep(view: SweepView) -> Drawing:
    """The picture of a sweep with a score at least; call it within `styled`."""
    frame, best = view.frame, view.best(view.objective)
    frame["best"] = frame["setting"].eq(best.setting if best else 0).astype(bool)
    frame = frame.explode("values")  # a row for each score of a seed
    frame = frame[frame["values"].notna()].astype({"values": float})
    points, fields = view.sweep.points, view.sweep.fields
    if view.sweep.epochs is not None:
        return _by_epochs(view, frame)
    if len(fields) == 1:
        drawing = _headed(view, 0.75 * WIDTH, 1.25 * HEIGHT)
        looks = _looks([name for name in view.columns if (frame["column"] == name).any()])
        _lines(drawing.add_subplot(), view, frame, fields[0], frame["column"], looks)
        _legend(drawing, view, looks)
        return drawing
    numbers = (len({repr(point[path]) for point in points}) for path in fields)
    if len(fields) == 2 and len(points) == math.prod(numbers):
        return _of_two(view, frame)
    return _dots(view, frame)


def _headed(view: SweepView, width: float, height: float, bars: str = ", bars: 1 s.d.") -> Drawing:
    """An empty drawing with what was swept, its scale, rows and seeds."""
    request, cell = view.sweep.request, view.of(view.objective)[0]
    fields = " × ".join(path.partition(".")[2].replace("_", " ") for path in view.sweep.fields)
    many = f"{cell.statistic} of {request.seeds} seeds{bars}"
    said = [
        f"{request.scale.capitalize()} scale",
        f"{rows_in_words(cell.split)} rows",
        "one seed" if request.seeds == 1 else many,
        f"{view.done} of {len(view.sweep.points)} settings",
    ]
    return headed(width, height, f"{view.row}: {fields} ({request.id})", " · ".join(said))


def _said(view: SweepView, column: str) -> str:
    return f"the mean of {len(view.columns) - 1} columns" if column == MEAN else column


def _short(view: SweepView, path: str) -> str:
    names = dict(zip(view.sweep.fields, fields_in_short(view.sweep.fields), strict=True))
    return names[path].replace("_", " ")


def _values(frame: pandas.DataFrame, path: str) -> tuple[list[Any], bool]:
    """The values of a field in order: numbers by size, others as they were given; and whether they
    are numbers.
    """
    found = list(dict.fromkeys(frame.sort_values("setting")[path]))
    scale = all(isinstance(v, int | float) and not isinstance(v, bool) for v in found)
    return (sorted(found) if scale else found), scale


def _places(frame: pandas.DataFrame, path: str) -> pandas.Series[float]:
    """Where the values of a field are on x: numbers in their place, others side by side."""
    values, scale = _values(frame, path)
    return (frame[path] if scale else frame[path].map(values.index)).astype(float)


def _looks(names: Sequence[str], palette: str = "colorblind") -> Looks:
    """A colour and a marker for each line; Okabe and Ito's colours are seaborn's colorblind. The
    mean is dark, in front and bold.
    """
    import seaborn

    own = [name for name in names if name != MEAN]
    colours = seaborn.color_palette(palette, max(len(own), 1)).as_hex()
    looks = {name: {"color": colour} for name, colour in zip(own, colours, strict=False)}
    looks |= {MEAN: {"color": INK, "linewidth": 2.2, "zorder": 5}} if MEAN in names else {}
    plain = {"linewidth": 1.4, "zorder": 4}
    return {
        name: plain | {"marker": marker} | look
        for (name, look), marker in zip(looks.items(), cycle(MARKERS), strict=False)
    }


def _lines(
    axes: Axes,
    view: SweepView,
    frame: pandas.DataFrame,
    path: str,
    lines: pandas.Series[Any],
    looks: Looks,
) -> None:
    """Score against a field: a line of means for each name of `lines`, which `looks` has, with the
    spread of the seeds.
    """
    import seaborn

    statistic, many = view.cells[0].statistic, view.sweep.request.seeds > 1
    shown = frame.assign(x=_places(frame, path), line=lines.astype(str)).sort_values("x")
    shown = _beside(shown, list(looks), spans_powers(shown["x"].min(), shown["x"].max()))
    for name, look in looks.items():
        seaborn.lineplot(
            shown[shown["line"] == name], x="x", y="values", markersize=6, ax=axes,
            errorbar="sd" if many else None, err_style="bars",
            err_kws={"capsize": 2.5, "linewidth": 1.0}, estimator=statistic, **look,
        )  # fmt: skip
    best = shown[shown["best"] & (shown["column"] == view.objective)]
    if not best.empty:
        axes.plot([best["x"].iloc[0]], [best["values"].agg(statistic)], **STAR)
    _scale(axes, *_values(frame, path))
    axes.set(xlabel=_short(view, path), ylabel="score, %")
    ruled(axes)


def _beside(shown: pandas.DataFrame, names: Sequence[str], logarithmic: bool) -> pandas.DataFrame:
    """Lines a little beside each other, so that the bars of their points do not hide each other."""
    low, high = shown["x"].min(), shown["x"].max()
    others = [name for name in names if name != MEAN]
    places = {name: n - (len(others) - 1) / 2 for n, name in enumerate(others)} | {MEAN: 0.0}
    shift = shown["line"].map(places) * (BESIDE / max(len(others), BESIDE_LINES))
    if logarithmic:
        return shown.assign(x=shown["x"] * (high / low) ** shift)
    return shown.assign(x=shown["x"] + shift * ((high - low) or 1.0))


def _scale(axes: Axes, values: Sequence[Any], scale: bool) -> None:
    """A tick for each value, if there is room; a logarithmic x where the values are powers."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator

    places = [float(v) for v in values] if scale else [float(n) for n in range(len(values))]
    logarithmic = scale and spans_powers(min(places), max(places))
    if logarithmic:
        axes.set_xscale("log")
    axes.xaxis.set_minor_locator(NullLocator())
    shown = [math.log(place) for place in places] if logarithmic else places
    gaps = [b - a for a, b in pairwise(sorted(shown))]
    if scale and gaps and min(gaps) < NEAREST * math.fsum(gaps):  # labels would overlap
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        if logarithmic:
            decades = math.log10(max(places) / min(places))
            axes.xaxis.set_major_locator(LogLocator(subs=(1,) if decades > 2 else (1, 2, 5)))
        return
    axes.xaxis.set_major_locator(FixedLocator(places))
    axes.set_xticklabels([value_in_words(value) for value in values])
    if not scale:
        axes.set_xlim(-0.5, len(values) - 0.5)


def _legend(drawing: Drawing, view: SweepView, looks: Looks) -> None:
    """What a line is, and the star, which marks the setting that the objective chooses."""
    if view.best(view.objective) is not None:
        looks = {**looks, f"chosen by {_said(view, view.objective)}": STAR}
    room = max(1, int(14 * drawing.get_figwidth()) // (max(map(len, looks)) + 6))
    legend(drawing, looks, room)


def _of_two(view: SweepView, frame: pandas.DataFrame) -> Drawing:
    """A panel of lines for each value of one field (of many values a line each), and a heat map."""
    first, second = sorted(view.sweep.fields, key=lambda path: not _values(frame, path)[1])
    values, _ = _values(frame, second)
    columns = [name for name in view.columns if (frame["column"] == name).any()]
    panelled = len(columns) > 1 and len(values) <= MOST_PANELS
    number = (len(values) if panelled else 1) + 1
    across = 2 if number == 4 else min(number, ACROSS)
    down = math.ceil(number / across)
    drawing = _headed(view, WIDTH if across > 2 else 0.9 * WIDTH, HEIGHT * down + 0.4)
    if panelled:
        looks, shared = _looks(columns), None
        for place, value in enumerate(values):
            axes = drawing.add_subplot(down, across, place + 1, sharey=shared)
            shared = shared or axes
            axes.set_title(f"{_short(view, second)} {value_in_words(value)}", loc="left")
            own = frame[frame[second].map(lambda one, of=value: one == of)]
            _lines(axes, view, own, first, own["column"], looks)
            if place % across:
                axes.set_ylabel("")
    else:
        axes = drawing.add_subplot(down, across, 1)
        axes.set_title(_said(view, view.objective), loc="left")
        own = frame[frame["column"] == view.objective]
        named = own[second].map(lambda value: f"{_short(view, second)} {value_in_words(value)}")
        looks = _looks(list(dict.fromkeys(named)), "viridis")
        _lines(axes, view, own, first, named, looks)
    _heat_map(drawing.add_subplot(down, across, number), view, frame, (first, second))
    _legend(drawing, view, looks)
    return drawing


def _heat_map(
    axes: Axes, view: SweepView, frame: pandas.DataFrame, fields: tuple[str, str]
) -> None:
    """The objective's mean for each pair of values, the chosen one framed."""
    import seaborn
    from matplotlib.patches import Rectangle

    own = frame[frame["column"] == view.objective]
    (first, second), (across, down) = fields, (_values(frame, path)[0] for path in fields)
    means = own.assign(a=own[first].map(across.index), d=own[second].map(down.index)).pivot_table(
        index="d", columns="a", values="values", aggfunc=view.cells[0].statistic
    )
    means = means.reindex(index=range(len(down)), columns=range(len(across)))
    seaborn.heatmap(
        means, ax=axes, cmap="viridis", annot=means.map(number), fmt="",
        annot_kws={"fontsize": SMALL}, linewidths=1.0, cbar_kws={"label": "score, %"},
        xticklabels=list(map(value_in_words, across)), yticklabels=list(map(value_in_words, down)),
    )  # fmt: skip
    axes.set(xlabel=_short(view, first), ylabel=_short(view, second))
    axes.set_title(_said(view, view.objective), loc="left")
    axes.invert_yaxis()
    axes.tick_params(length=0, rotation=0)
    best = view.best(view.objective)
    if best is not None:
        point = view.sweep.points[best.setting - 1]
        corner = across.index(point[first]), down.index(point[second])
        axes.add_patch(Rectangle(corner, 1, 1, fill=False, ec=MARK, lw=2.5, clip_on=False))


def _by_epochs(view: SweepView, frame: pandas.DataFrame) -> Drawing:
    """The objective of each setting of a search by halving: those that were trained to the end in
    colour.
    """
    own = frame[frame["column"] == view.objective]
    others = [path for path in view.sweep.fields if path != EPOCHS]
    named = own["setting"].map(
        lambda number: setting_in_words({p: view.sweep.points[number - 1][p] for p in others})
    )
    whole = _looks(list(dict.fromkeys(named[own[EPOCHS] == view.sweep.epochs])))
    left_out = {"color": LEFT_OUT, "marker": "o", "linewidth": 1.0, "zorder": 2}
    drawing = _headed(view, 0.75 * WIDTH, 1.25 * HEIGHT)
    axes = drawing.add_subplot()
    _lines(axes, view, own, EPOCHS, named, {**dict.fromkeys(named, left_out), **whole})
    axes.set_ylabel(f"{_said(view, view.objective)}, %")
    _legend(drawing, view, {**whole, "left out": left_out})
    return drawing


def _dots(view: SweepView, frame: pandas.DataFrame) -> Drawing:
    """Each setting's objective against each field."""
    import seaborn

    fields, statistic = view.sweep.fields, view.cells[0].statistic
    across = min(len(fields), ACROSS)
    drawing = _headed(view, WIDTH, HEIGHT * math.ceil(len(fields) / across), "")
    own = frame[frame["column"] == view.objective]
    means = own.drop_duplicates("setting").set_index("setting", drop=False).rename_axis(None)
    means = means.assign(values=own.groupby("setting")["values"].agg(statistic))
    looks: dict[str, Any] = {"a setting": {"linestyle": "", "marker": "o", "color": DOT}}
    shared = None
    for place, path in enumerate(fields):
        axes = drawing.add_subplot(
            math.ceil(len(fields) / across), across, place + 1, sharey=shared
        )
        shared = shared or axes
        values, x = _values(frame, path), _places(means, path)
        seaborn.scatterplot(x=x, y=means["values"], color=DOT, alpha=0.7, ax=axes, zorder=3)
        if 2 * len(values[0]) <= len(means):
            mean = {"color": QUIET, "linewidth": 1.2}
            seaborn.lineplot(x=x, y=means["values"], errorbar=None, ax=axes, zorder=2, **mean)
            looks["mean of the settings with this value"] = mean
        axes.plot(x[means["best"]], means["values"][means["best"]], **STAR)
        _scale(axes, *values)
        axes.set(xlabel=_short(view, path), ylabel="")
        if place % across == 0:
            axes.set_ylabel(f"{_said(view, view.objective)}, %")
        ruled(axes)
    _legend(drawing, view, looks)
    return drawing
