"""Where each page of the site stands, and what it is called in a link."""

from __future__ import annotations

from repro.papers.registry import FIGURES
from repro.papers.request import Request
from repro.report.files import table_name


def page_of(request: Request) -> str:
    """tables/ResAdapters-1.reduced.html"""
    folder = "figures" if request.id in FIGURES else "tables"
    return f"{folder}/{table_name(request)}.html"


def run_page(key: str) -> str:
    """runs/KEY.html"""
    return f"runs/{key}.html"


def cell_id(row: int, column: int) -> str:
    """The anchor of a cell, by its place in the table as data."""
    return f"cell-{row + 1}-{column + 1}"
