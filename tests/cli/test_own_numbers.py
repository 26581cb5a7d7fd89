"""`add` and `compare` on the command line, and docs/extend.md, whose examples are run."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from committed import committed
from fake_glue import request, store_table
from json_document import DOCUMENT

from repro.errors import INCOMPLETE
from repro.report.files import save_request
from repro.store import Store

Call = Callable[..., Any]
PAGE = (Path(__file__).parents[2] / "docs" / "extend.md").read_text(encoding="utf-8")
SECTION = PAGE[PAGE.index("## Numbers of your own") :]
COMMANDS = re.findall(r"^python -m repro (.*)$", SECTION, re.MULTILINE)


@pytest.fixture
def asked(store: Store, monkeypatch: pytest.MonkeyPatch) -> Store:
    """The default store, with a request of two columns at reduced scale of which all is stored. No
    plot is drawn, which takes a while.
    """
    monkeypatch.setattr("repro.cli.compare.write_plot", lambda *_: [])
    found = request(scale="reduced", tasks=("cola", "rte"), seeds=2)
    store_table(store, found)
    save_request(store, found)
    return store


def write(text: str, name: str = "mine.csv") -> str:
    Path(name).write_text(text, encoding="utf-8")
    return name


def test_the_examples_of_the_documentation_do_what_they_say(
    cli: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "clone").mkdir()
    store = committed(tmp_path / "clone")
    monkeypatch.setenv("REPRO_STORE", str(store.root))
    (scores,), (shown,) = (
        re.findall(rf"```{kind}\n(.*?)```", SECTION, re.DOTALL) for kind in ("csv", "text")
    )
    write(scores)
    added, table, compared = (cli(*shlex.split(command)) for command in COMMANDS)
    assert (added.code, table.code, compared.code) == (0, INCOMPLETE, 0), added.err + compared.err
    assert "| Mine (external)" in table.out
    assert all(cli(*shlex.split(told)).out for told in re.findall("repro (.*)", added.out))
    assert compared.out.startswith(shown)
    assert [path.suffix for path in sorted(Path("figures").iterdir())] == [".pdf", ".png", ".svg"]
    assert "Mine (external)" in cli("add", "3-shared-2").out
    assert "trained by my own scripts" in cli("add", "3-shared-2").out


def test_a_row_is_added_shown_replaced_and_removed(cli: Call, asked: Store) -> None:
    plan = cli("plan", "3-shared-2", "--scale", "reduced", "--tasks", "cola,rte", "--json").out
    first = write("CoLA,RTE\n60,70\n")
    add = ("add", "3-shared-2", "--name", "Mine")
    assert cli(*add, "--scores", first, "--by", "Ada").code == 0
    again = cli(*add, "--scores", first, "--by", "Ada")
    assert (again.code, "has these numbers" in again.out) == (0, True)
    other = write("CoLA\n50\n", "other.csv")
    refused = cli(*add, "--scores", other)
    assert (refused.code, "--replace" in refused.err) == (2, True)
    table = ("table", "3-shared-2", "--no-run", "--out", "o")
    assert "| 60.0 |" in " ".join(cli(*table).out.split())
    assert cli(*add, "--scores", other, "--replace").code == 0
    assert "60.0" not in cli(*table).out
    assert (
        cli("plan", "3-shared-2", "--scale", "reduced", "--tasks", "cola,rte", "--json").out == plan
    )
    assert cli(*add, "--remove").code == 0
    assert "external" not in cli(*table).out
    gone = cli(*add, "--remove")
    assert (gone.code, "It has: none" in gone.err) == (2, True)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--scores", "no.csv"), "give --name"),
        (("--name", "M"), "--scores FILE.csv"),
        (("--name", "M", "--scores", "no.csv"), "cannot be read"),
        (
            ("--name", "M", "--scores", "mine.csv", "--scale", "auto"),
            "Known: paper, reduced, smoke",
        ),
        (("--name", "M", "--scores", "mine.csv", "--by", " "), "give --by NAME"),
        (("--name", "M", "--scores", "mine.csv", "--note", "a\x1b[2J"), "control characters"),
        (("--name", "M", "--scores", "mine.csv", "--section", "x"), "no sections"),
        (
            ("--name", "M", "--scores", "mine.csv", "--remove"),
            "leave out --scores, --list and --replace",
        ),
        (("--remove",), "give --name"),
        (("--name", "M", "--scores", "bad.csv"), "Nothing was added. Line 2: RTE is 700"),
    ],
)
def test_a_mistake_writes_nothing(
    cli: Call, store: Store, words: tuple[str, ...], said: str
) -> None:
    write("CoLA\n60\n")
    write("CoLA,RTE\n60,700\n", "bad.csv")
    answer = cli("add", "3-shared-2", *words)
    assert (answer.code, said in answer.err) == (2, True), answer.err
    assert not store.root.exists()


def test_pack_takes_the_rows_of_the_tables_that_it_packs(cli: Call, asked: Store) -> None:
    scores = write("CoLA\n60\n")
    for table, name in (("3-shared-2", "Mine"), ("Houlsby-1", "Elsewhere")):
        assert cli("add", table, "--name", name, "--scores", scores).code == 0
    packed = cli("store", "pack", "x.jsonl.xz")
    assert "1 row of external numbers" in packed.out
    Path("clone").mkdir()
    Path("x.jsonl.xz").rename("clone/x.jsonl.xz")
    assert [row.name for row in Store(Path("clone")).external()] == ["Mine"]
    report = cli("report", "--store", "clone", "--out", "o", "--site", "site")
    assert report.code == 0, report.err
    pages = [
        *Path("o/tables").glob("3-shared-2*.md"),
        *Path("site/tables").glob("3-shared-2*.html"),
    ]
    assert ["Mine (external)" in page.read_text(encoding="utf-8") for page in pages] == [True, True]


def paths(value: object, lead: str = "") -> set[str]:
    """`rows[].name` for every key of every object."""
    if isinstance(value, dict):
        inner = ((f"{lead}.{name}".lstrip("."), item) for name, item in value.items())
        return {path for name, item in inner for path in {name} | paths(item, name)}
    if isinstance(value, list):
        return {path for item in value for path in paths(item, f"{lead}[]")}
    return set()


def test_the_documented_keys_are_those_printed(cli: Call, asked: Store) -> None:
    parts = re.split(r"^## (\w+)$", DOCUMENT.read_text(encoding="utf-8"), flags=re.MULTILINE)
    sections = dict(zip(parts[1::2], parts[2::2], strict=True))
    scores = write("seed,CoLA,RTE\n0,60,70\n1,61,73\n")
    for words in (("add", "3-shared-2", "--name", "Mine", "--scores", scores),
                  ("compare", "Mine", "Ours (3-shared)", "--table", "3-shared-2")):  # fmt: skip
        (example,) = re.findall(r"```json\n(.*?)```", sections[words[0]], re.DOTALL)
        assert paths(json.loads(cli(*words, "--json").out)) == paths(json.loads(example))


def test_compare_takes_the_variant_in_which_most_can_be_compared(cli: Call, asked: Store) -> None:
    def of(*words: str) -> tuple[str, str, str]:
        document = json.loads(cli("compare", *words, "--table", "3-shared-2", "--json").out)
        (told,) = document["pairs"]
        return told["first"]["kind"], told["second"]["kind"], told["scale"]

    write("CoLA\n60\n")
    cli("add", "3-shared-2", "--name", "Mine", "--scores", "mine.csv")
    cli("add", "3-shared-2", "--name", "Server", "--scores", "mine.csv", "--server")
    assert of("Mine", "Ours (3-shared)") == ("external", "reproduced", "reduced")
    assert of("Server", "Ours (3-shared)") == ("external", "published", "paper")
    assert of("Ours (not shared)", "Ours (3-shared)") == ("reproduced", "reproduced", "reduced")
    hidden = cli("compare", "Mine", "Ours (3-shared)", "--table", "3-shared-2", "--scale", "smoke")
    assert (hidden.code, "at smoke scale called 'Mine'" in hidden.err) == (2, True)


def test_one_row_stands_against_all_others(cli: Call, asked: Store) -> None:
    write("seed,CoLA,RTE\n0,90,90\n1,90.1,90.1\n")
    cli("add", "3-shared-2", "--name", "Mine", "--scores", "mine.csv")
    answer = cli("compare", "Mine", "--table", "3-shared-2")
    lines = {line.split("|")[2].strip(): line.split("|")[3:] for line in answer.out.splitlines()[2:]
             if line.startswith("|")}  # fmt: skip
    rows = ("Full fine-tuning", "Houlsby (shared in layer)", "Ours (not shared)", "Ours (3-shared)")
    assert list(lines) == [f"{kind} {row}" for row in rows for kind in ("published", "reproduced")]
    ours = [cell.strip() for cell in lines["reproduced Ours (3-shared)"]]
    assert ours[:2] == ["reduced", "2"]
    document = json.loads(cli("compare", "Mine", "--table", "3-shared-2", "--json").out)
    assert [pair["second"]["row"] for pair in document["pairs"]] == [r for r in rows for _ in "pr"]
    assert document["files"] == []
    # LoRA-1 was never asked for here: nothing is reproduced.
    bare = cli("compare", "published: LoRA", "--table", "LoRA-1").out
    assert "No score compared with reproduced LoRA: no number of reproduced LoRA." in bare
    unknown = cli("compare", "Nobody", "--table", "3-shared-2")
    assert (unknown.code, "called 'Nobody'" in unknown.err) == (2, True)
