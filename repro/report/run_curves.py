"""Loss by step and scores by epoch of stored runs, in words, as a picture and for TensorBoard."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from repro.comparison.results import history_frame
from repro.report.files import figure_paths, file_name, write_drawing
from repro.report.layout import text_table
from repro.report.render import json_text
from repro.report.runs_found import kept_epoch, varying
from repro.spec import RunSpec
from repro.store.entry import StoredRun
from repro.words import run_name

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

BLOCKS = "▁▂▃▄▅▆▇█"
WIDTH = 32
"""Blocks of a line in the terminal."""
MOST_PARTS = 4
"""Settings in a label."""
MOST_PANELS = 5
"""Scores that are drawn."""
SMOOTH = 200
"""From so many steps on, a loss is drawn as the mean of windows, before the steps themselves."""
SCORE = "score."


@dataclass(frozen=True)
class Course:
    """The training of one run. `label`: what tells it from the other runs; `kept`: the epoch whose
    weights it kept; `history`: see `history_frame`, each epoch scored once.
    """

    key: str
    spec: RunSpec
    label: str
    kept: int
    history: pandas.DataFrame


def courses(runs: Sequence[StoredRun]) -> list[Course]:
    """The training of each run. Raises ReproError for a run without its history."""
    specs = [run.spec for run in runs]
    found = []
    for run in runs:
        history = history_frame(run)
        looks = history["loss"].isna()
        twice = looks & history[looks].duplicated("epoch").reindex(history.index, fill_value=False)
        label = label_of(run.spec, specs)
        found.append(Course(run.key, run.spec, label, kept_epoch(run), history[~twice]))
    labels = [course.label for course in found]
    return [
        replace(course, label=f"{course.label} ({course.key[:6]})" if many > 1 else course.label)
        for course, many in zip(found, map(labels.count, labels), strict=True)
    ]


def label_of(spec: RunSpec, among: Sequence[RunSpec]) -> str:
    """What tells a run from the others: "size 64, seed 1". Its whole name for a run alone, and
    where most settings differ.
    """
    parts: dict[str, None] = {}
    for path, value in varying(spec, among).items():
        part, _, name = path.partition(".")
        if part == "method" and len({one.method.kind for one in among}) > 1:
            parts[spec.method.label()] = None
        elif part == "task" and len({one.task.names for one in among}) > 1:
            parts[_tasks(spec)] = None
        elif part == "backbone":
            parts[spec.backbone.name] = None
        elif part == "parents":
            parts[f"made from {str(value)[:6]}"] = None
        else:
            shown = f"{value:g}" if isinstance(value, float) else str(value)
            parts[f"{(name or part).replace('_', ' ')} {shown}"] = None
    return ", ".join(parts) if 0 < len(parts) <= MOST_PARTS else run_name(spec)


def _tasks(spec: RunSpec) -> str:
    names = spec.task.names
    return names[0] if len(names) == 1 else f"{len(names)} tasks"


# In the terminal.


def sparkline(values: Sequence[float], low: float, high: float) -> str:
    """The values as blocks from `low` to `high`, at most `WIDTH`: each the mean of its part."""
    count = min(WIDTH, len(values))
    edges = [round(place * len(values) / count) for place in range(count + 1)]
    means = [math.fsum(values[start:end]) / (end - start) for start, end in pairwise(edges)]
    step = (high - low) / (len(BLOCKS) - 1) or 1.0
    return "".join(BLOCKS[min(len(BLOCKS) - 1, round((mean - low) / step))] for mean in means)


def as_text(found: Sequence[Course]) -> str:
    """A line a run: its loss by step; then, for each score, a line a run by epoch. Lines of the
    same thing share their scale.
    """
    frame = long_frame(found)
    parts = []
    for name, own in frame.groupby("name", sort=False):
        score, low, high = name != "loss", own["value"].min(), own["value"].max()
        form = "{:.1f}" if score else "{:.3f}"
        rows = []
        for course in found:
            values = own.loc[own["key"] == course.key, "value"].tolist()
            if values:
                line = sparkline(values, low, high)
                ends = f"{form.format(values[0])} -> {form.format(values[-1])}"
                kept = [f"kept epoch {course.kept}"] * score
                rows.append([course.key[:8], course.label, line, ends, *kept])
        title = f"{name} by epoch, %" if score else "loss by step"
        title += f", {form.format(low)} to {form.format(high)}"
        parts.append(text_table(["run", "what", title, "first -> last", *[""] * score], rows))
    return "\n\n".join(parts) + "\n"


# Files.


def long_frame(found: Sequence[Course]) -> pandas.DataFrame:
    """One row for each loss and score, with the run's `key` and its label, `run`."""
    import pandas

    frames = []
    for course in found:
        names = ["loss", *(n for n in course.history if str(n).startswith(SCORE))]
        own = course.history.melt(["epoch", "step"], names, "name").dropna(subset="value")
        name = own["name"].str.removeprefix(SCORE)
        frames.append(own.assign(key=course.key, run=course.label, name=name))
    order = ["key", "run", "epoch", "step", "name", "value"]
    return pandas.concat(frames, ignore_index=True)[order]


def as_json(found: Sequence[Course]) -> dict[str, Any]:
    """The object of `curves --json`; docs/json.md describes it."""
    frame, points = long_frame(found), ["epoch", "step", "value"]
    return {
        "runs": [
            {
                "key": course.key,
                "name": run_name(course.spec),
                "label": course.label,
                "kept_epoch": course.kept,
                "curves": [
                    {"name": name, "points": own[points].to_dict("records")}
                    for name, own in frame[frame["key"] == course.key].groupby("name", sort=False)
                ],
            }
            for course in found
        ],
        "files": list(map(str, figure_paths(_name(found)))),
    }


