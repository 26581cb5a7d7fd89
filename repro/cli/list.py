"""`list`: every table and figure there is."""

from __future__ import annotations

import sys

from repro.cli import options as o
from repro.papers.registry import FIGURES, TABLES
from repro.report.layout import text_table


def command(json: o.JsonOption = False) -> None:
    """Lists the tables and figures that can be reproduced.

    Example: python -m repro list --json
    """
    if json:
        from repro.report.render import json_text

        of_both = ("id", "paper", "title")
        tables = [
            {name: getattr(table, name) for name in of_both}
            | {"rows": len(table.rows), "columns": len(table.columns)}
            for table in TABLES.values()
        ]
        figures = [
            {name: getattr(figure, name) for name in (*of_both, "kind", "tasks", "methods")}
            for figure in FIGURES.values()
        ]
        sys.stdout.write(json_text({"tables": tables, "figures": figures}))
        return
    rows = [
        [table.id, f"{len(table.rows)} x {len(table.columns)}", table.title]
        for table in TABLES.values()
    ]
    rows += [[figure.id, figure.kind, figure.title] for figure in FIGURES.values()]
    print(text_table(["table or figure", "cells", "what"], rows))
