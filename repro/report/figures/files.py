"""The files of a figure: the picture in three formats, its data as CSV and JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from repro.report.figures.view import FigureView
from repro.report.files import table_name, write_artefact
from repro.report.render import json_text

FOLDER = "figures"
ENDINGS = ("png", "svg", "pdf", "csv", "json")


def file_names(view: FigureView) -> list[str]:
    """What `write_figure` writes, relative to its folder."""
    return [f"{FOLDER}/{table_name(view.request)}.{ending}" for ending in ENDINGS]


def write_figure(view: FigureView, folder: Path) -> list[Path]:
    """Writes figures/NAME.{png,svg,pdf,csv,json} where content changed; returns the paths.

    Raises StoreError, which names --out, for a folder that cannot be written.
    """
    from repro.report.figures.style import rendered, styled

    texts = {"csv": view.csv, "json": json_text(as_json(view))}
    with styled():
        contents = rendered(view.draw())
    contents |= {ending: text.encode() for ending, text in texts.items()}
    paths = [folder / name for name in file_names(view)]
    for path in paths:
        content = contents[path.suffix[1:]]
        if not path.exists() or path.read_bytes() != content:
            write_artefact(path, content)
    return paths


def as_json(view: FigureView) -> dict[str, Any]:
    """The object of `figure --json`; docs/json.md describes it."""
    page = f"tables/{table_name(view.request)}.md"
    return view.document | {"files": [*file_names(view), page]}
