"""A paper of one CSV and one Python file, as docs/extend.md makes it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENT = (ROOT / "docs" / "extend.md").read_text(encoding="utf-8").partition("## A method")[0]


def block(language: str) -> str:
    found = re.findall(rf"```{language}\n(.*?)```", DOCUMENT, re.DOTALL)
    assert len(found) == 1
    return str(found[0])


@pytest.fixture
def papers(tmp_path: Path) -> Path:
    folder = tmp_path / "my-papers" / "made_up"
    (folder / "published").mkdir(parents=True)
    (folder / "__init__.py").write_text(block("python"), encoding="utf-8")
    (folder / "published" / "MU-T1.csv").write_text(block("csv"), encoding="utf-8")
    return folder.parent


def repro(papers: Path | str, *words: str, named: bool = True) -> subprocess.CompletedProcess[str]:
    """The command's end; `named`: whether REPRO_PAPERS names the folder."""
    store = Path(papers).parent / "store"
    variables = os.environ | {"REPRO_PAPERS": str(papers) * named, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, "-m", "repro", *words, *(["--store", str(store)] if words[1:] else [])],
        env=variables, cwd=store.parent, text=True, capture_output=True, check=False,
    )  # fmt: skip


def test_a_made_up_table_is_listed_planned_trained_and_reported(papers: Path) -> None:
    asked = "Made-up-1", "--scale", "smoke", "--train-rows", "32", "--epochs", "1"
    assert re.search("Made-up-1 .*RTE with adapters", repro(papers, "list").stdout)
    assert "2 runs: 0 stored, 2 missing" in repro(papers, "plan", *asked).stdout
    shown = repro(papers, "table", *asked)
    assert shown.returncode == 0, shown.stderr
    assert "Made-up et al., Table 1" in shown.stdout
    assert "2/2" in shown.stdout
    report = repro(papers, "report", "--out", str(papers.parent / "out"))
    assert report.returncode == 0, report.stderr
    assert "Made-up-1" in (papers.parent / "out" / "REPRODUCE.md").read_text(encoding="utf-8")
    assert "there is no table or figure Made-up-1 here. Name the folder of its paper in" in (
        repro(papers, "status", "3-shared-2", named=False).stderr
    )


def test_two_tables_of_one_id_are_refused(papers: Path) -> None:
    (papers / "copy" / "published").mkdir(parents=True)
    (papers / "copy" / "published" / "MU-T1.csv").write_text(block("csv"), encoding="utf-8")
    text = block("python").replace('paper="made_up"', 'paper="copy"')
    (papers / "copy" / "__init__.py").write_text(text, encoding="utf-8")
    found = repro(papers, "list")
    assert found.returncode == 2
    assert found.stderr == (
        "repro: Two tables or figures are called Made-up-1: rename one of them.\n"
    )


def test_a_table_and_a_figure_of_one_id_are_refused(papers: Path) -> None:
    text = block("python").replace('id="Made-up-1"', 'id="tradeoff-glue"')
    (papers / "made_up" / "__init__.py").write_text(text, encoding="utf-8")
    found = repro(papers, "list")
    assert found.returncode == 2
    assert "Two tables or figures are called tradeoff-glue" in found.stderr
    assert "Traceback" not in found.stderr


