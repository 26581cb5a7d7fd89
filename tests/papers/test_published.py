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
from repro.papers.published import COLUMNS, is_words, load_published, parse_published
from repro.papers.registry import TABLES
from repro.papers.tables import Column, Mean, Printed, Row, Score, Table

PACKAGE = Path(repro.__file__).parent
SHARED = Path(__file__).parents[3] / "shared" / "published"
FILES = sorted((PACKAGE / "papers").glob("*/published/*.csv"))
HEADER = ",".join(COLUMNS)
GOOD = 'T,Adapter,ALL,EM,30.6,,,"Hsu & Wu, Table 1"'


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def test_there_are_published_numbers() -> None:
    assert sorted(path.stem for path in FILES) == [
        "AA22-F3-digitised", "AA22-T1-partial", "AA22-T2", "AA22-T3", "AA22-text",
        "H19-F1-digitised", "H19-T1", "H19-T2", "H19-T3", "H19-T4", "H19-text", "HF21-T1",
        "HF21-T2", "HF21-T4", "HF21-config", "HF21-text", "PRS19-T-reprint",
        "RA-T1", "RA-T2", "RA-probe", "RA-text", "SR20-F8", "SR20-T1", "SR20-T2", "SR20-T3",
        "SR20-text",
    ]  # fmt: skip


TRANSCRIBED = [path for path in FILES if path.stem != "RA-probe"]  # of no paper of ours


@pytest.mark.parametrize("path", TRANSCRIBED, ids=lambda path: path.stem)
def test_every_number_equals_the_transcription(path: Path) -> None:
    original = SHARED / path.name
    if not original.is_file():
        pytest.skip(f"needs ../shared/published/{path.name}")
    wanted = ("row", "column", "metric", "value", "std", "n_seeds")
    ours, theirs = rows(path), rows(original)
    assert [[row[name] for name in wanted] for row in ours] == [
        [row[name] for name in wanted] for row in theirs
    ]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_file_is_read_whole(path: Path) -> None:
    cells = load_published(path.parents[1].name, path.stem)
    lines = rows(path)
    assert len(cells) == len(lines)
    for line in lines:
        cell = cells[line["row"], line["column"], line["metric"]]
        assert cell.text == line["value"]
        assert cell.source == line["source"]
        summed = line["value"].startswith("1+8x")
        if summed:
            assert cell.value == 1 + 8 * float(line["value"].removeprefix("1+8x"))
        elif "text" not in path.stem and not is_words(cell.metric):
            assert cell.value == float(line["value"].rstrip("x%"))


def test_no_source_names_a_file_that_is_not_part_of_the_project() -> None:
    sources = {line["source"] for path in FILES for line in rows(path)}
    assert len(sources) > 20
    assert [source for source in sources if "seed" in source.lower()] == []


@pytest.mark.parametrize(
    ("metric", "text", "value"),
    [
        # Houlsby et al., Table 1 and text; 3-shared, Table 1
        ("x BERT size", "9.0x", 9.0),
        ("percent of BERT", "2.1%", 2.1),
        ("accuracy %", "77.8 +/- 0.1", 77.8),
        ("accuracy %", "37 (majority class)", 37.0),
        ("parameters", "40k", 40_000.0),
        ("parameters", "1189632", 1_189_632.0),
        ("percent", "within 1", 1.0),
        ("hyperparameter", "3e-4", 3e-4),
        ("text", "Shared in each layer", None),
        ("text", "-", None),
        ("sweep (by hand)", "20, 50, 100", None),
        ("formula", "2md+d+m", None),
        ("characters", "57 to 1.9k", None),
        ("score ; x params", "80.0 ; 1.3", None),
    ],
)
def test_a_cell_is_read_by_its_metric(metric: str, text: str, value: float | None) -> None:
    line = f'T,Adapter,ALL,{metric},"{text}",,,x'
    cell = parse_published(f"{HEADER}\n{line}\n", "T", "T.csv")["Adapter", "ALL", metric]
    assert (cell.value, cell.text) == (value, text)


@pytest.mark.parametrize(
    ("metric", "text"),
    [
        ("Matthews corr (GLUE test server)", "60.5x"),
        ("accuracy (GLUE test server)", "94,9"),
        ("F1 (GLUE test server)", "high"),
        ("F1 (GLUE test server)", "above 89"),
        ("accuracy %", "40k"),
        ("x BERT size", "nine"),
        ("count", "one"),
        ("percent of BERT", "l00%"),
    ],
)
def test_a_mistyped_number_is_no_text(metric: str, text: str) -> None:
    with pytest.raises(ReproError, match="is no number"):
        parse_published(f'{HEADER}\nT,Adapter,ALL,{metric},"{text}",,,x\n', "T", "T.csv")


