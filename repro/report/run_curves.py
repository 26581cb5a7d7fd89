"""Loss by step and scores by epoch of stored runs, in words, as a picture and for TensorBoard."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from repro.comparison.results import history_frame
from repro.report.figures.files import FOLDER
from repro.report.files import file_name, write_contents
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

    @property
    def steps(self) -> pandas.DataFrame:
        """`step` and `loss`."""
        return self.history.loc[self.history["loss"].notna(), ["epoch", "step", "loss"]]

    @property
    def scores(self) -> list[str]:
        """The names of its scores."""
        return [str(n).removeprefix(SCORE) for n in self.history if str(n).startswith(SCORE)]

    def score(self, name: str) -> pandas.DataFrame:
        """`epoch`, `step` and `value` of a score."""
        column = f"{SCORE}{name}"
        found = self.history.loc[self.history[column].notna(), ["epoch", "step", column]]
        return found.rename(columns={column: "value"})


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
        course if labels.count(course.label) == 1
        else Course(course.key, course.spec, f"{course.label} ({course.key[:6]})", course.kept,
                    course.history)
        for course in found
    ]  # fmt: skip


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
    losses = {course.key: [float(v) for v in course.steps["loss"]] for course in found}
    parts = [_block("loss by step", found, losses, "{:.3f}", best=False)]
    for name in score_names(found):
        values = {
            course.key: [float(value) for value in course.score(name)["value"]]
            for course in found
            if name in course.scores
        }
        parts.append(_block(f"{name} by epoch, %", found, values, "{:.1f}", best=True))
    return "\n\n".join(part for part in parts if part) + "\n"


def _block(
    title: str, found: Sequence[Course], values: dict[str, list[float]], form: str, *, best: bool
) -> str:
    every = [value for own in values.values() for value in own]
    if not every:
        return ""
    rows = []
    for course in found:
        own = values.get(course.key) or []
        if not own:
            continue
        ends = f"{form.format(own[0])} -> {form.format(own[-1])}"
        kept = [f"kept epoch {course.kept}"] * best
        line = sparkline(own, min(every), max(every))
        rows.append([course.key[:8], course.label, line, ends, *kept])
    head = ["run", "what", f"{title}, {form.format(min(every))} to {form.format(max(every))}"]
    return text_table([*head, "first -> last", *[""] * best], rows)


def score_names(found: Sequence[Course]) -> list[str]:
    """The scores of all runs, each once."""
    return list(dict.fromkeys(name for course in found for name in course.scores))


# Files.


def long_frame(found: Sequence[Course]) -> pandas.DataFrame:
    """One row for each loss and score, with the run's `key` and its label, `run`."""
    import pandas

    frames = []
    for course in found:
        named = {"loss": course.steps.rename(columns={"loss": "value"})}
        named |= {name: course.score(name) for name in course.scores}
        frames += [
            frame.assign(key=course.key, run=course.label, name=name)
            for name, frame in named.items()
        ]
    order = ["key", "run", "epoch", "step", "name", "value"]
    return pandas.concat(frames, ignore_index=True)[order]


def as_json(found: Sequence[Course]) -> dict[str, Any]:
    """The object of `curves --json`; docs/json.md describes it."""
    frame = long_frame(found)
    return {
        "runs": [
            {
                "key": course.key,
                "name": run_name(course.spec),
                "label": course.label,
                "kept_epoch": course.kept,
                "curves": [
                    {
                        "name": name,
                        "points": [
                            {"epoch": int(e), "step": int(s), "value": float(v)}
                            for e, s, v in zip(own["epoch"], own["step"], own["value"], strict=True)
                        ],
                    }
                    for name, own in frame[frame["key"] == course.key].groupby("name", sort=False)
                ],
            }
            for course in found
        ],
        "files": file_names(found),
    }


def file_names(found: Sequence[Course]) -> list[str]:
    """What `write_curves` writes, relative to its folder."""
    name = file_name("curves." + "-".join(course.key[:8] for course in found))
    return [f"{FOLDER}/{name}.{ending}" for ending in ("png", "svg", "pdf", "csv", "json")]


