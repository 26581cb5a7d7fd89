"""Published numbers: equal to the transcription, strictly read, and nowhere in the code."""

from __future__ import annotations

import ast
import csv
import re
from pathlib import Path
from typing import Any

import pytest

import repro
from repro.errors import ReproError
from repro.papers.published import COLUMNS, load_published, parse_published
from repro.papers.registry import TABLES
from repro.papers.tables import Column, Mean, Printed, Row, Score, Table

PACKAGE = Path(repro.__file__).parent
SHARED = Path(__file__).parents[3] / "shared" / "published"
FILES = sorted((PACKAGE / "papers").glob("*/published/*.csv"))
HEADER = ",".join(COLUMNS)
GOOD = 'T,Adapter,ALL,EM,score,30.6,,,1,,,,"Hsu & Wu, Table 1"'


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def test_there_are_published_numbers() -> None:
    assert sorted(path.stem for path in FILES) == [
        "AA22-F3-digitised", "AA22-T1-partial", "AA22-T2", "AA22-T3", "AA22-text",
        "H19-F1-digitised", "H19-T1", "H19-T2", "H19-T3", "H19-T4", "H19-text", "HF21-T1",
        "HF21-T2", "HF21-T4", "HF21-config", "HF21-text", "LoRA21-T2-readme", "LoRA21-text",
        "PRS19-T-reprint",
        "RA-T1", "RA-T2", "RA-probe", "RA-text", "SR20-F8", "SR20-T1", "SR20-T2", "SR20-T3",
        "SR20-text",
    ]  # fmt: skip


TRANSCRIBED = [path for path in FILES if path.stem != "RA-probe"]  # of no paper of ours


@pytest.mark.parametrize("path", TRANSCRIBED, ids=lambda path: path.stem)
def test_every_number_equals_the_transcription(path: Path) -> None:
    original = SHARED / path.name
    if not original.is_file():
        pytest.skip(f"needs ../shared/published/{path.name}")
    ours, theirs = rows(path), rows(original)
    assert len(ours) == len(theirs)
    for one, other in zip(ours, theirs, strict=True):
        assert [one[name] for name in ("row", "column", "metric")] == [
            other[name] for name in ("row", "column", "metric")
        ]
        if re.fullmatch(r"-?\d+(\.\d+)?", other["value"]):
            assert float(one["value"]) == float(other["value"])
            assert one["n"] == other["n_seeds"]
            assert one["sd"] == other["std"] or f"+/-{one['sd']}" in other["metric"]
        else:  # with a unit, a remark or in words: no number is lost, none is made up
            assert numbers(other["value"]) <= numbers(" ".join(one.values()))
            assert numbers(f"{one['printed']} {one['sd']}") <= numbers(other["value"])
            assert numbers(one["note"]) <= numbers(" ".join(other.values()))
            if one["value"]:
                assert float(one["value"]) == spelt_out(other["value"])


def numbers(text: str) -> set[str]:
    """Every number in a text."""
    return set(re.findall(r"[\d.]*\d", text))


def spelt_out(text: str) -> float:
    """The first number of a text in whole units: 40000 of "40k", 1.08 of "1+8x0.01"."""
    if text.startswith("1+8x"):
        return 1 + 8 * float(text.removeprefix("1+8x"))
    found = re.search(r"(\d+(?:\.\d+)?(?:e-\d+)?)([kKM]?)", text)
    assert found is not None
    return round(float(found[1]) * {"": 1, "k": 1e3, "K": 1e3, "M": 1e6}[found[2]], 9)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_file_is_read_whole(path: Path) -> None:
    cells = load_published(path.parents[1].name, path.stem)
    lines = rows(path)
    assert len(cells) == len(lines)
    for line in lines:
        cell = cells[line["row"], line["column"], line["metric"]]
        assert cell.text == (line["printed"] or line["value"])
        assert cell.value == (float(line["value"]) if line["value"] else None)
        assert (cell.kind, cell.bound, cell.source) == (line["kind"], line["bound"], line["source"])


def test_no_source_names_a_file_that_is_not_part_of_the_project() -> None:
    sources = {line["source"] for path in FILES for line in rows(path)}
    assert len(sources) > 20
    assert [source for source in sources if "seed" in source.lower()] == []


def test_points_of_a_figure_are_placed_where_their_names_say() -> None:
    """2M is 2,000,000; the logarithm and the share stand in the name as they are."""
    lines = [line for path in FILES for line in rows(path) if line.get("x")]
    assert len(lines) == 133 + 18 + 4
    for line in lines:
        name = f"{line['row']} {line['column']}"
        found = re.search(r"(?:=|approx\. |\()(-?[\d.]+)(M?)(?:$| params|% params)", name)
        assert found is not None, name
        assert float(line["x"]) == float(found[1]) * (1e6 if found[2] else 1)


