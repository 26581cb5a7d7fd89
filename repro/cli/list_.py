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

        document = {
            "tables": [
                {
                    "id": table.id,
                    "paper": table.paper,
                    "title": table.title,
                    "rows": len(table.rows),
                    "columns": len(table.columns),
                }
                for table in TABLES.values()
            ],
            "figures": [
                {
                    "id": figure.id,
                    "paper": figure.paper,
                    "title": figure.title,
                    "kind": figure.kind,
                    "tasks": list(figure.tasks),
                    "methods": list(figure.methods),
                }
                for figure in FIGURES.values()
            ],
        }
        sys.stdout.write(json_text(document))
        return
    rows = [
        [table.id, f"{len(table.rows)} x {len(table.columns)}", table.title]
        for table in TABLES.values()
    ]
    rows += [[figure.id, figure.kind, figure.title] for figure in FIGURES.values()]
    print(text_table(["table or figure", "cells", "what"], rows))
