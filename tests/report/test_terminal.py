"""A table on a terminal: it fits, names what it leaves out, and says its verdicts in words."""

from __future__ import annotations

import io
from typing import Any

import pytest
from fake_results import request, store_all
from rich.console import Console

from repro.papers.registry import TABLES
from repro.papers.request import Request
from repro.report.notes import notes
from repro.report.terminal import show
from repro.report.view import view_table
from repro.store import Store


def printed(store: Store, asked: Request, width: int, *, colour: bool = False, **how: Any) -> str:
    out = io.StringIO()
    console = Console(
        file=out, width=width, force_terminal=colour, color_system="standard" if colour else None
    )
    show(view_table(TABLES[asked.id], asked, store), console, **how)
    return out.getvalue()


@pytest.mark.parametrize("table", ["ResAdapters-1", "3-shared-2", "Houlsby-2", "3-shared-1"])
@pytest.mark.parametrize("width", [60, 80, 120])
def test_no_line_is_wider_than_the_terminal(store: Store, table: str, width: int) -> None:
    lines = printed(store, request(table), width, layout="difference").splitlines()
    assert max(map(len, lines)) <= width


def test_columns_that_do_not_fit_are_named(store: Store) -> None:
    text = " ".join(printed(store, request("3-shared-2", "paper"), 80).split())
    left = text.partition("Left out, as the terminal is 80 characters wide: ")[2]
    named = left.partition(". To see")[0].split(", ")
    names = [*(column.name for column in TABLES["3-shared-2"].columns), "Trained parameters"]
    assert named == names[-len(named) :]
    wide = printed(store, request("3-shared-2", "paper"), 300)
    assert "Left out" not in wide
    assert all(name.split()[0] in wide for name in names)


def test_a_verdict_is_a_coloured_mark_with_its_word_and_is_explained(store: Store) -> None:
    """What is shared in 3-shared-1 is what the paper says; parameters are not counted here."""
    text = printed(store, request("3-shared-1", "paper"), 200, colour=True)
    assert "\x1b[32m" in text
    assert "✓ MATCH" in text
    assert "✓ MATCH: measured: " in " ".join(text.split())


def test_notes_are_shown_on_request(store: Store) -> None:
    asked = request(epochs=1)
    store_all(store, asked)
    view = view_table(TABLES[asked.id], asked, store)
    first, *_ = notes(view)
    short, whole = (printed(store, asked, 300, with_notes=one) for one in (False, True))
    assert f"To see {len(notes(view))} notes on this table: --notes." in short
    assert f"- {first}" not in short
    assert f"- {first}" in whole
    assert "--notes" not in whole