def test_values_are_plain_numbers_whatever_the_paper_prints() -> None:
    def found(paper: str, table: str, row: str) -> tuple[float | None, str, str]:
        cells = load_published(paper, table).values()
        cell = next(cell for cell in cells if cell.row == row)
        return cell.value, cell.text, cell.bound

    text = "resadapters", "RA-text"
    assert found(*text, "learning rate")[0] == 3e-5
    assert found(*text, "adapter share of BERT parameters")[:2] == (7.0, "7%")
    assert found(*text, "epochs") == (5.0, "above 5", "above")
    named = "trained parameters, Non Linear models"
    assert found(*text, named) == (3_000_000.0, "approx. 3M", "about")


def test_a_good_file_gives_its_cell_with_deviation_and_seeds() -> None:
    text = f'{HEADER}\n{GOOD}\n\nT,Adapter,ALL,F1,score,31.6,0.5,3,1,,,,"Hsu & Wu"\n'
    cells = parse_published(text, "T", "T.csv")
    assert cells["Adapter", "ALL", "EM"].value == 30.6
    assert cells["Adapter", "ALL", "EM"].source == "Hsu & Wu, Table 1"
    found = cells["Adapter", "ALL", "F1"]
    assert (found.value, found.sd, found.n) == (31.6, 0.5, 3)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "T.csv: the header is None"),
        (f"row,table,column,metric,value,std,n_seeds,source\n{GOOD}", r"T.csv: the header is"),
        (f"{HEADER},more\n{GOOD},1", r"T.csv: the header is"),
        (f"{HEADER},x\n{GOOD},left", r"T.csv, line 2: 'left' is no number"),
        (f"{HEADER},x\n{GOOD}", r"T.csv, line 2: expected 14 values"),
        (f"{HEADER}\n{GOOD}\n{GOOD}", r"T.csv, line 3: .*'Adapter', 'ALL', 'EM'.* twice"),
        (f"{HEADER}\n\n{GOOD}\n\n{GOOD}", r"T.csv, line 5: .* twice"),
        (f"{HEADER}\n{GOOD}\nT,Adapter,ALL,F1,score,30.6,,,1,,,,", r"T.csv, line 3: .*source"),
        (f"{HEADER}\nU{GOOD[1:]}", r"T.csv, line 2: needs table 'T'"),
        (f"{HEADER}\nT,,ALL,EM,score,30.6,,,1,,,,x", r"T.csv, line 2: .*row name"),
        (f"{HEADER}\nT,Adapter,ALL,EM,score,30.6,,,1,,,", r"T.csv, line 2: expected 13 values"),
        (f"{HEADER}\nT,Adapter,ALL,EM,score,30.6,,,1,,,,x,y", r"T.csv, line 2: expected 13 values"),
        (
            f"{HEADER}\nT,Adapter,ALL,EM,score,,,,,,,,x",
            r"T.csv, line 2: a cell of kind 'score' needs a value",
        ),
        (f"{HEADER}\nT,Adapter,ALL,EM,score,3O.6,,,1,,,,x", r"T.csv, line 2: '3O.6' is no number"),
        (f"{HEADER}\nT,Adapter,ALL,EM,score,high,,,1,,,,x", r"T.csv, line 2: 'high' is no number"),
        (f"{HEADER}\nT,Adapter,ALL,EM,score,nan,,,1,,,,x", r"T.csv, line 2: 'nan' is no number"),
        (
            f"{HEADER}\nT,Adapter,ALL,EM,score,30.6.1,,,1,,,,x",
            r"T.csv, line 2: '30.6.1' is no number",
        ),
        (
            f"{HEADER}\nT,Adapter,ALL,EM,score,３０.６,,,1,,,,x",
            r"T.csv, line 2: '３０.６' is no number",
        ),
        (
            f"{HEADER}\nT,Adapter,ALL,EM,score,30.6,small,,1,,,,x",
            r"T.csv, line 2: 'small' is no number",
        ),
        (
            f"{HEADER}\nT,Adapter,ALL,EM,score,30.6,inf,,1,,,,x",
            r"T.csv, line 2: 'inf' is no number",
        ),
        (
            f"{HEADER}\nT,Adapter,ALL,EM,score,30.6,0_1,,1,,,,x",
            r"T.csv, line 2: '0_1' is no number",
        ),
        (
            f"{HEADER}\nT,Adapter,ALL,EM,score,30.6,0.1,many,1,,,,x",
            r"T.csv, line 2: 'many' is no number of runs",
        ),
        (
            f"{HEADER}\nT,Adapter,ALL,EM,score,30.6,0.1,0,1,,,,x",
            r"T.csv, line 2: '0' is no number of runs",
        ),
        (
            f"{HEADER}\nT,Adapter,ALL,EM,score,30.6,0.1,2.5,1,,,,x",
            r"T.csv, line 2: '2.5' is no number of runs",
        ),
        (
            f"{HEADER}\nT,Adapter,ALL,EM,score,30.6,0.1,５,1,,,,x",
            r"T.csv, line 2: '５' is no number of runs",
        ),
        (f"{HEADER}\nT,Adapter,ALL,EM,points,30.6,,,1,,,,x", r"T.csv, line 2: kind 'points'"),
        (f"{HEADER}\nT,Adapter,ALL,EM,score,30.6,,,1,,near,,x", r"T.csv, line 2: .*bound 'near'"),
        (
            f"{HEADER}\nT,Adapter,ALL,EM,words,30.6,,,1,,,,x",
            r"T.csv, line 2: .*'words' needs what is printed",
        ),
        (
            f"{HEADER}\nT,Adapter,ALL,EM,score,30.6,,,2,,,,x",
            r"T.csv, line 2: '30.6' has 1 decimals, not 2",
        ),
    ],
)
def test_a_bad_file_is_refused_with_file_and_line(text: str, said: str) -> None:
    with pytest.raises(ReproError, match=said):
        parse_published(text, "T", "T.csv")


