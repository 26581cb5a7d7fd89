"""`--tasks`, and what a GLUE table does where a task has no data."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fake_glue import store_table

from repro.cli.requests import make_request, parsed
from repro.errors import MissingData, ReproError, UnknownName
from repro.papers.registry import ARTEFACTS, TABLES
from repro.papers.request import Request
from repro.store import Store
from repro.tasks.generated import default_revision

Call = Callable[..., Any]
TABLE = TABLES["3-shared-2"]
SMOKE = ["--scale", "smoke"]


def smoke(**asked: Any) -> Request:
    return make_request(TABLE, "smoke", **asked)


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for REPRO_DATA that holds CoLA whole, and only the training rows of RTE."""
    monkeypatch.setenv("REPRO_DATA", str(tmp_path / "data"))
    for name, split in (("cola", "train"), ("cola", "validation"), ("rte", "train")):
        folder = tmp_path / "data" / f"glue_{name}"
        folder.mkdir(parents=True, exist_ok=True)
        with gzip.open(folder / f"{split}.jsonl.gz", "wt") as stream:
            stream.write(json.dumps({"sentence": "It is.", "label": 1, "idx": 0}) + "\n")
    return tmp_path / "data"


@pytest.mark.parametrize(
    ("given", "tasks"),
    [
        ("cola", ("cola",)),
        ("sst2,cola", ("cola", "sst2")),  # in GLUE's order
        (" RTE , cola,rte", ("cola", "rte")),
    ],
)
def test_tasks_are_named_with_commas(given: str, tasks: tuple[str, ...]) -> None:
    assert parsed(tasks=given)["tasks"] == tasks


@pytest.mark.parametrize("given", ["colla", "cola,colla"])
def test_an_unknown_task_names_the_closest(given: str) -> None:
    with pytest.raises(UnknownName, match=r"no task called.*Did you mean cola"):
        parsed(tasks=given)


@pytest.mark.parametrize(
    ("given", "mend"), [("cola,,rte", "Give --tasks cola,rte"), (",", "leave the option out")]
)
def test_a_name_that_is_missing_beside_a_comma_is_told_with_the_mend(given: str, mend: str) -> None:
    with pytest.raises(ReproError, match=f"--tasks {given}: nothing stands .* {mend}"):
        parsed(tasks=given)


def test_only_the_tasks_asked_for_are_planned(cli: Call) -> None:
    out = cli("plan", TABLE.id, *SMOKE, "--tasks", "cola,rte", "--json").out
    names = [run["name"] for run in json.loads(out)["runs"]]
    assert len(names) == 2 * 4
    assert all(" on cola, " in name or " on rte, " in name for name in names)


def test_a_table_without_the_task_says_what_it_has(cli: Call) -> None:
    answer = cli("table", TABLE.id, *SMOKE, "--no-run", "--tasks", "wnli")
    assert answer.code == 2
    assert "3-shared-2 has no task wnli. It has: cola, sst2," in answer.err
    answer = cli("table", TABLE.id, *SMOKE, "--no-run", "--tasks", "cola,wnli")
    assert answer.code == 2
    assert "3-shared-2 has no task wnli. It has: cola, sst2," in answer.err
    answer = cli("table", "ResAdapters-1", *SMOKE, "--no-run", "--tasks", "cola")
    assert "ResAdapters-1 has no task cola. It has: squad2." in answer.err


def test_of_all_tables_and_figures_those_with_the_task_are_planned(cli: Call) -> None:
    answer = cli("plan", *SMOKE, "--tasks", "cola,rte", "--json")
    assert answer.code == 0
    said = answer.err.splitlines()
    for line in (
        "Left out: ResAdapters-1, which has squad2.",
        "Left out: ResAdapters-2, which has squad2.",
        "Left out: 3-shared-1, which has no task.",
        "Left out: ablation-heatmap's rte, which it does not have.",
        "Left out: tradeoff-squad, which has squad1.",
        "Left out: init-robustness's rte, which it does not have.",
        "Left out: task-embeddings, which draws maps of 4 tasks at least.",
    ):
        assert line in said
    with_both = {name for name, known in ARTEFACTS.items() if {"cola", "rte"} <= {*known.tasks}}
    with_both -= {"task-embeddings"}
    assert with_both >= {"Houlsby-1", "3-shared-2", "tradeoff-glue"}
    runs = json.loads(answer.out)["runs"]
    planned = {table for run in runs for table in run["tables"]}
    assert planned == with_both | {"ablation-heatmap", "init-robustness"}
    drawn = [run["name"] for run in runs if run["tables"] == ["ablation-heatmap"]]
    assert drawn
    assert all(" on cola, " in name for name in drawn)