def write_curves(found: Sequence[Course], folder: Path) -> list[Path]:
    """Writes picture, CSV and JSON where their content changed; returns the paths."""
    from repro.report.figures.style import rendered, styled

    with styled():
        pictures = rendered(draw(found))
    texts = {
        "csv": str(long_frame(found).to_csv(index=False, lineterminator="\n")),
        "json": json_text(as_json(found)),
    }
    paths = [folder / name for name in file_names(found)]
    write_contents(paths, {**pictures, **texts})
    return paths


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
    from matplotlib.lines import Line2D

    from repro.report.figures.style import QUIET, SMALL, headed

    names = score_names(found)[:MOST_PANELS]
    palette = "colorblind" if len(found) <= 10 else "viridis"
    colours = dict(
        zip((c.key for c in found), seaborn.color_palette(palette, len(found)), strict=True)
    )
    across = min(1 + len(names), 3)
    down = math.ceil((1 + len(names)) / across)
    title = found[0].label if len(found) == 1 else _shared(found)
    drawing = headed(10.0 if across > 1 else 6.0, 3.4 * down, title)
    frame = long_frame(found)
    for place, name in enumerate(["loss", *names]):
        axes = drawing.add_subplot(down, across, place + 1)
        axes.set_title(name if place else "training loss", loc="left")
        own = frame[frame["name"] == name].astype({"epoch": float, "step": float})
        _fill(axes, own, colours, "epoch" if place else "step")
        for course in found if place else ():
            kept = own[(own["key"] == course.key) & (own["epoch"] == course.kept)]
            axes.plot(
                kept["epoch"], kept["value"], linestyle="", marker="o", markersize=10,
                markerfacecolor="none", markeredgecolor=colours[course.key], zorder=5,
            )  # fmt: skip
        axes.set(xlabel="epoch" if place else "step", ylabel="%" if place else "loss")
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(axis="y", color="#DDDDDD", linewidth=0.5, zorder=0)
    handles = [
        Line2D([], [], color=colours[course.key], label=course.label, marker="o", markersize=5)
        for course in found
        if len(found) > 1
    ]
    ring = Line2D([], [], linestyle="", marker="o", markersize=9, markerfacecolor="none",
                  markeredgecolor=QUIET, label="kept epoch")  # fmt: skip
    longest = max(len(course.label) for course in found)
    drawing.legend(
        handles=[*handles, *[ring] * bool(names)], loc="outside lower left", frameon=False,
        fontsize=SMALL, ncols=max(1, min(len(found) + 1, 120 // (longest + 8))),
    )  # fmt: skip
    return drawing


def _fill(axes: Axes, own: pandas.DataFrame, colours: dict[str, Any], x: str) -> None:
    """A line a run; of many steps the mean of windows in front of the steps themselves."""
    import seaborn

    if own.empty:
        return
    look: dict[str, Any] = {"hue": "key", "palette": colours, "legend": False, "errorbar": None}
    most = own.groupby("key").size().max()
    if x == "step" and most >= SMOOTH:
        seaborn.lineplot(own, x=x, y="value", ax=axes, alpha=0.25, linewidth=0.6, **look)
        window = max(1, int(most) // 50)
        means = own.groupby("key")["value"].transform(
            lambda values: values.rolling(window, min_periods=1).mean()
        )
        own = own.assign(value=means)
    marker = "o" if x == "epoch" else None
    seaborn.lineplot(own, x=x, y="value", ax=axes, marker=marker, linewidth=1.5, **look)
    if x == "epoch":
        from matplotlib.ticker import MaxNLocator

        axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))


def _shared(found: Sequence[Course]) -> str:
    """What all runs have in common, as a title."""
    spec = found[0].spec
    methods = list(dict.fromkeys(course.spec.method.label() for course in found))
    tasks = list(dict.fromkeys(_tasks(course.spec) for course in found))
    method = " and ".join(methods) if len(methods) < 3 else f"{len(methods)} models"
    task = " and ".join(tasks) if len(tasks) < 3 else f"{len(tasks)} tasks"
    return f"{method} on {task}, {spec.backbone.name}: {len(found)} runs"
