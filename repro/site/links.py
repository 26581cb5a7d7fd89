"""Where each page of the site stands, and what it is called in a link."""

from __future__ import annotations

import hashlib
import re

from repro.papers.registry import FIGURES
from repro.papers.request import Request
from repro.report.files import table_name


def file_name(request: Request) -> str:
    """The artefact's name as a part of a link: a model may be called anything."""
    name = table_name(request)
    plain = re.sub(r"[^A-Za-z0-9._-]", "-", name)
    return plain if plain == name else f"{plain}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def page_of(request: Request) -> str:
    """tables/ResAdapters-1.reduced.html"""
    folder = "figures" if request.id in FIGURES else "tables"
    return f"{folder}/{file_name(request)}.html"


def run_page(key: str) -> str:
    """runs/KEY.html"""
    return f"runs/{key}.html"


def cell_id(row: int, column: int) -> str:
    """The anchor of a cell, by its place in the table as data."""
    return f"cell-{row + 1}-{column + 1}"