def test_a_figure_is_left_out_where_several_of_its_tasks_are_asked_for(cli: Call) -> None:
    answer = cli("plan", "3-shared-2", "ablation-heatmap", *SMOKE, "--tasks", "cola,mnli")
    assert answer.code == 0
    assert answer.err == "Left out: ablation-heatmap, which draws one task: cola or mnli.\n"


def test_run_trains_what_has_the_task_and_remembers_no_more(cli: Call, store: Store) -> None:
    store_table(store, smoke(tasks="cola"))
    answer = cli("run", "ResAdapters-1", TABLE.id, *SMOKE, "--tasks", "cola")
    assert answer.code == 0
    assert answer.err == "Left out: ResAdapters-1, which has squad2.\n"
    assert answer.out == "4 of 4 runs are stored in runs.\n"
    assert list(store.requests()) == ["3-shared-2.smoke.cola"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["plan", "3-shared-2", "Houlsby-1", "--tasks", "cola,wnli"],
            "None of 3-shared-2, Houlsby-1 has a task wnli.",
        ),
        (["run", "3-shared-1", "ResAdapters-1", "--tasks", "rte"], "has a task rte."),
        (
            ["plan", "ablation-heatmap", "3-shared-1", "--tasks", "cola,mnli"],
            "Nothing of that can be done. Left out: ablation-heatmap, which draws one task: cola",
        ),
    ],
)
def test_tasks_that_leave_nothing_are_refused(cli: Call, words: list[str], said: str) -> None:
    answer = cli(*words, *SMOKE)
    assert answer.code == 2
    assert said in answer.err


def test_a_table_of_some_tasks_is_complete_and_named_by_them(
    cli: Call, store: Store, tmp_path: Path
) -> None:
    store_table(store, smoke(tasks="cola,rte"))
    answer = cli("table", TABLE.id, *SMOKE, "--tasks", "rte,cola")
    assert answer.code == 0, answer.err
    assert "Tasks: CoLA, RTE only." in answer.out
    assert "Cells reproduced: 8/8." in answer.out
    head = next(line for line in answer.out.splitlines() if line.startswith("|"))
    names = [name.strip() for name in head.strip("|").split("|")]
    assert names == ["Model", "CoLA", "RTE", "Trained parameters"]
    assert answer.out in (tmp_path / "tables" / "3-shared-2.smoke.cola-rte.md").read_text()


def test_the_report_brings_back_a_table_of_some_tasks(
    cli: Call, store: Store, tmp_path: Path
) -> None:
    store_table(store, smoke(tasks="cola,rte"))
    first = cli("table", TABLE.id, *SMOKE, "--tasks", "cola,rte").out
    assert cli("report").code == 0
    text = (tmp_path / "tables" / "3-shared-2.smoke.cola-rte.md").read_text()
    command = next(line.split() for line in text.splitlines() if line.startswith("    python"))
    assert command[-2:] == ["--tasks", "cola,rte"]
    assert cli(*command[3:]).out == first
    assert first.strip() in text


def test_smoke_scale_is_trained_on_generated_rows() -> None:
    assert smoke().data_revisions == dict.fromkeys(TABLE.tasks, default_revision("cola"))


def test_at_reduced_scale_a_task_without_all_its_files_is_a_gap(data: Path) -> None:
    asked = make_request(TABLE, "reduced", tasks="cola,rte")
    revision = asked.data_revisions["cola"]
    assert revision is not None
    assert revision.startswith("sha256:")
    assert list(asked.unavailable) == ["rte"]
    assert "glue_rte/validation" in asked.unavailable["rte"]
    assert {spec.task.name for spec in TABLE.matrix(asked).runs.values()} == {"cola"}


