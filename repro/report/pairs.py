"""Two rows of a table compared, for a reader: sentences, a table in every format, a plot."""

from __future__ import annotations

import hashlib
import math
import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from repro.comparison.pairs import COLUMNS, Pair
from repro.report.figures.files import FOLDER
from repro.report.figures.view import csv_of
from repro.report.files import table_name, write_artefact
from repro.report.latex import NEEDS, escape, floated, label
from repro.report.layout import markdown_table, plain_label, prose
from repro.report.render import GAP, Grid, Line, number, signed
from repro.spec import canonical_json

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

Record = Mapping[str, Any]
FORMATS = ("md", "csv", "tex")
COLOURS = {"higher": "#0072B2", "lower": "#D55E00"}
"""Of columns that are shown to differ (Okabe and Ito's palette); the others are grey."""
EFFECT = "All tasks"
LONGEST = 80
"""Letters of a line below the axis."""
STRETCH = 3.0
"""An interval that reaches further than this many times the usual one is cut."""


def grid(pair: Pair) -> Grid:
    """The comparison in words, a line a column."""
    heads = (
        pair.first.label, pair.second.label, "Difference", "95 % interval", "p", "p (Holm)",
        "Outcome",
    )  # fmt: skip
    none = (False,) * len(heads)
    lines = [Line(one["column"], "", _texts(one), none, True) for one in pair.lines]
    return Grid("Column", heads, tuple(lines), kinds=False)


def _texts(line: Record) -> tuple[str, ...]:
    low, high, places = line["low_95"], line["high_95"], line["digits"]
    interval = GAP if low is None else f"{signed(low, places + 1)} to {signed(high, places + 1)}"
    return (
        _side(line, "first"),
        _side(line, "second"),
        signed(line["difference"], places),
        interval,
        _p(line["p"]),
        _p(line["p_adjusted"]),
        line["outcome"],
    )


def _side(line: Record, name: str) -> str:
    """The mean, its deviation and the number of runs, as far as they are known."""
    if line[name] is None:
        return GAP
    sd, n = line[f"{name}_sd"], line[f"{name}_n"]
    spread = "" if sd is None else f" ± {sd:.{line['digits']}f}"
    return number(line[name], line["digits"]) + spread + f" (n={n})" * (n is not None)


def _p(value: float | None) -> str:
    return GAP if value is None else f"{value:.2g}"


def markdown(pairs: Sequence[Pair]) -> str:
    """Of one pair all that it says; of several a line each."""
    if len(pairs) == 1:
        return _one(pairs[0])
    heads = [
        pairs[0].first.row, "against", "Scale", "Compared", "Higher", "Lower", "Not shown",
        "Not tested", "Over tasks", "95 % interval", "p",
    ]  # fmt: skip
    table = markdown_table(heads, [_in_a_line(pair) for pair in pairs], left=3)
    notes = [
        "- Columns that can be compared, on how many of them the row is higher or lower (Welch, "
        "Holm's adjustment within a line of this table), and the mean difference over tasks.",
        f'- One of them by column: python -m repro compare "{pairs[0].first.row}" ROW --table '
        f"{pairs[0].view.table.id}",
    ]
    reasons: dict[str, list[str]] = {}
    for pair in pairs:
        if not _compared(pair):
            reasons.setdefault(_hindrance(pair), []).append(pair.second.label)
    notes += [f"- No score compared with {', '.join(who)}: {why}." for why, who in reasons.items()]
    return "\n".join([*table, "", *map(prose, notes)]) + "\n"


def _compared(pair: Pair) -> int:
    """How many scores of the two rows can be compared."""
    scores = [line["outcome"] for line in pair.lines if line["kind"] == "score"]
    return sum(outcome not in ("absent", "not comparable") for outcome in scores)


def _hindrance(pair: Pair) -> str:
    """Why no score of two rows can be compared: the commonest reason."""
    reasons = [line["reason"] for line in pair.lines if line["kind"] == "score" and line["reason"]]
    return max(dict.fromkeys(reasons), key=reasons.count, default="no column has both numbers")


def _in_a_line(pair: Pair) -> list[str]:
    scores = [line["outcome"] for line in pair.lines if line["kind"] == "score"]
    effect = pair.effect
    t = effect.t if effect is not None else None
    return [
        pair.first.kind,
        pair.second.label,
        pair.view.request.scale,
        str(_compared(pair)),
        *(str(scores.count(name)) for name in ("higher", "lower", "not shown", "not tested")),
        signed(effect.value, 2) if effect is not None else GAP,
        f"{signed(t.low, 2)} to {signed(t.high, 2)}" if t is not None else GAP,
        _p(t.p) if t is not None else GAP,
    ]


