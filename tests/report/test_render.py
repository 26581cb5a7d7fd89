"""A table as Markdown, CSV and JSON: the same numbers in all three, and nothing invented."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from typing import Any

import pytest
from fake_results import request, runs_of, store_all, store_result

from repro.comparison.comparison import COLUMNS
from repro.papers.registry import TABLES
from repro.papers.request import Request
from repro.report.captions import caption
from repro.report.notes import notes
from repro.report.render import (
    as_json,
    csv_text,
    json_text,
    markdown,
    number,
    signed,
    with_spread,
)
from repro.report.view import TableView, view_table
from repro.spec import run_key
from repro.store import Store


def view(store: Store, asked: Request) -> TableView:
    return view_table(TABLES[asked.id], asked, store)


def lines_of(text: str) -> list[list[str]]:
    """The cells of every line of a Markdown table."""
    table = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table]


def strict(text: str) -> Any:
    """JSON as the standard has it: NaN and Infinity are no JSON."""

    def refuse(name: str) -> float:
        raise AssertionError(f"{name} is not JSON")

    return json.loads(text, parse_constant=refuse)


def test_numbers_as_the_paper_prints_them() -> None:
    assert (number(30.64), number(100.0), number(None)) == ("30.6", "100.0", "—")
    assert (signed(2.71), signed(-4.6), signed(None)) == ("+2.7", "-4.6", "—")
    two = {"mean": 51.5, "sd": 2.1213, "n": 2, "digits": 1, "spread": "sd"}
    assert with_spread(two) == "51.5 ± 2.1"
    assert with_spread(two | {"spread": "sem"}) == "51.5 ± 1.5"
    assert with_spread({"mean": 50.0, "sd": None, "n": 1} | {"digits": 1, "spread": "sd"}) == "50.0"
    assert with_spread({"mean": None}) == "—"


def test_three_lines_a_row_published_reproduced_difference(store: Store) -> None:
    asked = request(scale="reduced", seeds=2, epochs=3)
    store_all(store, asked)
    head, rule, published, reproduced, difference, *_ = lines_of(markdown(view(store, asked)))
    assert head[:3] == ["Model", "", "ALL EM"]
    assert rule[0].startswith(":---")
    assert rule[2].endswith("---:")
    assert published[:3] == ["Adapter", "published", "30.6"]
    assert reproduced[:3] == ["", "reproduced", "30.5 ± 0.7"]  # 30 and 31, sd sqrt(0.5)
    assert difference[:3] == ["", "difference", "-0.1"]
    assert reproduced[-1] == "939,794"
    assert published[-1] == difference[-1] == ""


def test_made_up_data_stand_beside_printed_numbers_only_on_request(store: Store) -> None:
    asked = request(seeds=2, epochs=3)
    store_all(store, asked)
    table = view(store, asked)
    head, _, first, *_ = lines_of(markdown(table))
    assert head[:2] == ["Model", "ALL EM"]
    assert first[:2] == ["Adapter", "30.5 ± 0.7"]
    shown = {line[1] for line in lines_of(markdown(table, "side-by-side"))[2:]}
    assert shown == {"published", "reproduced"}
    compared = {line[1] for line in lines_of(markdown(table, "difference"))[2:]}
    assert compared == {"published", "reproduced"}
    counts = markdown(view(store, request("3-shared-1")))
    assert "| published" in counts
    assert lines_of(markdown(view(store, request("3-shared-1")), "reproduced"))[0][1] != ""


def test_only_columns_that_are_asked_for_are_shown(store: Store) -> None:
    table = view(store, request("3-shared-2", tasks=("rte",)))
    assert lines_of(markdown(table))[0] == ["Model", "RTE", "Trained parameters"]
    assert as_json(table)["columns"] == ["RTE"]
    assert {line["column"] for line in csv.DictReader(io.StringIO(csv_text(table)))} == {"RTE"}


def test_every_line_of_the_markdown_table_has_the_same_cells(store: Store) -> None:
    asked = request("ResAdapters-2", epochs=2)
    store_all(store, asked)
    assert {len(line) for line in lines_of(markdown(view(store, asked)))} == {8}
    assert {len(line) for line in lines_of(markdown(view(store, asked), "difference"))} == {9}


def test_a_row_without_published_numbers_has_one_line(store: Store) -> None:
    asked = request(epochs=1)
    store_all(store, asked)
    text = markdown(view(store, asked), "side-by-side")
    lines = [line for line in lines_of(text) if "Always null" in line[0]]
    assert lines == [
        ["Always null", "reproduced", "10.0", "11.0", "10.0", "11.0", "10.0", "11.0", ""]
    ]


def test_gaps_are_dashes_and_say_why_below_never_zero_or_nan(store: Store) -> None:
    table = view(store, request())
    text = markdown(table)
    for line in lines_of(text)[2:]:
        assert set(line[1:7]) == {"—"}
    assert "- Adapter: gap, not run." in text
    assert "nan" not in text.lower()
    assert text.count("gap, not run") == 6


def test_the_caption_says_what_the_numbers_are_of(store: Store) -> None:
    asked = request(seeds=2, train_rows=24, evaluation_rows=12, epochs=3, learning_rate=0.01)
    said = caption(view(store, asked))
    for part in (
        "Scale: smoke (not comparable with the published numbers).",
        "Encoder: MiniLM-L6, 6 layers, frozen.",
        "Training: 24 questions of generated",
        ", 3 epochs, batch ",
        ", rate 0.01, fp32.",
        "Scored: 12 questions of generated, legacy/argmax-pair.",
        "Reading: repaired.",
        "Seeds: 2.",
        "Cells reproduced: 0/36.",
    ):
        assert part in said
    paper = caption(view(store, request(scale="paper", as_released=True)))
    assert "Scale: paper. Encoder: BERT-base, 12 layers" in paper
    assert "50,000 questions of train" in paper
    assert "Reading: as released." in paper
    assert re.search(r"cs224n, \d\d% answerable, ", caption(view(store, request(scale="reduced"))))


def test_a_missing_seed_is_said_below_the_table(store: Store) -> None:
    asked = request(seeds=2, epochs=1)
    first = runs_of(asked)[0]
    store_result(store, first)
    assert "Adapter: 1 of 2 seeds missing: not run." in notes(view(store, asked))


def test_what_an_exception_says_is_no_markup(store: Store) -> None:
    spec = runs_of(request())[0]
    store.record_failure(run_key(spec), spec, "error", "TypeError: <lambda>() | __x__", "log")
    table = view(store, request())
    said = markdown(table)
    assert "Adapter: gap, failed (error): TypeError: &lt;lambda>() | \\_\\_x\\_\\_." in said
    assert "Adapter: gap, failed (error): TypeError: <lambda>() | __x__." in notes(table)


def test_collapsed_rows_are_marked_and_explained(store: Store) -> None:
    asked = request(seeds=2, epochs=1)
    for spec in runs_of(asked):
        store_result(store, spec, collapsed=spec == runs_of(asked)[0], span_f1=4.0 + spec.seed)
    table = view(store, asked)
    assert lines_of(markdown(table))[2][0] == "Adapter †"
    assert notes(table)[0] == (
        "† collapsed, answers no question: Adapter: 1 of 2 runs, best non-null span F1 on HasAns "
        "4.5 ± 0.7."
    )


def test_json_has_the_agreed_shape(store: Store) -> None:
    asked = request(scale="reduced", seeds=2, epochs=1)
    store_all(store, asked)
    found = strict(json_text(as_json(view(store, asked))))
    assert set(found) >= {"id", "scale", "protocol", "columns", "rows", "complete"}
    assert (found["id"], found["scale"], found["complete"]) == ("ResAdapters-1", "reduced", "36/36")
    assert found["columns"][0] == "ALL EM"
    first, last = found["rows"][0], found["rows"][-1]
    assert set(first) >= {"name", "reference", "parameters", "cells"}
    assert first["parameters"]["trained"] == 939_794
    assert first["parameters"]["total"] > 22_000_000
    assert (last["reference"], last["parameters"]) == (True, None)
    cell = first["cells"][0]
    assert set(cell) >= {
        "column", "published", "reproduced", "difference", "verdict", "reason", "evidence", "runs",
    }  # fmt: skip
    assert cell["published"] == {"value": 30.6, "sd": None, "n": None}
    assert cell["reproduced"] == {
        "mean": 10.5,
        "sd": pytest.approx(math.sqrt(0.5)),
        "n": 2,
        "values": [10.0, 11.0],
    }
    assert cell["difference"] == pytest.approx(10.5 - 30.6)
    assert last["cells"][0]["published"] is None
    assert last["cells"][0]["verdict"] is None


def test_json_gaps_are_null(store: Store) -> None:
    found = strict(json_text(as_json(view(store, request()))))
    cell = found["rows"][0]["cells"][0]
    assert (cell["reproduced"], cell["difference"], cell["runs"]) == (None, None, [])
    assert (cell["verdict"], cell["reason"]) == ("GAP", "not run")
    assert found["complete"] == "0/36"


def test_csv_has_every_cell_and_the_same_numbers_as_json(store: Store) -> None:
    asked = request("ResAdapters-2", seeds=2, epochs=2)
    store_all(store, asked)
    table = view(store, asked)
    lines = list(csv.DictReader(io.StringIO(csv_text(table))))
    assert len(lines) == 11 * 6
    assert list(lines[0]) == list(COLUMNS)
    found = as_json(table)
    cells = [(row, cell) for row in found["rows"] for cell in row["cells"]]
    for line, (row, cell) in zip(lines, cells, strict=True):
        ours, theirs = cell["reproduced"], cell["published"]
        assert (line["artefact"], line["scale"]) == ("ResAdapters-2", "smoke")
        assert (line["row"], line["column"]) == (row["name"], cell["column"])
        assert line["mean"] == (str(ours["mean"]) if ours else "")
        assert line["sd"] == (str(ours["sd"]) if ours else "")
        assert line["values"].split() == [
            str(value) for value in (ours or {"values": []})["values"]
        ]
        assert line["published"] == (str(theirs["value"]) if theirs else "")
        assert line["runs"].split() == cell["runs"]
        assert line["reason"] == cell["reason"]
    assert lines[0]["source"] == "Hsu & Wu, ResAdapters, Table 2"


def test_the_same_store_gives_the_same_bytes(store: Store) -> None:
    asked = request(seeds=2)
    store_all(store, asked)
    again = Store(store.root)
    for render in (markdown, csv_text, lambda table: json_text(as_json(table))):
        assert render(view(store, asked)) == render(view(again, asked))


def test_json_never_holds_a_number_that_is_none() -> None:
    with pytest.raises(ValueError, match="JSON"):
        json_text({"value": math.nan})
