"""A table as LaTeX: what Markdown says, escaped, and compiled where pdflatex is."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from fake_results import request, runs_of, store_all

from repro.papers.registry import TABLES
from repro.papers.request import Request
from repro.report.files import table_name, write_table, write_tex
from repro.report.latex import (
    MOST_LINES,
    TWO_COLUMNS,
    cell,
    document,
    escape,
    label,
    latex,
    numbers,
    plain,
)
from repro.report.render import SHORT, Layout, grid
from repro.report.view import TableView, view_table
from repro.spec import run_key
from repro.store import Store

HOSTILE = r"\ & % $ # _ { } ~ ^ < > | [ ] * -- ' \input{x} \\[2cm]"
UNICODE = "± — – † ≤ ≥ × · → ε “é” Ł Ångström 中 \x07"


def view(store: Store, asked: Request) -> TableView:
    return view_table(TABLES[asked.id], asked, store)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a & b % c", r"a \& b \% c"),
        ("$1 #2 x_y {z}", r"\$1 \#2 x\_y \{z\}"),
        ("~^\\", r"\textasciitilde{}\textasciicircum{}\textbackslash{}"),
        ("1.0 ± 0.2 †", r"1.0 \ensuremath{\pm} 0.2 \ensuremath{\dagger}"),
        ("n ≤ 5 — no", r"n \ensuremath{\leq} 5 \textemdash{} no"),
        ("--no-run", "{-}{-}no-run"),
        ("[a]*", "{[}a{]}{*}"),
        ("é ç ö", r"\'{e} \c{c} " + r"\"{o}"),
        ("e\u0301 c\u0327 A\u030a", r"\'{e} \c{c} \r{A}"),  # decomposed, as macOS names files
        ("h\u0323 x\u0304", r"\d{h} \={x}"),
        ("&\u0301 e\u0361", r"\&U+0301 eU+0361"),
        ("'' ,, '--'", "{'}{'} {,}{,} '{-}{-}'"),
        ("中", "U+4E2D"),
        ("two\n lines", "two lines"),
    ],
)
def test_text_is_escaped_for_tex(text: str, expected: str) -> None:
    assert escape(text) == expected


def test_a_negative_number_has_a_minus_sign_and_a_word_its_hyphen() -> None:
    assert cell("-4.6") == r"\ensuremath{-}4.6"
    assert (cell("+4.6"), cell("non-linear"), cell("—")) == (
        "+4.6", "non-linear", r"\textemdash{}",
    )  # fmt: skip


def unescaped(line: str) -> list[str]:
    """The cells of a line as Markdown writes them."""
    plain = line.removesuffix(r" \\").replace(r"\ensuremath{-}", "-")
    plain = re.sub(r"\\textbf\{([^&]*)\}", r"\1", plain)
    for tex, letter in ((r"\textemdash{}", "—"), (r"\ensuremath{\pm}", "±"),
                        (r"\ensuremath{\dagger}", "†"), (r"\%", "%"),
                        (r"\textasciicircum{}", "^")):  # fmt: skip
        plain = plain.replace(tex, letter)
    return [cell.strip() for cell in re.split(r"(?<!\\)&", plain)]


def rows_of(text: str) -> list[list[list[str]]]:
    """The head and the lines of every part of a table."""
    parts = [part.partition(r"\bottomrule")[0] for part in text.split(r"\toprule")[1:]]
    return [[unescaped(x) for x in part.splitlines() if x.endswith(r"\\")] for part in parts]


@pytest.mark.parametrize("table", ["ResAdapters-1", "Houlsby-1", "3-shared-1", "Peters-1"])
def test_the_parts_say_together_what_the_table_says(store: Store, table: str) -> None:
    """Upright and transposed tables, words and numbers; a wide one is cut by columns."""
    shown = view(store, request(table, "paper"))
    whole = grid(shown)
    parts = rows_of(latex(shown, "name"))
    assert [name for head, *_ in parts for name in head[1 + whole.kinds :]] == list(whole.columns)
    for head, *lines in parts:
        places = [whole.columns.index(name) for name in head[1 + whole.kinds :]]
        body = [[SHORT.get(text, text) for text in line] for line in whole.only(places).body()]
        assert lines == body


@pytest.mark.parametrize("layout", ["reproduced", "side-by-side", "difference"])
def test_no_part_is_wider_or_longer_than_a_page_and_none_is_scaled(
    store: Store, layout: Layout
) -> None:
    """Digits of 8 pt are 4.25 pt wide, so a line of 90 of them is 382 pt; TeX's own measure is the
    test below.
    """
    shown = view(store, request("AA-2", "reduced"))
    text = latex(shown, "name", layout)
    assert not re.search(r"resizebox|adjustbox|scalebox|tiny|scriptsize|footnotesize", text)
    assert set(re.findall(r"\\fontsize\{(\d+)\}", text)) == {"8"}
    for head, *lines in rows_of(text):
        assert len(lines) <= MOST_LINES
        columns = zip(head, *lines, strict=True)
        assert 4.25 * sum(max(map(len, column)) for column in columns) < TWO_COLUMNS
    named = re.findall(r"continued: ([^}.]*)\.", text)
    assert set(named) == set(shown.table.sections)
    assert not any(line[0].startswith("Low-data") for part in rows_of(text) for line in part)


def test_the_best_score_of_a_column_is_bold_in_each_part(store: Store) -> None:
    """Each row scores one more than the row before; the reference is no model."""
    asked = request(epochs=1)
    order = {run_key(spec): place for place, spec in enumerate(runs_of(asked))}
    store_all(store, asked, lambda spec, *_: 50.0 + order[run_key(spec)])
    shown = view(store, asked)
    bold = [line for line in latex(shown, "n").splitlines() if "textbf" in line]
    assert [line.split(" & ")[0] for line in bold] == ["Adapter ResNet", "Attention ResNeXt"]
    assert all(line.count("textbf") == 6 for line in bold)


def test_caption_label_and_notes_are_short(store: Store) -> None:
    asked = request(epochs=1)
    store_all(store, asked)
    text = latex(view(store, asked), table_name(asked))
    said = re.findall(r"\\caption\[(.*?)\]\{(.*)\}", text)
    title = "SQuAD 2.0, five adapters trained on 50K questions (ResAdapters, Table 1)"
    assert said == [(title, f"{title}: smoke scale, MiniLM-L6, 1 seed.")]
    assert r"\label{tab:ResAdapters-1.smoke.epochs-1}" in text
    notes = re.findall(r"\\item (.*)", text)
    assert notes[0].startswith("Scale: smoke (not comparable with the published numbers).")
    assert len(notes) < 6
    assert text.index(r"\bottomrule") < text.index(r"\item") < text.index(r"\end{threeparttable}")


def test_a_verdict_in_a_cell_is_explained_below(store: Store) -> None:
    asked = request(scale="paper", seeds=2)
    store_all(store, asked)
    text = latex(view(store, asked), "n")
    lines = [line for part in rows_of(text) for line in part]
    words = {word for line in lines if line[1] == "verdict" for word in line[2:]} - {""}
    assert words
    for word in words:
        assert rf"\item {word}: " in text


def test_every_number_has_a_command_of_its_own(store: Store) -> None:
    asked = request(scale="reduced", epochs=3)
    store_all(store, asked)
    text = numbers([view(store, asked)])
    name = f"{table_name(asked)}:Adapter:ALL EM"
    for kind, value in (("reproduced", "30.0"), ("published", "30.6"),
                        ("difference", r"\ensuremath{-}0.6")):  # fmt: skip
        command = rf"\expandafter\newcommand\csname repro:{kind}:{name}\endcsname{{{value}}}"
        assert command in text.splitlines()


@pytest.mark.parametrize("table", list(TABLES))
def test_no_two_numbers_of_a_table_share_a_command(table: str) -> None:
    rows, columns = TABLES[table].rows, TABLES[table].columns
    assert len({plain(row.name) for row in rows}) == len(rows)
    assert len({plain(column.name) for column in columns}) == len(columns)


def test_a_label_holds_no_letter_that_tex_reads_as_a_command() -> None:
    assert label("T-1.a_b {c}%") == "tab:T-1.a-b-c-"


def test_the_document_reads_every_table_and_names_what_it_cannot_read() -> None:
    text = document(["T-1.smoke", "T-1.a_model", "T-1.50%{x}"])
    assert r"\input{T-1.smoke.tex}" in text
    assert r"\input{T-1.a_model.tex}" in text
    assert r"Left out for the name of its file: T-1.50\%\{x\}." in text
    assert "%{" not in text.replace(r"\%", "")


def test_the_same_store_gives_the_same_bytes_and_unchanged_files_are_left_alone(
    store: Store, tmp_path: Path
) -> None:
    asked = request(epochs=1)
    store_all(store, asked)
    shown = view(store, asked)
    paths = write_table(shown, tmp_path) + write_tex([shown], tmp_path)
    assert [path.name for path in paths] == [
        *(f"ResAdapters-1.smoke.epochs-1.{ending}" for ending in ("csv", "json", "tex")),
        "numbers.tex",
        "repro.tex",
    ]
    before = [(path.read_bytes(), path.stat().st_mtime_ns) for path in paths]
    again = write_table(view(store, asked), tmp_path) + write_tex([shown], tmp_path)
    assert [(path.read_bytes(), path.stat().st_mtime_ns) for path in again] == before
    paths[0].write_text("by hand")
    write_table(shown, tmp_path)
    assert paths[0].read_bytes() == before[0][0]
    assert write_tex([], tmp_path / "none") == []


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
def test_tables_and_their_document_compile(store: Store, tmp_path: Path) -> None:
    """Upright, transposed and wide ones, and one whose every word is hostile."""
    views = [view(store, request(name)) for name in ("ResAdapters-1", "3-shared-1", "Houlsby-1")]
    shown = views[0]
    table = replace(shown.table, title=HOSTILE, notes=(UNICODE, HOSTILE))
    rows = tuple(
        replace(row, row=replace(row.row, name=f"[{(HOSTILE, UNICODE)[place % 2]} {place}"))
        for place, row in enumerate(shown.found)
    )
    asked = replace(shown.request, settings={"recipe.learning_rate": 0.5})
    matrix = shown.table.matrix(asked)
    hostile = replace(shown, table=table, found=rows, matrix=matrix)
    for one in (*views, hostile):
        write_table(one, tmp_path)
    write_tex([*views, hostile], tmp_path)
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "repro.tex"],
        cwd=tmp_path / "tables", capture_output=True, check=False,
    )  # fmt: skip
    log = (tmp_path / "tables" / "repro.log").read_text(encoding="latin-1")
    assert done.returncode == 0, log[-3000:]
    for problem in ("Missing character", "Overfull", "Float too large"):
        assert problem not in log
    assert (tmp_path / "tables" / "repro.pdf").read_bytes().startswith(b"%PDF")