def _one(pair: Pair) -> str:
    """The sentences, the first one alone, and the table."""
    shown = grid(pair)
    first, *rest = pair.words or [""]
    table = markdown_table(shown.head(), shown.body(), left=1)
    notes = [f"- {prose(one)}" for one in rest]
    reasons = [f"- {prose(why)}" for why in _untested(pair)]
    return "\n".join([prose(first), "", *table, "", *notes, *reasons]) + "\n"


def _untested(pair: Pair) -> list[str]:
    """Why columns with two numbers are not tested, by reason."""
    reasons: dict[str, list[str]] = {}
    for line in pair.lines:
        if line["outcome"] == "not tested":
            reasons.setdefault(line["reason"], []).append(line["column"])
    return [f"Not tested: {', '.join(names)} ({why})." for why, names in reasons.items()]


def csv_text(pairs: Sequence[Pair]) -> str:
    """The frames, a column of the table in a line."""
    lines = (line for pair in pairs for line in pair.lines)
    return csv_of([*COLUMNS], ([line[name] for name in COLUMNS] for line in lines))


def latex(pairs: Sequence[Pair]) -> str:
    """Each pair as a float with the sentences as its notes, to be read with \\input."""
    needs = rf"% Needs \usepackage{{{','.join(NEEDS)}}}"
    return "\n".join([needs, *(line for pair in pairs for line in _latex(pair))]) + "\n"


def _latex(pair: Pair) -> list[str]:
    title = f"{pair.view.table.title}: {pair.first.label} against {pair.second.label}"
    above = [rf"\caption{{{escape(title)}.}}", rf"\label{{{label(name_of(pair))}}}"]
    return floated(grid(pair), above, [*pair.words, *_untested(pair)])


def as_json(pairs: Sequence[Pair], files: list[str]) -> dict[str, Any]:
    """The object of `compare --json`; docs/json.md describes it."""
    return {
        "table": pairs[0].view.table.id,
        "pairs": [_json(pair) for pair in pairs],
        "files": files,
    }


def _json(pair: Pair) -> dict[str, Any]:
    return {
        "scale": pair.view.request.scale,
        "variant": table_name(pair.view.request),
        "first": {"row": pair.first.row, "kind": pair.first.kind},
        "second": {"row": pair.second.row, "kind": pair.second.kind},
        "words": pair.words,
        "columns": [{name: line[name] for name in COLUMNS} for line in pair.lines],
        "effect": None if pair.effect is None else asdict(pair.effect),
    }


def name_of(pair: Pair) -> str:
    """What the files of the comparison are called."""
    labels = [side.label for side in (pair.first, pair.second)]
    plain = "-".join(re.sub(r"[^A-Za-z0-9.]+", "-", text).strip("-") for text in labels)
    whole = canonical_json([table_name(pair.view.request), *labels])
    digest = hashlib.sha256(whole.encode()).hexdigest()[:6]
    request = pair.view.request
    return f"compare-{request.id}.{request.scale}-{plain[:100]}-{digest}"


def write_plot(pair: Pair, folder: Path) -> list[str]:
    """Writes figures/compare-NAME.{png,svg,pdf}; returns their names, none where nothing can be
    drawn. Raises StoreError, which names --out, for a folder that cannot be written.
    """
    from repro.report.figures.style import rendered, styled

    if not _drawn(pair):
        return []
    with styled():
        contents = rendered(draw(pair))
    names = []
    for ending, content in contents.items():
        names.append(f"{FOLDER}/{name_of(pair)}.{ending}")
        write_artefact(folder / names[-1], content)
    return names


def _drawn(pair: Pair) -> list[Record]:
    """Scores and means with two comparable numbers."""
    return [
        line
        for line in pair.lines
        if line["kind"] != "fact" and line["outcome"] not in ("absent", "not comparable")
    ]


def draw(pair: Pair) -> Drawing:
    """A forest plot: the difference on each column with its interval, and over tasks. Call it
    within `styled`.
    """
    from repro.report.figures.style import headed

    lines = _drawn(pair)
    left = [line["column"] for line in pair.lines if line not in lines and line["kind"] != "fact"]
    title = f"{plain_label(pair.first.label)} minus {plain_label(pair.second.label)}"
    bars = any(line["low_95"] is not None for line in lines)
    said = [
        f"{pair.view.table.id}, {pair.view.request.scale} scale{': 95 % intervals, Welch' * bars}."
    ]
    said += [f"Not drawn, as a number is absent or not comparable: {', '.join(left)}."] * bool(left)
    effect = pair.effect is not None and pair.effect.t is not None
    drawing = headed(7.0, 0.9 + 0.32 * (len(lines) + effect), title, *said)
    _fill(drawing.add_subplot(1, 1, 1), pair, lines)
    return drawing