WRONG = {
    "row": (
        'published="Adapters"', 'published="Adaptors"',
        "There is no row of MU-T1.csv called 'Adaptors'. Did you mean Adapters? (Wrong, Adapters)",
    ),
    "column": (
        '"RTE",\n            "accuracy"', '"WNLI",\n            "accuracy"',
        "There is no column of MU-T1.csv called 'WNLI'. Known: RTE. (Wrong, RTE)",
    ),
    "metric": (
        '"accuracy",\n            metric', '"f1",\n            metric',
        "There is no metric of MU-T1.csv called 'f1'. Known: accuracy. (Wrong, RTE)",
    ),
    "task": (
        'task="rte"', 'task="rtee"',
        "There is no task called 'rtee'. Did you mean rte? (Wrong, RTE)",
    ),
    "scale": (
        ', "smoke": 1}', "}",
        "default_seeds of Wrong has no number for the scale smoke.",
    ),
    "columns": (
        "columns=(", "columns=() and (",
        "Wrong has no columns.",
    ),
    "paper": (
        'paper="wrong"', 'paper="nope"',
        "Wrong says that its paper is nope, and stands in wrong.",
    ),
    "id": (
        'id="Wrong', 'id="../Wrong',
        "the id '../Wrong' names files. Give it letters, digits, '-', '_' and '.' only, a letter "
        "or a digit first.",
    ),
    "variant": (
        '"not-shared"', '"not-share"',
        "its runs cannot be made (Wrong, Adapters, RTE): KeyError: 'not-share'",
    ),
    "chains": (
        "one_a_seed(runs_of)", "lambda row, column, request: [(1,)]",
        "chains gives something else than runs (Wrong, Adapters, RTE).",
    ),
    "protocol": (
        'protocol="glue"', 'protocol="zz"',
        "There is no protocol called 'zz'. Known: glue. (Wrong, Adapters, RTE)",
    ),
}  # fmt: skip


def test_a_paper_with_a_mistake_is_left_out_and_the_others_are_not(papers: Path) -> None:
    """Each mistake in a paper of its own; file and line are named."""
    expected = {}
    for name, (old, new, said) in WRONG.items():
        text = block("python").replace("Made-up-1", "Wrong").replace("made_up", "wrong")
        assert old in text
        text = text.replace(old, new).replace('"wrong"', f'"{name}_wrong"')
        text = text.replace("Wrong", f"Wrong-{name}")
        expected[name] = said.replace("in wrong", f"in {name}_wrong")
        folder = papers / f"{name}_wrong"
        (folder / "published").mkdir(parents=True)
        (folder / "__init__.py").write_text(text, encoding="utf-8")
        (folder / "published" / "MU-T1.csv").write_text(block("csv"), encoding="utf-8")
    for name, text in {
        "raises": "A = 1\nB = 1 / 0\n", "syntax": "A = 1\nB = (\n", "absent": "import made_up_x\n",
    }.items():  # fmt: skip
        (papers / f"{name}_wrong").mkdir()
        (papers / f"{name}_wrong" / "__init__.py").write_text(text, encoding="utf-8")
    (papers / "module_wrong").mkdir()
    (papers / "module_wrong" / "__init__.py").write_text("", encoding="utf-8")
    (papers / "module_wrong" / "tables.py").write_text("\n\nx()\n", encoding="utf-8")
    expected |= {
        "raises": "__init__.py, line 2: ZeroDivisionError: division by zero",
        "syntax": "__init__.py, line 2: SyntaxError: '(' was never closed",
        "absent": "__init__.py, line 1: ModuleNotFoundError: No module named 'made_up_x'",
        "module": "tables.py, line 3: NameError: name 'x' is not defined",
    }
    found = repro(papers, "list")
    assert found.returncode == 0
    assert "Made-up-1" in found.stdout
    lines = {line.split()[3]: line for line in found.stderr.splitlines()}
    assert len(lines) == len(found.stderr.splitlines()) == len(expected)
    place = block("python").splitlines().index('    id="Made-up-1",') + 1
    for name, said in expected.items():
        line = lines[f"{name}_wrong"]
        assert line.startswith(f"repro: The paper {name}_wrong is left out: {papers}")
        assert line.replace(f"Wrong-{name}", "Wrong").endswith(said)
        assert f"__init__.py, line {place}: " in line or "Error: " in line


def test_numbers_that_are_not_there_are_named(papers: Path) -> None:
    (papers / "made_up" / "published" / "MU-T1.csv").unlink()
    found = repro(papers, "table", "Made-up-1", "--scale", "smoke", "--no-run")
    assert "MU-T1.csv is not there" in found.stderr


def test_a_folder_without_papers_is_refused(papers: Path) -> None:
    found = repro(papers / "made_up", "list")
    assert found.returncode == 2
    assert "holds no paper" in found.stderr


def test_a_folder_of_papers_that_is_not_there_is_named(tmp_path: Path) -> None:
    found = repro(absent := tmp_path / "none", "list")
    said = f"repro: REPRO_PAPERS names {absent}, which is no folder: mend or unset it.\n"
    assert (found.returncode, found.stderr) == (2, said)
