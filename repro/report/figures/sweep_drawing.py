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
    headed,
    rounded,
)
from repro.report.sweep import MEAN, SweepView, rows_in_words, value_in_words
from repro.stats.summary import Statistic

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
DOT = "#0072B2"
MARKERS = "osD^vPX<>"
"""A line has a marker of its own, beside its colour."""
STAR: dict[str, Any] = {
    "linestyle": "", "marker": "*", "markersize": 14, "markerfacecolor": MARK,
    "markeredgecolor": "white", "markeredgewidth": 0.8, "zorder": 6,
}  # fmt: skip


def draw_sweep(view: SweepView) -> Drawing:
    """The picture of a sweep with a score at least; call it within `styled`."""
    frame, fields = _long(view), view.sweep.fields
    columns = [column for column in view.columns if (frame["column"] == column).any()]
    colours = _colours(columns)
    if view.sweep.epochs is not None:
        return _rungs(view, frame)
    if len(fields) == 1:
        drawing = headed(0.75 * WIDTH, 1.25 * HEIGHT, _title(view), _stamp(view))
        _lines(drawing.add_subplot(), view, frame, fields[0], "column", colours)
        _legend(drawing, view, colours)
        return drawing
    if len(fields) > 2 or not _is_grid(view):
        return _dots(view, frame)
    first, second = sorted(fields, key=lambda path: not _is_scale(frame, path))
    values = _values(frame, second)
    panelled = len(columns) > 1 and len(values) <= MOST_PANELS
    number = (len(values) if panelled else 1) + 1
    across = 2 if number == 4 else min(number, ACROSS)
    down = math.ceil(number / across)
    drawing = headed(
        WIDTH if across > 2 else 0.9 * WIDTH, HEIGHT * down + 0.4, _title(view), _stamp(view)
    )
    grid = drawing.add_gridspec(down, across)
    shared = None
    if panelled:
        for place, value in enumerate(values):
            axes = drawing.add_subplot(grid[place // across, place % across], sharey=shared)
            shared = shared or axes
            axes.set_title(f"{_short(view, second)} {value_in_words(value)}", loc="left")
            own = frame[frame[second].map(lambda one, of=value: one == of)]
            _lines(axes, view, own, first, "column", colours)
            if place % across:
                axes.set_ylabel("")
    else:
        axes = drawing.add_subplot(grid[0, 0])
        axes.set_title(_said(view, view.objective), loc="left")
        own = frame[frame["column"] == view.objective].copy()
        own["line"] = own[second].map(value_in_words)
        colours = _shades([value_in_words(value) for value in values])
        _lines(axes, view, own, first, "line", colours)
    _heat_map(drawing.add_subplot(grid[(number - 1) // across, (number - 1) % across]), view, frame)
    _legend(drawing, view, colours, "" if panelled else _short(view, second))
    return drawing


def _is_grid(view: SweepView) -> bool:
    """Whether each value of a field is there with each of another: not where they are drawn."""
    points = view.sweep.points
    numbers = (len({repr(point[path]) for point in points}) for path in view.sweep.fields)
    return len(points) == math.prod(numbers)


def _long(view: SweepView) -> pandas.DataFrame:
    """One row for each score of a seed, and whether the setting is the chosen one."""
    frame, best = view.frame, view.best(view.objective)
    frame["best"] = frame["setting"].eq(best.setting if best else 0).astype(bool)
    frame = frame.explode("values")
    return frame[frame["values"].notna()].astype({"values": float})


def _title(view: SweepView) -> str:
    return f"{view.row}: {' × '.join(map(_plain, view.sweep.fields))} ({view.sweep.request.id})"


def _stamp(view: SweepView, bars: str = ", bars: 1 s.d.") -> str:
    request, cell = view.sweep.request, view.of(view.objective)[0]
    parts = [
        f"{request.scale.capitalize()} scale",
        f"{rows_in_words(cell.split)} rows",
        "one seed" if request.seeds == 1 else f"{cell.statistic} of {request.seeds} seeds{bars}",
        f"{view.done} of {len(view.sweep.points)} settings",
    ]
    return " · ".join(parts)


def _statistic(view: SweepView) -> Statistic:
    return view.cells[0].statistic


def _said(view: SweepView, column: str) -> str:
    return f"the mean of {len(view.columns) - 1} columns" if column == MEAN else column


def _plain(path: str) -> str:
    return path.partition(".")[2].replace("_", " ")


def _short(view: SweepView, path: str) -> str:
    names = dict(zip(view.sweep.fields, fields_in_short(view.sweep.fields), strict=True))
    return names[path].replace("_", " ")


def _values(frame: pandas.DataFrame, path: str) -> list[Any]:
    """The values of a field in order: numbers by size, others as they were given."""
    found = list(dict.fromkeys(frame.sort_values("setting")[path]))
    return sorted(found) if _is_scale(frame, path) else found


def _is_scale(frame: pandas.DataFrame, path: str) -> bool:
    """Whether the field's values are numbers."""
    return all(isinstance(v, int | float) and not isinstance(v, bool) for v in frame[path])


def _colours(names: Sequence[str]) -> dict[str, str]:
    """Okabe and Ito's colours, which seaborn calls colorblind; the mean is dark."""
    import seaborn

    own = [name for name in names if name != MEAN]
    palette = seaborn.color_palette("colorblind", max(len(own), 1)).as_hex()
    return {**dict(zip(own, palette, strict=False)), **({MEAN: INK} if MEAN in names else {})}


def _shades(names: Sequence[str]) -> dict[str, str]:
    import seaborn

    palette = seaborn.color_palette("viridis", len(names)).as_hex()
    return dict(zip(names, palette, strict=True))


def _lines(
    axes: Axes,
    view: SweepView,
    frame: pandas.DataFrame,
    path: str,
    hue: str,
    colours: dict[str, str],
) -> None:
    """Score against a field: a line of means for each `hue`, with the spread of the seeds."""
    import seaborn

    values = _values(frame, path)
    scale = _is_scale(frame, path)
    places = frame[path] if scale else frame[path].map(values.index)
    shown = frame.assign(x=places.astype(float), line=frame[hue].astype(str))
    shown = _beside(shown.sort_values("x"), list(colours), scale)
    for (name, colour), marker in zip(colours.items(), cycle(MARKERS), strict=False):
        own = shown[shown["line"] == name]
        if own.empty:
            continue
        seaborn.lineplot(
            own, x="x", y="values", color=colour, marker=marker, markersize=6,
            linewidth=2.2 if name == MEAN else 1.4, errorbar="sd" if view.sweep.request.seeds > 1
            else None, err_style="bars", err_kws={"capsize": 2.5, "linewidth": 1.0}, ax=axes,
            zorder=5 if name == MEAN else 4, estimator=_statistic(view),
        )  # fmt: skip
    best = shown[shown["best"] & (shown["column"] == view.objective)]
    if not best.empty:
        axes.plot([best["x"].iloc[0]], [best["values"].agg(_statistic(view))], **STAR)
    _scale(axes, values, scale)
    axes.set(xlabel=_short(view, path), ylabel="score, %")
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="#DDDDDD", linewidth=0.5, zorder=0)
    axes.set_axisbelow(True)


def _beside(shown: pandas.DataFrame, names: Sequence[str], scale: bool) -> pandas.DataFrame:
    """Lines a little beside each other, so that the bars of their points do not hide each other."""
    low, high = shown["x"].min(), shown["x"].max()
    others = [name for name in names if name != MEAN]
    places = {name: n - (len(others) - 1) / 2 for n, name in enumerate(others)} | {MEAN: 0.0}
    shift = shown["line"].map(places) * (BESIDE / max(len(others), BESIDE_LINES))
    if scale and spans_powers(low, high):
        return shown.assign(x=shown["x"] * (high / low) ** shift)
    return shown.assign(x=shown["x"] + shift * ((high - low) or 1.0))


def _crowded(places: Sequence[float]) -> bool:
    """Whether two ticks would be nearer than their labels are wide."""
    gaps = [b - a for a, b in pairwise(sorted(places))]
    return bool(gaps) and min(gaps) < NEAREST * math.fsum(gaps)


def _scale(axes: Axes, values: Sequence[Any], scale: bool) -> None:
    """A tick for each value, if there is room; a logarithmic x where the values are powers."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator

    places = [float(v) for v in values] if scale else [float(n) for n in range(len(values))]
    logarithmic = scale and spans_powers(min(places), max(places))
    if logarithmic:
        axes.set_xscale("log")
    axes.xaxis.set_minor_locator(NullLocator())
    if scale and _crowded([math.log(place) for place in places] if logarithmic else places):
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        if logarithmic:
            decades = math.log10(max(places) / min(places))
            axes.xaxis.set_major_locator(LogLocator(subs=(1,) if decades > 2 else (1, 2, 5)))
        return
    axes.xaxis.set_major_locator(FixedLocator(places))
    axes.set_xticklabels([value_in_words(value) for value in values])
    if not scale:
        axes.set_xlim(-0.5, len(values) - 0.5)


def _legend(drawing: Drawing, view: SweepView, names: dict[str, str], title: str = "") -> None:
    """What a colour is, and the star, which marks the setting that the objective chooses."""
    from matplotlib.lines import Line2D

    lead = f"{title} " if title else ""
    handles = [
        Line2D([], [], color=colour, marker=marker, linewidth=2.2 if name == MEAN else 1.4,
               label=f"{lead}{name}")
        for (name, colour), marker in zip(names.items(), cycle(MARKERS), strict=False)
    ]  # fmt: skip
    _place(drawing, view, handles)


def _place(drawing: Drawing, view: SweepView, handles: list[Any]) -> None:
    """The legend, with the star where a setting is chosen."""
    from matplotlib.lines import Line2D

    if view.best(view.objective) is not None:
        handles.append(Line2D([], [], label=f"chosen by {_said(view, view.objective)}", **STAR))
    columns = min(len(handles), int(drawing.get_figwidth() / 1.6))
    drawing.legend(
        handles=handles, loc="outside lower left", ncols=columns, frameon=False, fontsize=SMALL
    )


def _heat_map(axes: Axes, view: SweepView, frame: pandas.DataFrame) -> None:
    """The objective's mean for each pair of values, the chosen one framed."""
    import seaborn
    from matplotlib.patches import Rectangle

    first, second = sorted(view.sweep.fields, key=lambda path: not _is_scale(frame, path))
    own = frame[frame["column"] == view.objective]
    across, down = _values(frame, first), _values(frame, second)
    means = own.assign(a=own[first].map(across.index), d=own[second].map(down.index)).pivot_table(
        index="d", columns="a", values="values", aggfunc=_statistic(view)
    )
    means = means.reindex(index=range(len(down)), columns=range(len(across)))
    seaborn.heatmap(
        means, ax=axes, cmap="viridis", annot=means.map(rounded), fmt="",
        annot_kws={"fontsize": SMALL}, linewidths=1.0, cbar_kws={"label": "score, %"},
        xticklabels=[value_in_words(value) for value in across],
        yticklabels=[value_in_words(value) for value in down],
    )  # fmt: skip
    axes.set(xlabel=_short(view, first), ylabel=_short(view, second))
    axes.set_title(_said(view, view.objective), loc="left")
    axes.invert_yaxis()
    axes.tick_params(length=0, rotation=0)
    best = view.best(view.objective)
    if best is not None:
        point = view.sweep.points[best.setting - 1]
        corner = across.index(point[first]), down.index(point[second])
        axes.add_patch(
            Rectangle(corner, 1, 1, fill=False, edgecolor=MARK, linewidth=2.5, clip_on=False)
        )


def _rungs(view: SweepView, frame: pandas.DataFrame) -> Drawing:
    """The objective of each setting of a search by halving by epochs: those that were trained to
    the end in colour.
    """
    import seaborn
    from matplotlib.lines import Line2D

    own = frame[frame["column"] == view.objective].copy()
    others = [path for path in view.sweep.fields if path != EPOCHS]
    named = {
        number: setting_in_words({path: point[path] for path in others})
        for number, point in enumerate(view.sweep.points, 1)
    }
    own["line"] = own["setting"].map(named)
    whole = own.loc[own[EPOCHS] == view.sweep.epochs, "line"].drop_duplicates().tolist()
    drawing = headed(0.75 * WIDTH, 1.25 * HEIGHT, _title(view), _stamp(view))
    axes = drawing.add_subplot()
    colours = dict.fromkeys(own["line"], "#BBBBBB") | _colours(whole)
    for name, colour in colours.items():
        seaborn.lineplot(
            own[own["line"] == name].astype({EPOCHS: float}), x=EPOCHS, y="values", color=colour,
            marker="o", errorbar="sd" if name in whole and view.sweep.request.seeds > 1 else None,
            err_style="bars", linewidth=1.6 if name in whole else 1.0, ax=axes,
            zorder=4 if name in whole else 2, estimator=_statistic(view),
        )  # fmt: skip
    best = own[own["best"]]
    if not best.empty:
        axes.plot([best[EPOCHS].iloc[0]], [best["values"].agg(_statistic(view))], **STAR)
    _scale(axes, _values(own, EPOCHS), True)
    axes.set(xlabel="epochs", ylabel=f"{_said(view, view.objective)}, %")
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="#DDDDDD", linewidth=0.5, zorder=0)
    handles = [Line2D([], [], color=colours[name], marker="o", label=name) for name in whole]
    handles.append(Line2D([], [], color="#BBBBBB", marker="o", label="left out"))
    drawing.legend(
        handles=[*handles, *([Line2D([], [], label="chosen", **STAR)] if whole else [])],
        loc="outside lower left", ncols=1, frameon=False, fontsize=SMALL,
    )  # fmt: skip
    return drawing


def _dots(view: SweepView, frame: pandas.DataFrame) -> Drawing:
    """Each setting's objective against each field."""
    import seaborn
    from matplotlib.lines import Line2D

    fields = view.sweep.fields
    across = min(len(fields), ACROSS)
    down = math.ceil(len(fields) / across)
    drawing = headed(WIDTH, HEIGHT * down, _title(view), _stamp(view, ""))
    own = frame[frame["column"] == view.objective]
    keys = ["setting", "best"]
    means = (
        own.groupby(keys, as_index=False)["values"]
        .agg(_statistic(view))
        .merge(own.drop_duplicates("setting")[["setting", *fields]], on="setting")
    )
    shared, repeated = None, False
    for place, path in enumerate(fields):
        axes = drawing.add_subplot(down, across, place + 1, sharey=shared)
        shared = shared or axes
        values, scale = _values(frame, path), _is_scale(frame, path)
        x = means[path].astype(float) if scale else means[path].map(values.index).astype(float)
        seaborn.scatterplot(x=x, y=means["values"], color=DOT, alpha=0.7, ax=axes, zorder=3)
        if 2 * len(values) <= len(means):
            repeated = True
            seaborn.lineplot(
                x=x, y=means["values"], color=QUIET, errorbar=None, linewidth=1.2, ax=axes, zorder=2
            )
        best = means["best"]
        axes.plot(x[best], means["values"][best], **STAR)
        _scale(axes, values, scale)
        axes.set(
            xlabel=_short(view, path),
            ylabel="" if place % across else f"{_said(view, view.objective)}, %",
        )
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(axis="y", color="#DDDDDD", linewidth=0.5, zorder=0)
    handles = [Line2D([], [], label="a setting", linestyle="", marker="o", color=DOT)]
    if repeated:
        handles.append(Line2D([], [], label="mean of the settings with this value", color=QUIET))
    _place(drawing, view, handles)
    return drawing
