"""The examples of README.md are what the committed files hold."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[1]
README = (PROJECT / "README.md").read_text(encoding="utf-8")
TABLES = re.findall(
    r"```\n\$ python -m repro table (\S+) --scale (\S+)\n(.*?)\n```", README, re.DOTALL
)
"""Id, scale and what the example shows of the output: caption and table, without the notes."""
FIGURES = re.findall(r"!\[([^\]]*)\]\(([^)]*)\.png\)", README)


def test_there_are_examples() -> None:
    assert TABLES
    assert FIGURES


@pytest.mark.parametrize(("table", "scale", "shown"), TABLES)
def test_an_example_of_a_table_is_the_committed_one(table: str, scale: str, shown: str) -> None:
    committed = (PROJECT / "tables" / f"{table}.{scale}.md").read_text(encoding="utf-8")
    caption, rows, *_ = committed[committed.index(f"**{table}.**") :].split("\n\n")
    said, lines = shown.split("\n\n")
    assert " ".join(said.split()) == caption.replace("**", "")
    assert lines.splitlines() == rows.splitlines(), "copy the table's lines into README.md"


@pytest.mark.parametrize(("text", "picture"), FIGURES)
def test_the_numbers_beside_a_figure_are_those_of_its_caption(text: str, picture: str) -> None:
    page = PROJECT / "tables" / f"{picture.removeprefix('figures/')}.md"
    caption = page.read_text(encoding="utf-8")
    numbers = re.findall(r"\d+\.\d+|\b\d+(?= layers)", text)
    assert numbers
    assert [number for number in numbers if number not in caption] == []


PAGES = [PROJECT / "README.md", *sorted((PROJECT / "docs").glob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_of_the_program_that_a_page_names_are_there(page: Path) -> None:
    named = re.findall(r"\brepro/[a-z0-9_/]+(?:\.\w+)?", page.read_text(encoding="utf-8"))
    assert [name for name in named if not (PROJECT / name).exists()] == []
