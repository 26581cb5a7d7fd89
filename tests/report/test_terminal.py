"""A table on a terminal: it fits, names what it leaves out, and says its verdicts in words."""

from __future__ import annotations

import io
from typing import Any

import fake_glue
import pytest
from fake_results import request, store_all
from rich.console import Console

from repro.papers.registry import TABLES
from repro.papers.request import Request
from repro.report.notes import notes
from repro.report.render import markdown
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
@pytest.mark.parametrize("width", [40, 60, 120])
def test_no_line_is_wider_than_the_terminal_and_no_word_is_cut(
    store: Store, table: str, width: int
) -> None:
    text = printed(store, request(table), width, layout="difference")
    assert max(map(len, text.splitlines())) <= width
    assert "…" not in text


def test_a_terminal_that_is_wide_enough_for_one_column_shows_its_name_whole(store: Store) -> None:
    """24 characters of a row's name, 9 of the kind and a column of scores are more than 40."""
    asked = fake_glue.request("3-shared-2", "reduced", seeds=2)
    fake_glue.store_table(store, asked)
    text = printed(store, asked, 40)
    head, rule, first = text.split("\n\n", 1)[1].splitlines()[:3]
    assert head.split() == ["Model", "CoLA"]
    assert set(rule) == {"─"}
    assert first.split()[-2:] == ["publ.", "52.1"]
    assert "…" not in text


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


def test_differences_that_there_are_none_of_are_explained(store: Store) -> None:
    store_all(store, request(epochs=1))
    why = "No differences: at smoke scale, model and data are not the paper's."
    for layout in (None, "side-by-side", "difference"):
        shown = view_table(TABLES["ResAdapters-1"], request(epochs=1), store)
        texts = printed(store, request(epochs=1), 200, layout=layout), markdown(shown, layout)
        assert [why in text for text in texts] == [layout == "difference"] * 2
    empty = view_table(TABLES["ResAdapters-1"], request(scale="reduced"), store)
    assert "No differences: no cell has a published and a reproduced" in markdown(
        empty, "difference"
    )