def _fill(axes: Axes, pair: Pair, lines: list[Record]) -> None:
    from repro.report.figures.style import INK, PAPER, QUIET

    names = [plain_label(line["column"]) for line in lines]
    effect = pair.effect.t if pair.effect is not None else None
    ends = [(line["low_95"], line["high_95"]) for line in lines if line["low_95"] is not None]
    ends += [(effect.low, effect.high)] if effect is not None else []
    edge = _edge([line["difference"] for line in lines], ends)

    def bar(place: int, low: float, high: float, colour: str) -> None:
        axes.plot([max(low, -edge), min(high, edge)], [place] * 2, color=colour, linewidth=1.6)
        for end, sign in ((low, "<"), (high, ">")):
            if abs(end) > edge:
                axes.plot(math.copysign(edge, end), place, sign, color=colour, clip_on=False)

    for place, line in enumerate(lines):
        colour = COLOURS.get(line["outcome"], QUIET)
        if line["low_95"] is not None:
            bar(place, line["low_95"], line["high_95"], colour)
        tested = line["kind"] == "score" and line["low_95"] is not None
        axes.plot(
            line["difference"], place, "o" if line["kind"] == "score" else "s", color=colour,
            markersize=6, mfc=colour if tested else PAPER,
        )  # fmt: skip
    if effect is not None:
        axes.axhline(len(lines) - 0.5, color="#BBBBBB", linewidth=0.6)
        bar(len(lines), effect.low, effect.high, INK)
        axes.plot(effect.value, len(lines), "D", color=INK, markersize=7)
        names.append(EFFECT)
    axes.axvline(0.0, color=INK, linewidth=0.9, linestyle=":", zorder=0)
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_xlim(-1.06 * edge, 1.06 * edge)
    said = f"difference in points (right: {plain_label(pair.first.label)} is higher)"
    axes.set_xlabel(textwrap.fill(said, LONGEST))
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="x", color="#DDDDDD", linewidth=0.5, zorder=0)
    axes.set_axisbelow(True)
    _legend(
        axes, lines, effect is not None, clipped=any(abs(x) > edge for own in ends for x in own)
    )


def _edge(differences: Sequence[float], ends: Sequence[tuple[float, float]]) -> float:
    """Where both sides of the axis end: beyond every difference, but not beyond an interval that is
    several times as wide as the others (two runs give such a one).
    """
    reach = [max(map(abs, own)) for own in ends]
    least = 1.15 * max(map(abs, differences))
    return max(least, min(max(reach), STRETCH * median(reach)) if reach else 0.0) or 1.0


def _legend(axes: Axes, lines: list[Record], effect: bool, *, clipped: bool) -> None:
    """What the colours and signs that are drawn mean."""
    from matplotlib.lines import Line2D

    from repro.report.figures.style import INK, PAPER, QUIET, SMALL

    known = {line["outcome"] for line in lines}
    signs: dict[str, dict[str, Any]] = {
        f"shown to be {name} (Holm)": {"color": colour, "marker": "o"}
        for name, colour in COLOURS.items()
        if name in known
    }
    if "not shown" in known:
        signs["no difference shown"] = {"color": QUIET, "marker": "o"}
    hollow: dict[str, Any] = {"color": QUIET, "mfc": PAPER, "ls": ""}
    if any(line["kind"] == "score" and line["low_95"] is None for line in lines):
        signs["no interval can be given"] = hollow | {"marker": "o"}
    if any(line["kind"] != "score" for line in lines):
        signs["mean of columns"] = hollow | {"marker": "s"}
    if clipped:
        signs["the interval goes on"] = {"color": QUIET, "marker": ">", "ls": ""}
    if effect:
        signs["mean over tasks (paired t)"] = {"color": INK, "marker": "D"}
    handles = [Line2D([], [], label=name, **look) for name, look in signs.items()]
    figure = axes.get_figure(root=True)
    assert figure is not None
    figure.legend(
        handles=handles, loc="outside lower left", ncols=min(3, len(handles)), frameon=False,
        fontsize=SMALL,
    )  # fmt: skip