NOT_PRINTED = {
    ("Houlsby-2", "No BERT (AutoML)", "Total params"),
    ("Houlsby-2", "No BERT (AutoML)", "Trained / task"),
    ("Peters-1", "Skip-thoughts, features", "NER"),
    ("Peters-1", "Skip-thoughts, features", "SICK-E"),
    ("LoRA-1", "LoRA", "MNLI (one)"),
    ("LoRA-1", "LoRA", "STSB (one)"),
    *(("LoRA-1", "Fine-tune", name) for name in ("MNLI-m", "MNLI-mm", "STSB", "STSB-spearman")),
}
"""Cells that the papers leave blank."""


def printed_cells() -> list[Any]:
    return [
        pytest.param(table, row, column, id=f"{table.id}-{row.name}-{column.name}")
        for table in TABLES.values()
        for row in table.rows
        if row.published is not None
        for column in table.columns
        if is_printed(table, row, column)
    ]


def is_printed(table: Table, row: Row, column: Column) -> bool:
    """Whether the cell's number is known to us."""
    if not column.published_column or (table.id, row.name, column.name) in NOT_PRINTED:
        return False
    if row.delta is not None and row.metric:
        return isinstance(column, Mean)  # of a difference the averages' alone
    if row.measure == "layers":
        return isinstance(column, Score)
    return table.id != "AA-3" or isinstance(column, Mean)  # two averages that the text quotes


@pytest.mark.parametrize(("table", "row", "column"), printed_cells())
def test_every_printed_row_finds_its_published_cell(table: Table, row: Row, column: Column) -> None:
    cell = table.published_cell(row, column)
    assert cell is not None
    if isinstance(column, Score):
        assert cell.value is not None
        matthews = "Matthews" in column.published_metric  # which may be below 0
        assert (-10 if "delta" in row.name or matthews else 0) <= cell.value <= 100
    elif cell.kind not in ("list", "words"):
        assert cell.value is not None
        assert cell.value > 0


@pytest.mark.parametrize("table", TABLES.values(), ids=lambda table: table.id)
def test_every_published_cell_of_a_table_has_one_place(table: Table) -> None:
    places = [
        (row.published, column.published_column, row.metric or column.published_metric)
        for row in table.rows
        if row.published is not None
        for column in table.columns
        if is_printed(table, row, column)
    ]
    if table.transposed:
        places = [(column, row, metric) for row, column, metric in places]
    if table.id == "AA-3":  # of rows that are not stated: beside each block
        assert len(places) == 3 * len(set(places))
        places = list(set(places))
    known = load_published(table.paper, table.published) if table.published else {}
    assert sorted(places) == sorted(known)


def test_rows_of_ours_have_no_published_value() -> None:
    for table in TABLES.values():
        for row in table.rows:
            if row.published is None:
                assert all(table.published_cell(row, column) is None for column in table.columns)


def printed_numbers() -> set[float]:
    """Every printed score and mean with digits behind the point; shares look like sections, and
    differences like settings.
    """
    values = {
        cell.value
        for table in TABLES.values()
        for row in table.rows
        for column in table.columns
        if isinstance(column, (Score, Mean, Printed))
        and (cell := table.published_cell(row, column)) is not None
    }
    return {value for value in values if value is not None and value % 1 and value > 10}


def test_no_published_number_stands_in_the_code() -> None:
    numbers = printed_numbers()
    assert {42.6, 51.4, 59.8, 68.4, 79.2, 60.5, 80.4} <= numbers
    spelt = re.compile("|".join(rf"(?<![\d.]){re.escape(str(n))}(?![\d.])" for n in numbers))
    found = []
    files = set(PACKAGE.rglob("*.py")) - {PACKAGE / "report" / "figures" / "style.py"}  # points
    for path in sorted(files):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant):
                value = node.value
                number = isinstance(value, float) and value in numbers
                if number or (isinstance(value, str) and spelt.search(value)):
                    found.append(f"{path.relative_to(PACKAGE)}:{node.lineno}: {value!r}")
    assert found == []
