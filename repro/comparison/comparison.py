"""A table's published and reproduced numbers, and how they compare, as one tidy frame."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from repro.comparison.columns import Column, Columns, untyped
from repro.comparison.external_rows import record_of
from repro.comparison.verdicts import JUDGED, judge_cells
from repro.papers.matrix import Matrix
from repro.papers.published import LAYER, with_rounding
from repro.papers.request import OPTIONS
from repro.papers.tables import Fact, Mean, Row, Score, Table
from repro.report.cells import Cell, RowView
from repro.server.layout import PROTOCOL
from repro.spec import RunSpec, canonical_json

COLUMNS: Columns = {
    "artefact": Column("string", "the table"),
    "variant": Column("string", "name of the request, as in the names of its files"),
    "request": Column("string", "digest of everything that was asked for and of the data found: "
                      "two requests never share it"),
    "scale": Column("string", "`smoke`, `reduced` or `paper`"),
    "backbone": Column("string", "the pretrained model of the reproduced runs"),
    "depth": Column("Int64", "how many layers that model has"),
    "seeds": Column("Int64", "runs asked for in each row"),
    "settings": Column("string", "what else was asked for, as JSON; missing where nothing was"),
    "section": Column("string", "the part of the table that the row is in", "section"),
    "row": Column("string", "name of the row", "name"),
    "reference": Column("boolean", "`true` for a row that is no model of the paper's", "reference"),
    "measure": Column("string", "what the row holds: `score`, `layers` (in use), `difference` (of "
                      "two other rows), or `external`: numbers that somebody added, in `mean`, "
                      "`sd`, `n` and `values` as far as they are known"),
    "column": Column("string", "name of the column", "cells.column"),
    "kind": Column("category", "of the column: `score`, `mean` (of the row's scores), `fact` "
                   "(counted or stated) or `printed` (not reproduced)"),
    "task": Column("string", "of a score: the task"),
    "metric": Column("string", "of a score: the metric"),
    "group": Column("string", "of a score: which part of the rows; `ALL`: all of them"),
    "split": Column("string", "of a score: the rows that are scored"),
    "protocol": Column("string", "of a score: how outputs become predictions"),
    "published": Column("float64", "the printed number", "cells.published.value"),
    "published_sd": Column("float64", "the number printed after ± (see `spread`)",
                           "cells.published.sd"),
    "published_n": Column("Int64", "number of runs that the printed number is of",
                          "cells.published.n"),
    "published_words": Column("string", "what is printed in place of one number",
                              "cells.text.published"),
    "decimals": Column("Int64", "digits after the decimal point of the printed number"),
    "source": Column("string", "who printed it"),
    "statistic": Column("string", "what the numbers are of their runs: `mean` or `median`"),
    "mean": Column("float64", "the reproduced number: the mean of `values`, or their median (see "
                   "`statistic`); a mean over columns is of these numbers",
                   "cells.reproduced.mean"),
    "sd": Column("float64", "standard deviation of `values`; missing for one run",
                 "cells.reproduced.sd"),
    "n": Column("Int64", "how many `values`", "cells.reproduced.n"),
    "values": Column("object", "one number a run or, of a mean, one a seed",
                     "cells.reproduced.values"),
    "words": Column("string", "what is reproduced, where that is no number",
                    "cells.text.reproduced"),
    "digits": Column("Int64", "digits after the decimal point that tables show"),
    "spread": Column("string", "what tables show after ±: `sd`, `population sd`, `sem` (standard "
                     "error of the mean), or `interval` (of the paper one of no stated level, of "
                     "ours the `sd`)"),
    "difference": Column("float64", "reproduced minus published; missing at smoke scale, whose "
                         "model and data are others, but for counts that are the same everywhere",
                         "cells.difference"),
    **JUDGED,
    "partial": Column("string", "which of the seeds have no number, and why; missing where all or "
                      "none have one"),
    "differs": Column("string", "why the runs, or the models, are not those of the printed number; "
                      "missing where they are"),
    "trained_parameters": Column("Int64", "of the first column's model; missing for a reference, a "
                                 "sweep, and where nothing is trained", "parameters.trained"),
    "total_parameters": Column("Int64", "the same, trained and frozen ones together",
                               "parameters.total"),
    "row_collapsed": Column("Int64", "how many of the row's runs give a constant answer",
                            "collapsed"),
    "best_span_f1": Column("float64", "F1 of the best span on answerable questions, whatever the "
                           "null score says: tells collapsed models apart", "best_span_f1"),
    "collapsed": Column("Int64", "of a score: how many of the cell's runs give a constant answer",
                        "cells.collapsed"),
    "chosen": Column("object", "of the best run, or setting, of a sweep: the swept fields and "
                     "their values", "cells.chosen"),
    "wanted": Column("boolean", "whether the cell was asked for and can be reproduced at all"),
    "complete": Column("boolean", "whether everything is stored that the cell needs"),
    "runs": Column("object", "keys of the runs behind `values`, in their order", "cells.runs"),
}  # fmt: skip
"""The columns of a comparison frame; `json`: where an object of `rows` in `table --json` has it."""


def compared(matrix: Matrix[Table], lead: RunSpec, rows: Sequence[RowView]) -> list[dict[str, Any]]:
    """The records of a table's comparison frame, one for each cell: `COLUMNS`, row by row as the
    paper prints them, with verdicts.

    Every record names its request, so frames of several requests can be concatenated. What is
    absent is None, never "" or 0. Numbers are in the paper's units.
    """
    from repro.report.files import request_document, table_name

    request = matrix.request
    document = request_document(request)
    told = [name for name in OPTIONS if name not in ("scale", "seeds", "backbone")]
    settings = {name: document[name] for name in told if document.get(name)}
    shared = {
        "artefact": matrix.artefact.id,
        "variant": table_name(request),
        "request": hashlib.sha256(canonical_json(document).encode()).hexdigest()[:12],
        "scale": request.scale,
        "backbone": lead.backbone.name,
        "depth": lead.backbone.layers,
        "seeds": request.seeds,
        "settings": canonical_json(settings) if settings else None,
        "spread": matrix.artefact.spread,
        "statistic": matrix.artefact.statistic,
    }
    cells = ((row, cell) for row in rows for cell in row.cells)
    lines = (shared | _of_row(row) | _of_cell(matrix, row.row, cell) for row, cell in cells)
    found = untyped(lines, COLUMNS)
    judge_cells(found)
    return found


def _margin(table: Table, row: Row, cell: Cell) -> float | None:
    """Of a measured number; None where it is compared exactly or not at all."""
    declared, published = table.margin_of(cell.column), cell.published
    measured = cell.verdict in ("UNDECIDED", "NOT COMPARABLE")
    if declared is None or published is None or not measured:
        return None
    return with_rounding(LAYER if row.measure == "layers" else declared, published.decimals)


def _of_row(view: RowView) -> dict[str, Any]:
    trained, total = view.parameters or (None, None)
    return {
        "section": view.row.section or None,
        "row": view.row.name,
        "reference": view.row.reference,
        "measure": "difference" if view.row.delta else view.row.measure,
        "trained_parameters": trained,
        "total_parameters": total,
        "row_collapsed": view.collapsed,
        "best_span_f1": view.span_f1.mean if view.span_f1 else None,
    }


def _of_cell(matrix: Matrix[Table], row: Row, cell: Cell) -> dict[str, Any]:
    table, request = matrix.artefact, matrix.request
    column, published, ours = cell.column, cell.published, cell.reproduced
    found: dict[str, Any] = {
        "column": column.name,
        "kind": type(column).__name__.lower(),
        "digits": column.digits if isinstance(column, Mean | Fact) else 1,
        "words": cell.text,
        "verdict": cell.verdict,
        "reason": cell.reason or None,
        "partial": cell.partial or None,
        "differs": cell.differs or None,
        "chosen": cell.chosen,
        "wanted": cell.wanted,
        "complete": cell.complete,
        "runs": list(cell.runs),
    }
    if isinstance(column, Score):
        protocol = PROTOCOL if request.server else column.protocol or table.protocol
        found |= {name: getattr(column, name) for name in ("task", "metric", "group")}
        found |= {
            "split": cell.rows or table.split(column, request.scale),
            "protocol": None if row.measure == "external" else protocol,
            "collapsed": len(cell.collapsed),
        }
    if published is not None:
        in_words = published.value is None or cell.text is not None
        found |= {
            "published": published.value,
            "published_sd": published.sd,
            "published_n": published.n,
            "published_words": published.text if in_words else None,
            "decimals": None if published.value is None else published.decimals,
            "source": published.source,
        }
    if ours is not None:
        found |= {"mean": ours.mean, "sd": ours.sd, "n": ours.n, "values": list(ours.values)}
    if cell.external is not None:
        found |= record_of(cell.external, table.statistic)
    # At smoke scale, model and data are made up: a difference of scores says nothing.
    if request.scale != "smoke" or cell.verdict != "NOT COMPARABLE":
        found |= {"difference": cell.difference, "margin": _margin(table, row, cell)}
    return found
