"""`--row` and `--column`: only these are trained, counted and shown."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fake_glue import store_run as glue_result
from fake_results import request, store_all, store_result

from repro.cli.requests import make_request
from repro.cli.scales import stored_variants
from repro.errors import ReproError, UnknownName
from repro.papers.registry import TABLES
from repro.report.files import command_line, save_request, table_name
from repro.report.notes import notes
from repro.report.render import grid
from repro.report.view import TableView, view_table
from repro.spec import RunSpec
from repro.store import Store

Call = Callable[..., Any]
GLUE, SQUAD, AA = (TABLES[id] for id in ("3-shared-2", "ResAdapters-1", "AA-2"))


def view(store: Store, id: str, **asked: Any) -> TableView:
    return view_table(TABLES[id], make_request(TABLES[id], "smoke", **asked), store)


def runs(id: str, **asked: Any) -> list[RunSpec]:
    return [*TABLES[id].matrix(make_request(TABLES[id], "smoke", **asked)).runs.values()]


def test_only_the_runs_of_the_row_and_column_are_wanted() -> None:
    found = runs("3-shared-2", rows=["Ours (3-shared)"], columns=["cola,rte"])
    assert {(spec.method.kind, spec.task.name) for spec in found} == {
        ("bottleneck-adapters", "cola"), ("bottleneck-adapters", "rte"),
    }  # fmt: skip
    whole = {spec.model_dump_json() for spec in runs("3-shared-2")}
    assert {spec.model_dump_json() for spec in found} < whole
    assert len(found) == 2


def test_a_mean_needs_all_its_scores_and_is_shown_alone(store: Store) -> None:
    assert len(runs("3-shared-2", columns=["Total"])) == len(runs("3-shared-2"))
    shown = view(store, "3-shared-2", columns=["Total"])
    assert grid(shown).columns == ("Total", "Trained parameters")
    assert shown.cells == 4


def test_one_of_two_columns_of_a_task_counts_alone(store: Store) -> None:
    assert view(store, "3-shared-2", columns=["MNLI(m)"]).cells == 4


def test_a_difference_brings_the_rows_that_it_is_of(store: Store) -> None:
    name = "Low-data-100 / AA-focused^uni minus Baseline"
    shown = view(store, "AA-2", rows=[name])
    assert [row.row.name for row in shown.rows] == [
        "Low-data-100 / Baseline", "Low-data-100 / AA-focused^uni", name,
    ]  # fmt: skip


def test_a_row_is_named_without_its_part_of_the_table() -> None:
    asked = make_request(AA, "smoke", rows=["baseline"], sections="Low-data-100,Low-data-300")
    assert asked.rows is not None
    assert len(asked.rows) == len(AA.sections) == 4
    shown = AA.matrix(asked).artefact.rows
    assert [row.name for row in shown] == ["Low-data-100 / Baseline", "Low-data-300 / Baseline"]


def test_the_command_of_a_request_asks_for_the_same(cli: Call, store: Store) -> None:
    asked = make_request(GLUE, "smoke", rows=["Ours (3-shared)"], columns=["CoLA", "MNLI(m)"])
    line = command_line(asked)
    assert line.endswith("--row 'Ours (3-shared)' --column CoLA --column 'MNLI(m)'")
    other = make_request(GLUE, "smoke", rows=["Ours (not shared)"], columns=["CoLA", "MNLI(m)"])
    assert table_name(asked) != table_name(other)
    assert table_name(make_request(GLUE, "smoke", columns=["CoLA"])) == "3-shared-2.smoke.CoLA"


def test_a_table_of_one_row_is_complete_and_shown(cli: Call, store: Store, tmp_path: Path) -> None:
    words = ["--scale", "smoke", "--row", "adapter", "--column", "all em", "--epochs", "2"]
    asked = make_request(SQUAD, "smoke", rows=["Adapter"], columns=["ALL EM"], epochs=2)
    (spec,) = SQUAD.matrix(asked).runs.values()
    store_result(store, spec)
    answer = cli("table", SQUAD.id, *words)
    assert answer.code == 0, answer.err
    assert "Cells reproduced: 1/1." in answer.out
    lines = [line for line in answer.out.splitlines() if line.startswith("|")]
    names = [name.strip() for name in lines[0].strip("|").split("|")]
    assert names == ["Model", "ALL EM", "Trained parameters"]
    assert len(lines) == 3


def test_a_part_of_a_stored_table_is_shown_without_its_data(cli: Call, store: Store) -> None:
    """The table was stored at reduced scale; its data are not here."""
    whole = request(scale="reduced", epochs=2)
    store_all(store, whole)
    save_request(store, whole)
    for words in (("--scale", "reduced", "--epochs", "2"), ()):
        answer = cli("table", SQUAD.id, *words, "--row", "Adapter", "--format", "csv")
        assert answer.code == 0, answer.err
        lines = list(csv.DictReader(io.StringIO(answer.out)))
        assert [line["row"] for line in lines] == ["Adapter"] * 6
        assert all(line["mean"] for line in lines)
    assert cli("table", SQUAD.id, "--row", "Adaptor").code == 2


@pytest.mark.parametrize(
    ("asked", "error", "said"),
    [
        ({"rows": ["Houlsbi"]}, UnknownName, r"no row of 3-shared-2 called 'Houlsbi'.*Houlsby"),
        ({"columns": ["CoLA,SST"]}, UnknownName, "Did you mean SST-2"),
    ],
)
def test_an_unknown_name_names_the_closest(
    asked: dict[str, Any], error: type[ReproError], said: str
) -> None:
    with pytest.raises(error, match=said):
        make_request(GLUE, "smoke", **asked)


def test_rows_that_have_no_runs_are_refused() -> None:
    printed = next(row.name for row in TABLES["Houlsby-2"].rows if row.only_printed)
    with pytest.raises(ReproError, match="Houlsby-2 has no runs for the rows asked for"):
        TABLES["Houlsby-2"].matrix(make_request(TABLES["Houlsby-2"], "smoke", rows=[printed]))


@pytest.mark.parametrize("column", ["RTE", "Total"])
def test_a_column_that_the_tasks_do_not_have_is_refused(column: str) -> None:
    with pytest.raises(ReproError, match=f"has no {column} of cola alone"):
        make_request(GLUE, "smoke", tasks="cola", columns=[column])


def test_a_stored_part_without_a_column_asked_for_is_no_variant(store: Store) -> None:
    """The columns asked for decide, not what a larger scale happens to hold of them."""
    for asked in (
        make_request(GLUE, "smoke", tasks="cola"), make_request(GLUE, "smoke", tasks="cola,rte"),
    ):  # fmt: skip
        for spec in GLUE.matrix(asked).runs.values():
            glue_result(store, spec)
        save_request(store, asked)
    found = stored_variants(GLUE, store, columns=("CoLA", "RTE"))
    assert [one.request.tasks for one in found] == [("cola", "rte")]


@pytest.mark.parametrize("name", ["", " ", "CoLA,"])
def test_an_empty_name_is_none(name: str) -> None:
    with pytest.raises(ReproError, match=f"--column {name}: nothing stands before or after"):
        make_request(GLUE, "smoke", columns=[name])


def test_notes_are_of_what_is_shown(store: Store) -> None:
    """MNLI's two columns, the report's Total and what is declared of their margins."""
    whole, one, mean = (
        " ".join(notes(view(store, "3-shared-2", **asked)))
        for asked in ({}, {"columns": ["CoLA"]}, {"columns": ["Total"]})
    )
    for said in ("MNLI's two columns are one run", "Total is as printed"):
        assert said in whole
        assert said not in one
        assert said in mean
    assert "What the report calls Houlsby" in one


def test_gaps_of_columns_that_are_not_shown_are_not_noted(store: Store) -> None:
    for spec in runs("3-shared-2", rows=["Ours (3-shared)"], columns=["RTE"]):
        glue_result(store, spec)
    asked = {"rows": ["Ours (3-shared)"]}
    assert "gap" in " ".join(notes(view(store, "3-shared-2", **asked)))
    assert "gap" not in " ".join(notes(view(store, "3-shared-2", columns=["RTE"], **asked)))