def _name(found: Sequence[Course]) -> str:
    return file_name("curves." + "-".join(course.key[:8] for course in found))


def write_curves(found: Sequence[Course], folder: Path) -> list[Path]:
    """Writes picture, CSV and JSON where their content changed; returns the paths."""
    texts = {
        "csv": str(long_frame(found).to_csv(index=False, lineterminator="\n")),
        "json": json_text(as_json(found)),
    }
    return write_drawing(folder, _name(found), lambda: draw(found), texts)


def write_events(found: Sequence[Course], folder: Path) -> list[Path]:
    """Writes each run's curves as event files of TensorBoard, in a folder that is named by its key;
    returns the folders. One that is there already is left as it is.

    Raises ModuleNotFoundError without the package tensorboard.
    """
    from torch.utils.tensorboard import SummaryWriter

    written = []
    for course in found:
        name = re.sub(r"[^\w.-]+", "-", course.label)[:60].strip("-")
        place = folder / f"{name}.{course.key[:8]}"
        if place.exists():
            continue
        with SummaryWriter(str(place)) as writer:
            for row in long_frame([course]).itertuples():
                tag = row.name if row.name == "loss" else f"score/{row.name}"
                writer.add_scalar(tag, row.value, int(row.step))
            settings = course.spec.model_dump(mode="json", exclude={"sources"})
            writer.add_text("settings", f"```json\n{json_text(settings)}```")
        written.append(place)
    return written


def draw(found: Sequence[Course]) -> Drawing:
    """Loss by step and each score by epoch, a colour a run; call it within `styled`."""
    import seaborn

    from repro.report.figures.style import QUIET, headed, legend, ruled

    frame = long_frame(found).astype({"epoch": float, "step": float})
    frame["kept"] = frame["epoch"] == frame["key"].map({one.key: one.kept for one in found})
    names = [name for name in frame["name"].unique() if name != "loss"][:MOST_PANELS]
    palette = "colorblind" if len(found) <= 10 else "viridis"
    colours = seaborn.color_palette(palette, len(found))
    hues = {course.key: colour for course, colour in zip(found, colours, strict=True)}
    across = min(1 + len(names), 3)
    down = math.ceil((1 + len(names)) / across)
    title = found[0].label if len(found) == 1 else _shared(found)
    drawing = headed(10.0 if across > 1 else 6.0, 3.4 * down, title)
    ring: dict[str, Any] = {"linestyle": "", "marker": "o", "markerfacecolor": "none"}
    for place, name in enumerate(["loss", *names]):
        axes = drawing.add_subplot(down, across, place + 1)
        axes.set_title(name if place else "training loss", loc="left")
        own = frame[frame["name"] == name]
        if place:
            _by_epoch(axes, own, hues)
            for row in own[own["kept"]].itertuples():
                look = ring | {"markersize": 10, "markeredgecolor": hues[row.key], "zorder": 5}
                axes.plot([row.epoch], [row.value], **look)
        else:
            _by_step(axes, own, hues)
        axes.set(xlabel="epoch" if place else "step", ylabel="%" if place else "loss")
        ruled(axes)
    looks: dict[str, Any] = {}
    if len(found) > 1:
        dot = {"marker": "o", "markersize": 5}
        looks = {course.label: dot | {"color": hues[course.key]} for course in found}
    if names:
        looks["kept epoch"] = ring | {"markersize": 9, "markeredgecolor": QUIET}
    longest = max(len(course.label) for course in found)
    legend(drawing, looks, max(1, 120 // (longest + 8)))
    return drawing


def _by_epoch(axes: Axes, own: pandas.DataFrame, hues: dict[str, Any]) -> None:
    """A line a run with a mark an epoch."""
    import seaborn
    from matplotlib.ticker import MaxNLocator

    seaborn.lineplot(
        own, x="epoch", y="value", hue="key", palette=hues, marker="o", linewidth=1.5,
        errorbar=None, legend=False, ax=axes,
    )  # fmt: skip
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))


def _by_step(axes: Axes, own: pandas.DataFrame, hues: dict[str, Any]) -> None:
    """A line a run; of many steps the mean of windows in front of the steps themselves."""
    import seaborn

    look: dict[str, Any] = {"hue": "key", "palette": hues, "legend": False, "errorbar": None}
    if own.empty:
        return
    by_run = own.groupby("key")["value"]
    if (most := int(by_run.size().max())) >= SMOOTH:
        seaborn.lineplot(own, x="step", y="value", ax=axes, alpha=0.25, linewidth=0.6, **look)
        means = by_run.transform(lambda steps: steps.rolling(most // 50, min_periods=1).mean())
        own = own.assign(value=means)
    seaborn.lineplot(own, x="step", y="value", ax=axes, linewidth=1.5, **look)


def _shared(found: Sequence[Course]) -> str:
    spec = found[0].spec
    methods = list(dict.fromkeys(course.spec.method.label() for course in found))
    tasks = list(dict.fromkeys(_tasks(course.spec) for course in found))
    method = " and ".join(methods) if len(methods) < 3 else f"{len(methods)} models"
    task = " and ".join(tasks) if len(tasks) < 3 else f"{len(tasks)} tasks"
    return f"{method} on {task}, {spec.backbone.name}: {len(found)} runs"
