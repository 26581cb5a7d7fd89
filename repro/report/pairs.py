"""Two rows of a table compared, for a reader: sentences, a table in every format, a plot."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from repro.comparison.pairs import COLUMNS, Pair
from repro.report.files import digest, table_name, write_drawing
from repro.report.latex import NEEDS, escape, floated, label
from repro.report.layout import markdown_table, plain_label, prose
from repro.report.render import GAP, Grid, Line, csv_of, number, signed
from repro.spec import canonical_json
from repro.words import grouped

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

Record = Mapping[str, Any]
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
    lines = []
    for one in pair.lines:
        places = one["digits"]
        texts = (
            _side(one, "first"),
            _side(one, "second"),
            signed(one["difference"], places),
            _interval(one["low_95"], one["high_95"], places + 1),
            _p(one["p"]),
            _p(one["p_adjusted"]),
            one["outcome"],
        )
        lines.append(Line(one["column"], "", texts, (False,) * len(texts), True))
    return Grid("Column", heads, tuple(lines), kinds=False)


def _interval(low: float | None, high: float | None, places: int) -> str:
    return GAP if low is None else f"{signed(low, places)} to {signed(high, places)}"


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
    reasons = grouped((_hindrance(p), p.second.label) for p in pairs if not _compared(p))
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
        signed(effect.value if effect is not None else None, 2),
        _interval(t.low, t.high, 2) if t is not None else GAP,
        _p(t.p if t is not None else None),
    ]


def _one(pair: Pair) -> str:
    """The sentences, the first one alone, and the table."""
    shown = grid(pair)
    first, *rest = pair.words or [""]
    table = markdown_table(shown.head(), shown.body(), left=1)
    notes = [f"- {prose(one)}" for one in (*rest, *_untested(pair))]
    return "\n".join([prose(first), "", *table, "", *notes]) + "\n"


def _untested(pair: Pair) -> list[str]:
    """Why columns with two numbers are not tested, by reason."""
    untested = (line for line in pair.lines if line["outcome"] == "not tested")
    reasons = grouped((line["reason"], line["column"]) for line in untested)
    return [f"Not tested: {', '.join(names)} ({why})." for why, names in reasons.items()]


def csv_text(pairs: Sequence[Pair]) -> str:
    lines = (line for pair in pairs for line in pair.lines)
    return csv_of([*COLUMNS], ([line[name] for name in COLUMNS] for line in lines))


def latex(pairs: Sequence[Pair]) -> str:
    """Each pair as a float with the sentences as its notes, to be read with \\input."""
    lines = [rf"% Needs \usepackage{{{','.join(NEEDS)}}}"]
    for pair in pairs:
        title = f"{pair.view.table.title}: {pair.first.label} against {pair.second.label}"
        above = [rf"\caption{{{escape(title)}.}}", rf"\label{{{label(name_of(pair))}}}"]
        lines += floated(grid(pair), above, [*pair.words, *_untested(pair)])
    return "\n".join(lines) + "\n"


def as_json(pairs: Sequence[Pair], files: list[str]) -> dict[str, Any]:
    """The object of `compare --json`; docs/json.md describes it."""
    found = [
        {
            "scale": pair.view.request.scale,
            "variant": table_name(pair.view.request),
            "first": {"row": pair.first.row, "kind": pair.first.kind},
            "second": {"row": pair.second.row, "kind": pair.second.kind},
            "words": pair.words,
            "columns": [{name: line[name] for name in COLUMNS} for line in pair.lines],
            "effect": None if pair.effect is None else asdict(pair.effect),
        }
        for pair in pairs
    ]
    return {"table": pairs[0].view.table.id, "pairs": found, "files": files}


def name_of(pair: Pair) -> str:
    labels = [side.label for side in (pair.first, pair.second)]
    plain = "-".join(re.sub(r"[^A-Za-z0-9.]+", "-", text).strip("-") for text in labels)
    whole = digest(canonical_json([table_name(pair.view.request), *labels]))[:6]
    request = pair.view.request
    return f"compare-{request.id}.{request.scale}-{plain[:100]}-{whole}"


def write_plot(pair: Pair, folder: Path) -> list[str]:
    """Writes figures/compare-NAME.{png,svg,pdf}; returns their names, none where nothing can be
    drawn. Raises StoreError, which names --out, for a folder that cannot be written.
    """
    if not _drawn(pair):
        return []
    paths = write_drawing(folder, name_of(pair), lambda: draw(pair), {})
    return [str(path.relative_to(folder)) for path in paths]


def _drawn(pair: Pair) -> list[Record]:
    return [
        line
        for line in pair.lines
        if line["kind"] != "fact" and line["outcome"] not in ("absent", "not comparable")
    ]


def draw(pair: Pair) -> Drawing:
    """A forest plot: the difference on each column with its interval, and over tasks. Call it
    within `styled`.
    """
    from repro.report.figures.style import INK, PAPER, QUIET, headed, legend, ruled

    lines = _drawn(pair)
    left = [line["column"] for line in pair.lines if line not in lines and line["kind"] != "fact"]
    names = [plain_label(line["column"]) for line in lines]
    effect = pair.effect.t if pair.effect is not None else None
    ends = [(line["low_95"], line["high_95"]) for line in lines if line["low_95"] is not None]
    bars = ": 95 % intervals, Welch" * bool(ends)
    said = [f"{pair.view.table.id}, {pair.view.request.scale} scale{bars}."]
    said += [f"Not drawn, as a number is absent or not comparable: {', '.join(left)}."] * bool(left)
    ends += [(effect.low, effect.high)] if effect is not None else []
    edge = _edge([line["difference"] for line in lines], ends)
    cut = any(abs(end) > edge for own in ends for end in own)
    said += ["An interval that goes on beyond the frame is cut."] * cut
    first, second = (plain_label(side.label) for side in (pair.first, pair.second))
    height = 0.9 + 0.32 * (len(lines) + (effect is not None))
    drawing = headed(7.0, height, f"{first} minus {second}", *said)
    axes = drawing.add_subplot()
    for place, line in enumerate(lines):
        score, known = line["kind"] == "score", line["low_95"] is not None
        colour = COLOURS.get(line["outcome"], QUIET)
        _bar(
            axes,
            place,
            line["difference"],
            (line["low_95"], line["high_95"]) if known else None,
            color=colour,
            fmt="o" if score else "s",
            mfc=colour if score and known else PAPER,
        )
    if effect is not None and pair.effect is not None:
        axes.axhline(len(lines) - 0.5, color="#BBBBBB", linewidth=0.6)
        span = effect.low, effect.high
        _bar(axes, len(lines), pair.effect.value, span, color=INK, fmt="D")
        names.append(EFFECT)
    axes.axvline(0.0, color=INK, linewidth=0.9, linestyle=":", zorder=0)
    axes.set_yticks(range(len(names)), names)
    axes.set(ylim=(len(names) - 0.4, -0.6), xlim=(-1.06 * edge, 1.06 * edge))
    axes.set_xlabel(textwrap.fill(f"difference in points (right: {first} is higher)", LONGEST))
    ruled(axes, "x")
    legend(drawing, _looks(lines, effect is not None), 3)
    return drawing


def _bar(
    axes: Axes, place: int, value: float, ends: tuple[float, float] | None, **look: Any
) -> None:
    """A difference with its interval, if it has one."""
    reach = None if ends is None else [[value - ends[0]], [ends[1] - value]]
    axes.errorbar(value, place, xerr=reach, markersize=6, linewidth=1.6, **look)


def _edge(differences: Sequence[float], ends: Sequence[tuple[float, float]]) -> float:
    """Where both sides of the axis end: beyond every difference, but not beyond an interval that is
    several times as wide as the others (two runs give such a one).
    """
    reach = [max(map(abs, own)) for own in ends]
    least = 1.15 * max(map(abs, differences))
    return max(least, min(max(reach), STRETCH * median(reach)) if reach else 0.0) or 1.0


def _looks(lines: list[Record], effect: bool) -> dict[str, dict[str, Any]]:
    """What the colours and signs that are drawn mean."""
    from repro.report.figures.style import INK, PAPER, QUIET

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
    if effect:
        signs["mean over tasks (paired t)"] = {"color": INK, "marker": "D"}
    return signs
