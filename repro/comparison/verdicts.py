"""The verdicts of a table: its cells share the chance of a false LOWER or HIGHER."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from numbers import Real
from typing import TYPE_CHECKING, Any

from repro.comparison.columns import Column, Columns, records, typed
from repro.errors import ReproError
from repro.papers.published import WIDEST, with_rounding
from repro.stats.summary import Statistic, Summary, summarise
from repro.stats.verdicts import MEANINGS, Target, comparable, holm, judge, typical_sd, weigh

if TYPE_CHECKING:
    import pandas

JUDGED: Columns = {
    "margin": Column("float64", "the largest difference that changes no conclusion of the paper's, "
                     "rounding of the printed number included", "cells.evidence.margin"),
    "low_90": Column("float64", "90 % interval of the difference (for equivalence), lower end",
                     "cells.evidence.equivalence.0"),
    "high_90": Column("float64", "its upper end", "cells.evidence.equivalence.1"),
    "low_95": Column("float64", "95 % interval of the difference, lower end",
                     "cells.evidence.interval.0"),
    "high_95": Column("float64", "its upper end", "cells.evidence.interval.1"),
    "p_adjusted": Column("float64", "p-value of a true difference of at most the margin, adjusted "
                         "over the table", "cells.evidence.p_adjusted"),
    "run_sd": Column("float64", "the deviation of single runs that the intervals use",
                     "cells.evidence.sd"),
    "freedom": Column("Int64", "their degrees of freedom", "cells.evidence.freedom"),
    "column_sd": Column("float64", "the deviation that `p_adjusted` uses: the larger of `run_sd` "
                        "and the column's median", "cells.evidence.column_sd"),
    "cv_star": Column("float64", "coefficient of variation of published and reproduced numbers "
                      "together, in percent", "cells.evidence.cv_star"),
    "seeds_to_settle": Column("Int64", "seeds that would decide the cell if its mean and deviation "
                              "stayed as they are", "cells.evidence.seeds_to_settle"),
    "basis": Column("string", "what is assumed of the paper's runs", "cells.evidence.basis"),
    "verdict": Column("category", "`MATCH`, `LOWER`, `HIGHER`, `UNDECIDED`, `SINGLE`, `NOT "
                      "COMPARABLE`, `GAP` (see [verdicts.md](verdicts.md)); of what is counted or "
                      "stated also `DIFFERS`; missing where there is nothing to compare with",
                      "cells.verdict"),
    "reason": Column("string", "why the verdict is that", "cells.reason"),
}  # fmt: skip
"""The columns that `judged` makes."""
NEEDED = ("column", "published", "decimals", "values")
ALSO = ("published_n", "published_sd", "spread", "statistic", "mean", "reference", "measure",
        "partial", "margin", "verdict", "reason")  # fmt: skip
"""The columns that `judged` reads if they are there."""


def judged(frame: pandas.DataFrame) -> pandas.DataFrame:
    """The frame with the verdict on each cell, by the rule in docs/verdicts.md.

    Args:
        frame: the cells of one table, one a row, with the columns `NEEDED`; `values` has a list of
            numbers, one a run. The columns `ALSO` are read if they are there; see `COLUMNS` in
            `repro.comparison.comparison`. Without a column `margin`, each is one point and half a
            unit of the last printed digit; a cell whose margin is missing is not weighed. A cell
            whose `verdict` is NOT COMPARABLE keeps it.

    Returns:
        A new frame, in which the columns `JUDGED` are made anew. A verdict depends on all cells of
        its table, so judge each table by itself.

    Raises:
        ReproError: a needed column is not there, or has a value that it cannot have.
    """
    lacking = [name for name in NEEDED if name not in frame]
    if lacking:
        raise ReproError(f"The frame has no column {', '.join(lacking)}; see docs/verdicts.md.")
    cells = records(frame.reindex(columns=[*NEEDED, *ALSO]))
    for place, cell in enumerate(cells):
        _check(place, cell)
        if "margin" not in frame and cell["decimals"] is not None:
            cell["margin"] = with_rounding(WIDEST, cell["decimals"])
        if "verdict" not in frame:
            ours = _summary(cell) if cell["values"] else None
            obstacle = "no margin" if cell["margin"] is None else ""
            cell["verdict"], cell["reason"] = comparable(
                cell["published"], ours, "no values", obstacle
            )
    judge_cells(cells)
    made = typed(cells, JUDGED)
    return frame.assign(**{name: made[name].array for name in JUDGED})


WORDS: dict[str, Collection[str]] = {
    "spread": ("sd", "population sd", "sem", "interval"),
    "statistic": ("mean", "median"),
    "measure": ("score", "layers", "difference", "external"),
    "verdict": MEANINGS,
}
"""What the columns of words can hold."""
LEAST = {
    "published": -math.inf,
    "mean": -math.inf,
    "decimals": 0,
    "published_n": 1,
    "published_sd": 0.0,
    "margin": 0.0,
}
"""The least value of the columns of numbers."""


def _check(place: int, cell: Mapping[str, Any]) -> None:
    """Raises ReproError for a value that a column of the rule cannot have."""
    where = f"Row {place} of the frame"
    for name, words in WORDS.items():
        if cell[name] is not None and cell[name] not in words:
            raise ReproError(f"{where}: {name} is {cell[name]!r}, not one of {', '.join(words)}.")
    for name, least in LEAST.items():
        if cell[name] is not None and not (_is_number(cell[name]) and cell[name] >= least):
            wanted = "a number" + f" from {least:g}" * math.isfinite(least)
            raise ReproError(f"{where}: {name} is {cell[name]!r}, not {wanted}.")
    values = cell["values"]
    listed = isinstance(values, Iterable) and not isinstance(values, str)
    if values is not None and not (listed and all(map(_is_number, values))):
        raise ReproError(f"{where}: values is {values!r}, not a list of numbers, one a run.")
    if cell["published"] is not None and cell["decimals"] is None:
        raise ReproError(f"{where}: published is {cell['published']!r}, and decimals is missing.")


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)


def judge_cells(cells: Sequence[dict[str, Any]]) -> None:
    """Puts the verdict on each cell of a table, and the other columns of `JUDGED`, into its record,
    which has `NEEDED` and `ALSO`.
    """
    ours = {i: _summary(cell) for i, cell in enumerate(cells) if cell["values"]}
    models: dict[str, list[Summary]] = {}
    for i, summary in ours.items():
        if _of_a_model(cells[i]):
            models.setdefault(cells[i]["column"], []).append(summary)
    weighed = [i for i in ours if None not in (cells[i]["published"], cells[i]["margin"])]
    open_ = [i for i in weighed if cells[i]["verdict"] != "NOT COMPARABLE"]
    tested = [i for i in open_ if ours[i].n > 1]
    found = {}
    for i in weighed:
        typical = typical_sd(models.get(cells[i]["column"], []) if _of_a_model(cells[i]) else [])
        found[i] = weigh(ours[i], target_of(cells[i]), cells[i]["margin"], typical, len(tested))
    adjusted = dict(zip(tested, holm([found[i].p or 0.0 for i in tested]), strict=True))
    for i in open_:
        found[i] = replace(found[i], p_adjusted=adjusted.get(i))
        cells[i]["verdict"], cells[i]["reason"] = judge(found[i], cells[i]["partial"] or "")
    for i, cell in enumerate(cells):
        evidence = asdict(found[i]) if i in found else {}
        cell |= {name: evidence[name] for name in JUDGED if name in evidence}


def _summary(cell: Mapping[str, Any]) -> Summary:
    """Of the cell's runs; a mean over columns of medians is no median of its values."""
    found = summarise(cell["values"], cell["statistic"] or "mean")
    known = cell["mean"] if cell["statistic"] == "median" else None
    return found if known is None else replace(found, mean=known)


def _of_a_model(cell: Mapping[str, Any]) -> bool:
    """Whether its deviation counts as one of its column's: not that of a reference, a difference or
    a number of layers.
    """
    return not cell["reference"] and cell["measure"] in (None, "score")


def target_of(cell: Mapping[str, Any]) -> Target:
    """The published number as the rule needs it; `spread` says what the paper prints after ±."""
    n, sd, spread = cell["published_n"], cell["published_sd"], cell["spread"]
    unit = 10.0 ** -cell["decimals"]
    statistic: Statistic = cell["statistic"] or "mean"
    if spread == "sem":
        return Target(cell["published"], unit, n, sem=sd, statistic=statistic)
    if spread == "interval":  # of which level is not known: no deviation follows from it
        sd = None
    if spread == "population sd" and sd is not None and n is not None and n > 1:
        sd *= math.sqrt(n / (n - 1))
    return Target(cell["published"], unit, n, sd, statistic=statistic)
