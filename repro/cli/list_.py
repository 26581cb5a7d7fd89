"""`list`: every table there is."""

from __future__ import annotations

import sys

from repro.cli import options as o
from repro.papers.registry import TABLES
from repro.report.layout import text_table
from repro.report.render import json_text


def command(json: o.JsonOption = False) -> None:
    """Lists the tables that can be reproduced.

    Example: python -m repro list --json
    """
    if json:
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
            ]
        }
        sys.stdout.write(json_text(document))
        return
    rows = [
        [table.id, f"{len(table.rows)} x {len(table.columns)}", table.title]
        for table in TABLES.values()
    ]
    print(text_table(["table", "cells", "what"], rows))
