"""A table as LaTeX: what Markdown says, escaped, and compiled where pdflatex is."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from fake_results import request, store_all

from repro.papers.registry import TABLES
from repro.papers.request import Request
from repro.report.files import table_name, write_table, write_tex
from repro.report.latex import document, escape, label, latex, number
from repro.report.render import markdown
from repro.report.view import TableView, view_table
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
    assert number("-4.6") == r"\ensuremath{-}4.6"
    assert (number("+4.6"), number("non-linear"), number("—")) == (
        "+4.6", "non-linear", r"\textemdash{}",
    )  # fmt: skip


def unescaped(line: str) -> list[str]:
    """The cells of a line as Markdown writes them."""
    plain = line.removesuffix(r" \\").replace(r"\ensuremath{-}", "-")
    for tex, letter in ((r"\textemdash{}", "—"), (r"\ensuremath{\pm}", "±"),
                        (r"\ensuremath{\dagger}", "†"), (r"\%", "%"),
                        (r"\textasciicircum{}", "^")):  # fmt: skip
        plain = plain.replace(tex, letter)
    return [cell.strip() for cell in re.split(r"(?<!\\)&", plain)]


def rows_of(text: str) -> list[list[str]]:
    inner = text.partition(r"\toprule")[2].partition(r"\bottomrule")[0]
    return [unescaped(line) for line in inner.splitlines() if line.endswith(r"\\")]


def rows_of_markdown(text: str) -> list[list[str]]:
    lines = [line for line in text.splitlines() if line.startswith("|")]
    found = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [found[0], *found[2:]]


@pytest.mark.parametrize("table", ["ResAdapters-1", "Houlsby-1", "3-shared-1", "Peters-1"])
def test_every_cell_says_what_markdown_says(store: Store, table: str) -> None:
    """Upright and transposed tables, words and numbers; half of the runs are missing."""
    asked = request(table)
    shown = view(store, asked)
    assert rows_of(latex(shown, "name")) == rows_of_markdown(markdown(shown))


def test_a_table_of_many_rows_comes_section_by_section(store: Store) -> None:
    shown = view(store, request("AA-2", tasks=("cola",)))
    text = latex(shown, "name")
    parts = text.split(r"\end{table}")[:-1]
    heads = {tuple(rows_of(part)[0]) for part in parts}
    whole = rows_of_markdown(markdown(shown))
    assert heads == {tuple(whole[0])}
    assert [row for part in parts for row in rows_of(part)[1:]] == whole[1:]
    assert len(parts) == len(shown.table.sections) == 4
    assert text.count(r"\label{tab:name}") == 1
    assert r"\caption[]{\textbf{AA-2}, continued: Low-data-300.}" in text


def test_stored_runs_stand_in_the_table(store: Store) -> None:
    asked = request(seeds=2, epochs=2)
    store_all(store, asked)
    shown = view(store, asked)
    rows = rows_of(latex(shown, "name"))
    assert rows == rows_of_markdown(markdown(shown))
    assert any("±" in cell for row in rows for cell in row)


def test_rules_caption_label_and_notes(store: Store) -> None:
    asked = request(epochs=1)
    shown = view(store, asked)
    text = latex(shown, table_name(asked))
    for part in (
        r"\midrule",
        r"\caption[SQuAD 2.0, five adapters",
        r"\label{tab:ResAdapters-1.smoke.epochs-1}",
        r"\item Adapter: gap, not run.",
    ):
        assert part in text
    head, *_ = rows_of(text)
    assert f"@{{}}ll{'r' * (len(head) - 2)}@{{}}" in text
    assert text.index(r"\bottomrule") < text.index(r"\item")


def test_a_verdict_in_a_cell_is_explained_below(store: Store) -> None:
    asked = request(scale="paper", seeds=2)
    store_all(store, asked)
    shown = view(store, asked)
    words = {cell for row in rows_of(latex(shown, "n")) if row[1] == "verdict" for cell in row[2:]}
    assert words - {""}
    for word in words - {""}:
        assert rf"\item {word}: " in latex(shown, "n")


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
        *(f"ResAdapters-1.smoke.epochs-1.{ending}" for ending in ("md", "csv", "json", "tex")),
        "repro.tex",
    ]
    before = [(path.read_bytes(), path.stat().st_mtime_ns) for path in paths]
    again = write_table(view(store, asked), tmp_path) + write_tex([shown], tmp_path)
    assert [(path.read_bytes(), path.stat().st_mtime_ns) for path in again] == before
    assert write_tex([], tmp_path / "none") == []


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
def test_tables_and_their_document_compile(store: Store, tmp_path: Path) -> None:
    """Upright, transposed and wide ones, and one whose every word is hostile."""
    views = [view(store, request(name)) for name in ("ResAdapters-1", "3-shared-1", "Houlsby-1")]
    shown = views[0]
    table = replace(
        shown.table, title=HOSTILE, notes=(UNICODE, HOSTILE),
        rows=tuple(replace(row, name=f"{HOSTILE} {UNICODE}") for row in shown.table.rows),
    )  # fmt: skip
    rows = tuple(
        replace(row, row=replace(row.row, name=f"[{HOSTILE} {UNICODE}", note=HOSTILE))
        for row in shown.rows
    )
    asked = replace(shown.request, settings={"recipe.learning_rate": 0.5})
    matrix = shown.table.matrix(asked)
    hostile = replace(shown, table=table, rows=rows, matrix=matrix)
    for one in (*views, hostile):
        write_table(one, tmp_path)
    write_tex([*views, hostile], tmp_path)
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "repro.tex"],
        cwd=tmp_path / "tables", capture_output=True, check=False,
    )  # fmt: skip
    log = (tmp_path / "tables" / "repro.log").read_text(encoding="latin-1")
    assert done.returncode == 0, log[-3000:]
    assert "Missing character" not in log
    assert (tmp_path / "tables" / "repro.pdf").read_bytes().startswith(b"%PDF")