def test_plan_and_run_say_which_tasks_are_gaps(cli: Call, data: Path, store: Store) -> None:
    words = [TABLE.id, "--scale", "reduced", "--tasks", "cola,rte"]
    reason = "glue_rte/validation is not in $REPRO_DATA"
    assert f"RTE is a gap: {reason}." in cli("plan", *words).out.splitlines()
    planned = json.loads(cli("plan", *words, "--json").out)
    assert planned["unavailable"] == {"rte": reason}
    store_table(store, make_request(TABLE, "reduced", tasks="cola,rte"))
    assert cli("run", *words).out.splitlines() == [
        "4 of 4 runs are stored in runs.",
        f"RTE is a gap: {reason}.",
    ]


def test_a_damaged_file_is_an_error_that_names_it(cli: Call, data: Path) -> None:
    damaged = data / "glue_cola" / "train.jsonl.gz"
    damaged.write_bytes(damaged.read_bytes()[:-9])
    answer = cli("table", TABLE.id, "--scale", "reduced", "--tasks", "cola", "--no-run")
    assert answer.code == 2
    assert f"{damaged} cannot be read" in answer.err


def test_at_reduced_scale_no_task_with_data_is_an_error(data: Path) -> None:
    with pytest.raises(MissingData, match="glue_rte/validation"):
        make_request(TABLE, "reduced", tasks="rte")


def test_at_the_papers_scale_other_rows_are_an_error(data: Path) -> None:
    with pytest.raises(MissingData, match="published"):
        make_request(TABLE, "paper", tasks="cola")


def test_a_table_of_counts_needs_no_data(cli: Call, tmp_path: Path) -> None:
    answer = cli("table", "3-shared-1", *SMOKE)
    assert answer.code == 0
    assert "Cells reproduced: 12/12." in answer.out
    assert cli("report").code == 0
    text = (tmp_path / "tables" / "3-shared-1.smoke.md").read_text()
    assert "**Status:** matches, 12 of 12 cells: 12 match." in text
    assert answer.out.strip() in text


def test_counts_are_kept_for_the_next_table_and_packed(cli: Call, tmp_path: Path) -> None:
    first = cli("table", "3-shared-1", *SMOKE).out
    assert cli("table", "3-shared-1", *SMOKE, "--no-run").out == first
    assert cli("store", "pack", "runs/one.jsonl.xz").code == 0
    for path in (tmp_path / "runs" / "counts").iterdir():
        path.unlink()
    assert cli("table", "3-shared-1", *SMOKE, "--no-run").out == first  # from the bundle
    other = cli("table", "3-shared-1", *SMOKE, "--no-run", "--store", "empty")
    assert other.code == 3
    assert "gap, not counted" in other.out


def test_the_plan_of_a_sweep_counts_its_runs_and_what_is_shared(cli: Call) -> None:
    out = cli("plan", "Houlsby-1", "--scale", "paper").out
    # 8 tasks x 3 sizes x 3 rates x 2 epochs x 5 restarts; fine-tuning 8 x 4 rates x 5
    assert "Adapters (8-256): the best of 720 runs on all tasks, 240 of them shared" in out
    assert "Adapters (64): the best of 240 runs on all tasks, 240 of them shared" in out
    assert "BERT-large: the best of 160 runs on all tasks, 0 of them shared" in out
    assert "880 runs: 0 stored, 880 missing, 0 shared between tables." in out


@pytest.mark.parametrize("layers", [(), ("--published-layers",)])
def test_a_parents_task_without_its_rows_leaves_the_table(
    cli: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, layers: tuple[str, ...]
) -> None:
    """AA-focused^uni has the layers that a run on QQP selects, of which only a part is here."""
    (tmp_path / "data" / "glue_qqp").mkdir(parents=True)
    (tmp_path / "data" / "glue_qqp" / "validation.jsonl").write_text("{}\n")
    monkeypatch.setenv("REPRO_DATA", str(tmp_path / "data"))
    words = ["AA-2", "--tasks", "rte", "--scale", "paper", "--section", "Low-data-100", *layers]
    document = json.loads(cli("plan", *words, "--json").out)
    assert "glue_qqp" in document["unavailable"]["qqp"]
    names = [run["name"] for run in document["runs"]]
    assert names
    assert all("on rte" in name for name in names)
    answer = cli("table", *words, "--no-run")
    assert answer.code == 3
    assert ("it needs a run on qqp" in answer.out) is not bool(layers)