def test_values_of_the_text_keep_their_words() -> None:
    cells = load_published("resadapters", "RA-text")
    found = {row: (cell.value, cell.text) for (row, _, _), cell in cells.items()}
    assert found["learning rate"] == (3e-5, "3e-5")
    assert found["adapter share of BERT parameters"] == (7.0, "7%")
    assert found["epochs"] == (None, "above 5 (Table 2 shows 8)")
    assert found["trained parameters, Non Linear models"] == (3e6, "3000000 (approx. 3M)")


def test_a_good_file_gives_its_cell_with_deviation_and_seeds() -> None:
    text = f'{HEADER}\n{GOOD}\n\nT,Adapter,ALL,F1,31.6,0.5,3,"Hsu & Wu"\n'
    cells = parse_published(text, "T", "T.csv")
    assert cells["Adapter", "ALL", "EM"].value == 30.6
    assert cells["Adapter", "ALL", "EM"].source == "Hsu & Wu, Table 1"
    found = cells["Adapter", "ALL", "F1"]
    assert (found.value, found.sd, found.n) == (31.6, 0.5, 3)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "T.csv: the header is None"),
        (f"row,table,column,metric,value,std,n_seeds,source\n{GOOD}", "T.csv: the header is"),
        (f"{HEADER},more\n{GOOD},1", "T.csv: the header is"),
        (f"{HEADER}\n{GOOD}\n{GOOD}", r"T.csv, line 3: .*'Adapter', 'ALL', 'EM'.* twice"),
        (f"{HEADER}\n\n{GOOD}\n\n{GOOD}", "T.csv, line 5: .* twice"),
        (f"{HEADER}\n{GOOD}\nT,Adapter,ALL,F1,31.6,,,", "T.csv, line 3: .*source"),
        (f"{HEADER}\nU{GOOD[1:]}", "T.csv, line 2: needs table 'T'"),
        (f"{HEADER}\nT,,ALL,EM,30.6,,,x", "T.csv, line 2: .*row name"),
        (f"{HEADER}\n{GOOD}\nT,Adapter,ALL,F1,31.6,,", "T.csv, line 3: expected 8 values"),
        (f"{HEADER}\nT,Adapter,ALL,F1,31.6,,,x,y", "T.csv, line 2: expected 8 values"),
        (f"{HEADER}\nT,Adapter,ALL,EM,,,,x", "T.csv, line 2: the value is empty"),
        (f"{HEADER}\nT,Adapter,ALL,EM,3O.6,,,x", "T.csv, line 2: '3O.6' is no number"),
        (f"{HEADER}\nT,Adapter,ALL,EM,high,,,x", "T.csv, line 2: 'high' is no number"),
        (f"{HEADER}\nT,Adapter,ALL,EM,nan,,,x", "T.csv, line 2: 'nan' is no number"),
        (f"{HEADER}\nT,Adapter,ALL,EM,30.6.1,,,x", "T.csv, line 2: '30.6.1' is no number"),
        (f"{HEADER}\nT,Adapter,ALL,EM,30.6,small,,x", "T.csv, line 2: 'small' is no number"),
        (f"{HEADER}\nT,Adapter,ALL,EM,30.6,inf,,x", "T.csv, line 2: 'inf' is no number"),
        (f"{HEADER}\nT,Adapter,ALL,EM,30.6,0_1,,x", "T.csv, line 2: '0_1' is no number"),
        (f"{HEADER}\nT,Adapter,ALL,EM,３０.６,,,x", "T.csv, line 2: '３０.６' is no number"),
        (
            f"{HEADER}\nT,Adapter,ALL,EM,30.6,0.1,many,x",
            "T.csv, line 2: 'many' is no number of runs",
        ),
        (f"{HEADER}\nT,Adapter,ALL,EM,30.6,0.1,0,x", "T.csv, line 2: '0' is no number of runs"),
        (f"{HEADER}\nT,Adapter,ALL,EM,30.6,0.1,2.5,x", "T.csv, line 2: '2.5' is no number of runs"),
        (f"{HEADER}\nT,Adapter,ALL,EM,30.6,0.1,５,x", "T.csv, line 2: '５' is no number of runs"),
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
    elif not is_words(column.published_metric):
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
