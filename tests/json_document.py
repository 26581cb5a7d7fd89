"""The part of docs/json.md about tables, made from what the columns of the frame declare.

`PYTHONPATH=. python tests/json_document.py` writes it into the document.
"""

from __future__ import annotations

import json
import re
import tempfile
from pathlib import Path
from typing import Any

from fake_glue import request as glue_request
from fake_results import request, store_all

from repro.comparison.comparison import COLUMNS
from repro.papers.registry import TABLES
from repro.papers.request import Request
from repro.report.render import OF_A_TABLE, as_json
from repro.report.view import view_table
from repro.store import Store

DOCUMENT = Path(__file__).parents[1] / "docs" / "json.md"
TEXT = """
`python -m repro table ResAdapters-1 --scale reduced --seeds 2 --epochs 2 --json`; the same object
is written to a file in `tables/` that is named by the table and its setting. Numbers are in the
paper's units (percent). An object without any value is `null`, like `evidence` where one of the two
numbers is absent.

The CSV beside it, and the frame of `repro.comparison` ([python.md](python.md)), have one line a
cell, whose columns are named in the second place below. In the CSV a missing value is empty,
`values` and `runs` are separated by spaces, and `chosen` is an object of JSON.

| key | column | type | meaning |
|---|---|---|---|
"""


def table_section(folder: Path) -> str:
    """The section, without its heading; `folder`: for a made-up store."""
    store = Store(folder)
    scored, words = request(scale="reduced", seeds=2, epochs=2), glue_request("3-shared-1")
    store_all(store, scored)
    lines = [f"| `{name}` | – | – | {said} |" for name, (said, _) in OF_A_TABLE.items()]
    for name, column in COLUMNS.items():
        key = f"`{_key(column.json)}`" if column.json else "–"
        lines.append(f"| {key} | {name} | {column.dtype} | {column.doc} |")
    first = _example(store, scored)
    cell = {"rows": [{"cells": [_example(store, words)["rows"][0]["cells"][0]]}]}
    return "\n".join(
        [
            TEXT + "\n".join(lines),
            "",
            _block(first),
            "",
            "A cell in words, of `table 3-shared-1 --json`:",
            "",
            _block(cell),
            "\n",
        ]
    )


def _key(path: str) -> str:
    """`rows[].cells[].evidence.interval[]`: where `table --json` has a column."""
    path = re.sub(r"\.[01]$", "[]", path).replace("cells.", "cells[].")
    return f"rows[].{path}" + "[]" * path.endswith((".values", ".runs"))


def _example(store: Store, asked: Request) -> dict[str, Any]:
    """The object, cut to the first column and row, to a caption and no notes."""
    found = as_json(view_table(TABLES[asked.id], asked, store))
    row = found["rows"][0]
    row["cells"] = row["cells"][:1]
    found |= {"columns": found["columns"][:1], "rows": [row], "notes": found["notes"][:1]}
    return found


def _block(document: dict[str, Any]) -> str:
    return f"```json\n{json.dumps(document, indent=1, ensure_ascii=False)}\n```"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        made = table_section(Path(folder))
    before, _, rest = DOCUMENT.read_text(encoding="utf-8").partition("## table\n")
    after = rest[rest.index("\n## ") + 1 :]
    DOCUMENT.write_text(f"{before}## table\n{made}{after}", encoding="utf-8")
