"""Rows of numbers from elsewhere: what is read, what is refused, and where they are shown."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fake_glue import request, store_table

from repro.comparison.external import read_row
from repro.comparison.external_rows import keep, remove
from repro.errors import ReproError
from repro.papers.registry import TABLES
from repro.report.latex import latex, numbers
from repro.report.render import as_json, csv_text, markdown
from repro.report.view import TableView, view_table
from repro.store import Store
from repro.store.result import External

TABLE = TABLES["3-shared-2"]
SEEDS = "seed,CoLA,MRPC\n0,60,88\n1,62,\n"


def row(text: str | bytes, table: str = "3-shared-2", name: str = "Mine", **more: Any) -> External:
    data = text.encode() if isinstance(text, str) else text
    return read_row(data, TABLES[table], name, **({"by": "Ada"} | more))


def plain(found: External) -> dict[str, tuple[Any, ...]]:
    """Column -> values, mean, sd, n."""
    return {one.column: (one.values, one.mean, one.sd, one.n) for one in found.numbers}


def shown(
    store: Store, scale: str = "reduced", table: str = "3-shared-2", **more: Any
) -> TableView:
    return view_table(TABLES[table], request(table, scale, **more), store)  # type: ignore[arg-type]


def cells(view: TableView, name: str = "Mine (external)") -> dict[str, dict[str, Any]]:
    return {one["column"]: one for one in view.records if one["row"] == name}


@pytest.mark.parametrize(
    ("text", "more", "expected"),
    [
        (SEEDS, {}, {"CoLA": ([60, 62], None, None, None), "MRPC": ([88], None, None, None)}),
        ("CoLA,RTE\n60.5,\n", {}, {"CoLA": ([], 60.5, None, None)}),
        ("CoLA,CoLA sd,CoLA n\n60.5,.4,5\n", {}, {"CoLA": ([], 60.5, 0.4, 5)}),
        ("CoLA,CoLA n\n60.5,5\n", {}, {"CoLA": ([], 60.5, None, 5)}),
        ("\ufeffcola , Rte\r\n\r\n60,70\r\n,\r\n", {},
         {"CoLA": ([], 60, None, None), "RTE": ([], 70, None, None)}),
        ("CoLA,CoLA sd,CoLA n\n0.57,0.007,3\n", {"fractions": True}, {"CoLA": ([], 57, 0.7, 3)}),
        ("CoLA,RTE\n0.5,70\n", {"fractions": False},
         {"CoLA": ([], 0.5, None, None), "RTE": ([], 70, None, None)}),
        ("CoLA,RTE\n0,70\n", {}, {"CoLA": ([], 0, None, None), "RTE": ([], 70, None, None)}),
        ("CoLA\n-6.5\n", {}, {"CoLA": ([], -6.5, None, None)}),
        ('"CoLA"\n" 6.05e1 "\n', {}, {"CoLA": ([], 60.5, None, None)}),
    ],
)  # fmt: skip
def test_numbers_are_read_as_they_are_written(
    text: str, more: dict[str, Any], expected: dict[str, Any]
) -> None:
    assert plain(row(text, **more)) == expected


REFUSED = {
    "": "is empty",
    " \n\n": "is empty",
    "CoLA,RTE\n": "no line of numbers",
    "CoLA,RTE\n60,\n61,x\n": "Line 3: RTE is 'x'",
    "CoLA,RTEE\n60,70\n": "no column 'RTEE'. Did you mean RTE?",
    "CoLA,CoLA\n60,70\n": "Two columns are called CoLA",
    "CoLA,cola\n60,70\n": "Two columns are called CoLA",
    ",CoLA\n0,60\n": "Column 1 has no heading",
    "CoLA,RTE\n0.6,0.7\n": "--fractions",
    "CoLA,RTE\n0.6,70\n": "CoLA is 0.6, a fraction perhaps",
    'CoLA\n"60,5"\n': "decimals with a point",
    "CoLA\n60,5\n": "has 2 cells, and there are 1 heading",
    'CoLA,Trained parameters\n60,"1,234,567"\n': "no separator of thousands",
    "CoLA,Trained parameters\n60,1 234\n": "no separator of thousands",
    "CoLA;RTE\n60;70\n": "separated by semicolons",
    "CoLA\tRTE\n60\t70\n": "separated by tabs",
    "CoLA\nnan\n": "blank if it was not measured",
    "CoLA\n-inf\n": "blank if it was not measured",
    "CoLA\n1e999\n": "too large",
    "CoLA\n100.5\n": "percent, from -100 to 100",
    "RTE\n-1\n": "percent, from 0 to 100",
    "CoLA\n60 ± 1\n": "NAME sd and NAME n",
    "CoLA\n60%\n": "percent sign",
    "CoLA,CoLA sd\n60,1\n": "stands without 'CoLA n'",
    "CoLA,CoLA sd,CoLA n\n60,1,1\n": "one run has no deviation",
    "CoLA,CoLA sd,CoLA n\n60,-1,3\n": "never negative",
    "CoLA,CoLA n\n60,2.5\n": "a whole number from 1",
    "CoLA,CoLA n\n60,0\n": "a whole number from 1",
    "CoLA,CoLA sd,CoLA n\n60,1,3\n61,1,3\n": "is given with several lines",
    "seed,CoLA,CoLA sd,CoLA n\n0,60,1,3\n": "A line with a seed is one run",
    "RTE,CoLA sd,CoLA n\n60,1,3\n": "none 'CoLA'",
    "RTE,CoLA,CoLA sd,CoLA n\n60,,1,3\n": "CoLA is blank",
    "seed,CoLA\n1,60\n1,61\n": "Line 3: the seed 1 is there twice",
    "seed,CoLA\na,60\n": "seed is 'a'",
    "Trained parameters\n5\n": "no number in any column",
    "Trained parameters,CoLA\n5,60\n6,61\n": "differs between the lines",
    'CoLA\n"60\n': "quotation marks",
    "CoLA\n" + "60\n" * 1001: "a line for each run",
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_cannot_be_right_is_refused_with_the_mend(text: str) -> None:
    with pytest.raises(ReproError) as problem:
        row(text)
    assert REFUSED[text] in str(problem.value)


@pytest.mark.parametrize(
    ("data", "said"),
    [("CoLA\n60\n".encode("utf-16"), "UTF-16"), ("CoLÄ\n60\n".encode("latin-1"), "not UTF-8"),
     (b"\x00" * 9, "binary"), (b"CoLA\n" + b" " * (1 << 20), "far smaller")],
)  # fmt: skip
def test_other_encodings_are_refused(data: bytes, said: str) -> None:
    with pytest.raises(ReproError, match=said):
        row(data)


@pytest.mark.parametrize(
    ("name", "said"),
    [("Yours", "so is the row of a --method called"), ("ours (3-SHARED)", "has a row"),
     ("a\x07b", "control"), ("../x", "control"),
     ("a\nb", "control"), ("a\u202eb", "control"), (" ", "1 to 60"), ("x" * 61, "1 to 60"),
     ("x (external)", "mark rows"), ("Published: x", "mark rows"),
     ("-x", "another sign")],
)  # fmt: skip
def test_names_that_mislead_are_refused(name: str, said: str) -> None:
    with pytest.raises(ReproError, match=said):
        row("CoLA\n60\n", name=name)


def test_a_table_that_repeats_its_rows_wants_to_know_the_part(store: Store) -> None:
    with pytest.raises(ReproError, match="one of Full data, Low-data-100"):
        row("CoLA\n60\n", "AA-2")
    keep(row("CoLA\n60\n", "AA-2", section="Low-data-100"), store)
    keep(row("CoLA\n70\n", "AA-2", section="Full data"), store)
    names = [one["row"] for one in shown(store, table="AA-2", sections=("Low-data-100",)).records]
    assert names[-1] == "Low-data-100 / Mine (external)"
    assert "Full data / Mine (external)" not in names
    with pytest.raises(ReproError, match="give --section"):
        remove(TABLES["AA-2"], "mine", store)
    remove(TABLES["AA-2"], "Mine (external)", store, "Full data")
    assert [one.section for one in store.external()] == ["Low-data-100"]


def test_the_row_is_in_the_frame_and_in_every_format_and_has_no_verdict(store: Store) -> None:
    before = shown(store)
    keep(row(SEEDS + "\n", note="by hand"), store)
    view = shown(store)
    own = cells(view)
    first = own["CoLA"]
    assert (first["mean"], first["sd"], first["n"], first["values"]) == (61, 2**0.5, 2, [60, 62])
    assert (own["MRPC"]["mean"], own["MRPC"]["sd"], own["MRPC"]["n"]) == (88, None, 1)
    assert own["RTE"]["mean"] is None
    assert {(one["measure"], one["verdict"], one["wanted"]) for one in own.values()} == {
        ("external", None, False)
    }
    assert [one for one in view.records if one["row"] != "Mine (external)"] == before.records
    assert (view.done, view.cells, view.runs) == (before.done, before.cells, before.runs)
    assert view.statistics == before.statistics
    texts = [markdown(view), csv_text(view), latex(view, "t"), json.dumps(as_json(view))]
    assert all("Mine (external)" in text for text in texts)
    assert "| Mine (external)           | external   | 61.0 ± 1.4 |" in texts[0]
    assert (
        "Mine (external): external numbers, not of the GLUE test server, added by Ada" in texts[0]
    )
    assert "Runs a column: 2; MRPC: 1." in texts[0]
    assert r"\csname repro:reproduced:3-shared-2.reduced:Mine (external):CoLA" in numbers([view])


def test_a_name_with_signs_of_tex_heads_a_column_of_a_transposed_table(store: Store) -> None:
    keep(row("20 newsgroups\n60\n", "Houlsby-2", name="Mine_1 {x} <b>"), store)
    found = view_table(TABLES["Houlsby-2"], request("Houlsby-2", "paper"), store)
    assert r"Mine\_1 \{x\} \textless{}b\textgreater{} (external)" in latex(found, "t")


def test_the_mean_of_a_row_is_taken_run_by_run(store: Store) -> None:
    names = [score.name for score in TABLE.scores]
    lines = [",".join(names), ",".join(["60"] * 9), ",".join(["60"] * 8 + ["69"])]
    keep(row("\n".join(lines)), store)
    assert cells(shown(store))["Mean of 9"]["values"] == [60, 61]
    lines[2] = ",".join(["60"] * 8 + [""])
    keep(row("\n".join(lines)), store, replace=True)
    mean = cells(shown(store))["Mean of 9"]
    assert (mean["mean"], mean["sd"], mean["n"], mean["values"]) == (60, None, None, None)


def test_it_is_shown_at_its_scales_and_with_its_columns_only(store: Store) -> None:
    keep(row("CoLA\n60\n"), store)
    keep(row("CoLA\n60\n", name="Toy", scales=("smoke",)), store)
    assert [bool(cells(shown(store, scale))) for scale in ("paper", "reduced", "smoke")] == [
        True, True, False
    ]  # fmt: skip
    assert cells(shown(store, "smoke"), "Toy (external)")
    assert not cells(shown(store, tasks=("rte",)))


def test_a_name_is_used_once_and_the_same_numbers_twice_are_no_mistake(store: Store) -> None:
    assert keep(row(SEEDS), store)
    assert not keep(row(SEEDS, name="mine"), store)
    with pytest.raises(ReproError, match="--replace"):
        keep(row("CoLA\n50\n", name="MINE"), store)
    assert keep(row("CoLA\n50\n", name="MINE"), store, replace=True)
    assert [one.name for one in store.external()] == ["MINE"]


def cut(text: str) -> str:
    return text[: len(text) // 2]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (cut, "is damaged"),
        (lambda text: text.replace("60.0", "NaN"), "is damaged"),
        (lambda text: text.replace('"Mine"', '"Other"'), "is damaged"),
        (lambda text: text.replace('"values":[60.0,62.0]', '"values":[]'), "is damaged"),
        (lambda text: text.replace('"Ada"', '"A\\u001b[2J"'), "is damaged"),
        (lambda text: text.replace('"by"', '"colour":1,"by"'), "a newer version"),
    ],
)
def test_a_damaged_file_costs_one_line_and_not_the_table(
    tmp_path: Path, change: Callable[[str], str], said: str
) -> None:
    keep(row(SEEDS), Store(tmp_path / "s"))
    (path,) = (tmp_path / "s" / "external").iterdir()
    assert change(path.read_text()) != path.read_text()
    path.write_text(change(path.read_text()))
    told: list[str] = []
    view = shown(Store(tmp_path / "s", told.append))
    assert not cells(view)
    assert len(view.found) == len(TABLE.rows)
    assert len(told) == 1
    assert said in told[0]


def test_a_bundle_carries_the_row_and_an_older_one_is_as_before(tmp_path: Path) -> None:
    source, asked = Store(tmp_path / "s"), request(tasks=("rte",), rows=("Ours (3-shared)",))
    keys = [*TABLE.matrix(asked).runs]
    store_table(source, asked)
    own = row(SEEDS)
    files = {f"external/{own.key}.json": own.model_dump_json().encode()}
    (tmp_path / "new").mkdir()
    source.pack(keys, tmp_path / "new" / "x.jsonl.xz", files)
    behind = Store(tmp_path / "new")
    assert behind.external() == [own]
    with pytest.raises(ReproError, match="comes with a bundle"):
        remove(TABLE, "Mine", behind)
    keep(row("CoLA\n50\n"), behind, replace=True)
    assert plain(behind.external()[0])["CoLA"][1] == 50
