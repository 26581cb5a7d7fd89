"""`import-scores`, and the tables that show what the GLUE server said."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from fake_glue import request, store_run, store_table
from server_samples import ROW, Answer

from repro.cli.requests import make_request
from repro.errors import ReproError
from repro.papers.registry import TABLES
from repro.papers.request import Request
from repro.report.cells import NOT_IMPORTED, Cell
from repro.report.files import command_line, table_name
from repro.report.render import as_json, markdown
from repro.report.view import view_table
from repro.server.archive import Manifest, submitted, tsv
from repro.server.layout import FILES
from repro.spec import RunSpec, Scale, run_key
from repro.store import Store
from repro.store.strict_json import json_bytes

Call = Callable[..., Answer]
HEADER = "task,split,metric,value"
PAGE = [
    "cola,,matthews,52.1", "sst2,,accuracy,93.5", "mrpc,,f1,88.9", "mrpc,,accuracy,84.8",
    "stsb,,pearson,87.1", "stsb,,spearman,85.8", "mnli,test_matched,accuracy,84.6",
    "mnli,test_mismatched,accuracy,83.4", "rte,,accuracy,66.4", "ax,,matthews,-3.5",
]  # fmt: skip
"""BERT-base's row of the GLUE leaderboard, in part; AX made up."""


def runs_of(asked: Request, row: str, column: str) -> list[RunSpec]:
    table = TABLES[asked.id]
    found = next(one for one in table.rows if one.name == row)
    return table.matrix(asked).of(
        found.name, next(c for c in table.scores if c.name == column).name
    )


def write_manifest(store: Store, asked: Request, row: str, runs: dict[str, RunSpec]) -> Path:
    """A manifest whose files are predicted by `runs`, by task; others are filled."""
    entries = []
    for file in FILES:
        spec = runs.get(file.column[0])
        run = store.read(run_key(spec)) if spec else None
        entries.append(submitted(file, tsv(["0"]), run, ""))
    manifest = Manifest(
        table=asked.id,
        row=row,
        seed=0,
        scale=asked.scale,
        command=command_line(asked),
        archive="made.zip",
        sha256="0" * 64,
        files=entries,
    )
    path = store.root.parent / "made.json"
    path.write_bytes(json_bytes(manifest.model_dump(mode="json")))
    return path


@pytest.fixture
def asked() -> Request:
    return request()


@pytest.fixture
def manifest(store: Store, asked: Request) -> Path:
    """Of the stored runs of a row; QQP, QNLI and WNLI are filled."""
    store_table(store, asked)
    names = {"cola": "CoLA", "sst2": "SST-2", "mrpc": "MRPC", "stsb": "STS-B", "rte": "RTE"}
    runs = {task: runs_of(asked, ROW, name)[0] for task, name in names.items()}
    runs["mnli"] = runs_of(asked, ROW, "MNLI(m)")[0]
    return write_manifest(store, asked, ROW, runs)


def page(folder: Path, *lines: str, header: str = HEADER) -> Path:
    path = folder / "scores.csv"
    path.write_text("\n".join([header, *lines]) + "\n")
    return path


def cells(store: Store, asked: Request, row: str) -> dict[str, Cell]:
    view = view_table(TABLES[asked.id], asked, store)
    found = next(one for one in view.rows if one.row.name == row)
    return {cell.column.name: cell for cell in found.cells}


def test_imported_scores_stand_in_the_cells(
    cli: Call, store: Store, manifest: Path, tmp_path: Path
) -> None:
    answer = cli("import-scores", page(tmp_path, *PAGE), "--manifest", manifest)
    assert answer.code == 0
    assert "Read 10 scores of Ours (3-shared) (3-shared-2): 6 runs changed." in answer.out
    found = cells(store, request(server=True), ROW)
    means = {name: cell.reproduced.mean for name, cell in found.items() if cell.reproduced}
    assert means == {
        "CoLA": 52.1, "SST-2": 93.5, "MRPC": 88.9, "STS-B": 85.8, "MNLI(m)": 84.6, "MNLI(mm)": 83.4,
        "RTE": 66.4,
    }  # fmt: skip
    assert found["QQP"].reason == NOT_IMPORTED
    assert "python -m repro export --help" in NOT_IMPORTED
    assert found["Mean of 9"].reason == "7/9 columns"
    served = store.served(run_key(runs_of(request(), ROW, "MNLI(m)")[0]))
    assert served is not None
    assert served.protocol == "glue-server"
    assert served.value("ax", "test", "matthews") == -3.5


def test_the_same_again_changes_nothing(
    cli: Call, store: Store, manifest: Path, tmp_path: Path
) -> None:
    words = ("import-scores", page(tmp_path, *PAGE), "--manifest", manifest)
    cli(*words)
    before = {path: path.read_bytes() for path in (store.root / "server").iterdir()}
    answer = cli(*words)
    assert (answer.code, "nothing is new" in answer.out) == (0, True)
    assert {path: path.read_bytes() for path in (store.root / "server").iterdir()} == before
    assert len(before) == 6


def test_another_value_needs_replace_and_leaves_all_as_it_was(
    cli: Call, store: Store, manifest: Path, tmp_path: Path
) -> None:
    cli("import-scores", page(tmp_path, *PAGE), "--manifest", manifest)
    changed = page(tmp_path, "mrpc,,f1,88.9", "rte,,accuracy,67")
    refused = cli("import-scores", changed, "--manifest", manifest)
    assert refused.code == 2
    assert "line 3: accuracy of rte is 67, and 66.4 was imported before" in refused.err
    kept = cells(store, request(server=True), ROW)["RTE"].reproduced
    assert kept is not None
    assert kept.mean == 66.4
    assert cli("import-scores", changed, "--manifest", manifest, "--replace").code == 0
    rte = cells(store, request(server=True), ROW)["RTE"].reproduced
    assert rte is not None
    assert rte.mean == 67
    cola = cells(store, request(server=True), ROW)["CoLA"].reproduced
    assert cola is not None
    assert cola.mean == 52.1


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["glue,,accuracy,80"], "line 2: there is no task called 'glue'"),
        (["rte,,f1,80"], "line 2: the server prints no 'f1' of rte. It prints: accuracy"),
        (["cola,,accuracy,80"], "It prints: matthews"),
        (["rte,,accuracy,100.1"], "Expected a number from 0 to 100"),
        (["rte,,accuracy,-1"], "Expected a number from 0 to 100"),
        (["cola,,matthews,-101"], "Expected a number from -100 to 100"),
        (["rte,,accuracy,nan"], "line 2: accuracy is 'nan'"),
        (["stsb,,pearson,8_7.1"], "line 2: pearson is '8_7.1'"),
        (["stsb,,pearson,８７.１"], "line 2: pearson is '８７.１'"),
        (["mnli,,accuracy,80"], "test_matched or test_mismatched"),
        (["rte,,accuracy,60", "sst2,,accuracy,90", "rte,test,accuracy,60"], "line 4: accuracy of"),
        (["qqp,,f1,70"], "QQP.tsv of this submission was filled with 0"),
        (["wnli,,accuracy,65.1"], "WNLI.tsv of this submission was filled with 0"),
        (["rte,,accuracy"], "line 2 has not as many fields as the header"),
        (["rte,,accuracy,0.664"], "look like fractions"),
        ([], "holds no score"),
    ],
)
def test_a_wrong_line_is_refused_and_nothing_is_kept(
    cli: Call, store: Store, manifest: Path, tmp_path: Path, lines: list[str], expected: str
) -> None:
    answer = cli("import-scores", page(tmp_path, *lines), "--manifest", manifest)
    assert answer.code == 2
    assert expected in answer.err
    assert not (store.root / "server").exists()


def test_json_brings_the_same_scores_as_csv(
    cli: Call, store: Store, manifest: Path, tmp_path: Path
) -> None:
    cli("import-scores", page(tmp_path, *PAGE), "--manifest", manifest)
    rows = (line.split(",") for line in PAGE)
    scores = [
        {"task": task, "metric": metric, "value": float(value)}
        | ({"split": split} if split else {})
        for task, split, metric, value in rows
    ]
    same = tmp_path / "scores.json"
    same.write_text(json.dumps(scores))
    answer = cli("import-scores", same, "--manifest", manifest)
    assert (answer.code, "nothing is new" in answer.out) == (0, True)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('[{"task": "rte", "metric": "accuracy", "value": NaN}]', "is no strict JSON"),
        ('[{"task": "rte", "metric": "accuracy", "value": 1, "value": 2}]', "'value' stands twice"),
        ('[{"task": "rte", "metric": "accuracy", "value": "6_6"}]', "score 1: accuracy is '6_6'"),
        ('{"rte": 66.4}', "holds one dict. Expected a list of objects"),
        ('[{"task": "rte", "value": 66.4}]', "score 1 has the keys task, value"),
        ('[{"task": "rte", "metric": "accuracy", "value": true}]', "score 1: accuracy is 'True'"),
        ("[]", "holds no score"),
    ],
)
def test_json_of_another_shape_is_refused(
    cli: Call, store: Store, manifest: Path, tmp_path: Path, text: str, expected: str
) -> None:
    wrong = tmp_path / "scores.json"
    wrong.write_text(text)
    answer = cli("import-scores", wrong, "--manifest", manifest)
    assert (answer.code, expected in answer.err) == (2, True), answer.err
    assert not (store.root / "server").exists()


def test_a_run_that_was_trained_again_to_another_result_has_no_server_score(
    cli: Call, store: Store, manifest: Path, tmp_path: Path, asked: Request
) -> None:
    words = ("import-scores", page(tmp_path, "rte,,accuracy,66.4"), "--manifest", manifest)
    assert cli(*words).code == 0
    (spec,) = runs_of(asked, ROW, "RTE")
    shutil.rmtree(store.root / run_key(spec)[:2] / run_key(spec))
    store_run(store, spec, lambda *where: 12.5)
    assert cells(store, request(server=True), ROW)["RTE"].reason == NOT_IMPORTED
    refused = cli(*words)
    assert refused.code == 2
    assert "has another result in the store" in refused.err


def test_files_that_are_none_are_refused(
    cli: Call, store: Store, manifest: Path, tmp_path: Path
) -> None:
    wrong = page(tmp_path, "rte,66.4", header="task,value")
    assert "line 1: task,value" in cli("import-scores", wrong, "--manifest", manifest).err
    good = page(tmp_path, "rte,accuracy,66.4", header="task,metric,value")
    absent = cli("import-scores", good, "--manifest", tmp_path / "none.json").err
    assert "No such file" in absent
    assert "is no manifest (not JSON)" in cli("import-scores", good, "--manifest", good).err
    other = cli("import-scores", good, "--manifest", manifest, "--store", tmp_path / "empty")
    assert "is not in the store" in other.err
    assert cli("import-scores", good, "--manifest", manifest).code == 0


def test_a_cell_is_the_mean_of_the_seeds_that_have_a_score(
    cli: Call, store: Store, tmp_path: Path
) -> None:
    three = request(seeds=3)
    store_table(store, three)
    for spec, value in zip(runs_of(three, ROW, "RTE")[:2], (60, 63), strict=True):
        made = write_manifest(store, three, ROW, {"rte": spec})
        cli("import-scores", page(tmp_path, f"rte,,accuracy,{value}"), "--manifest", made)
    found = cells(store, request(seeds=3, server=True), ROW)["RTE"]
    assert found.reproduced is not None
    assert found.reproduced.values == (60, 63)
    assert found.partial == f"1 of 3 seeds missing: {NOT_IMPORTED}"
    assert not found.complete


def test_the_run_that_validation_chose_shows_its_own_server_score(
    cli: Call, store: Store, tmp_path: Path
) -> None:
    """Not the best server score: another run of the sweep has a higher one."""
    asked, row = request("Houlsby-1", seeds=2), "Adapters (64)"
    sweep = runs_of(asked, row, "RTE")
    values = {run_key(spec): 90.0 if spec is sweep[1] else 80.0 for spec in sweep}
    for spec in sweep:
        store_run(store, spec, lambda one, epoch, split, metric: values[run_key(one)])
    for spec, value in ((sweep[0], 80), (sweep[1], 70)):
        made = write_manifest(store, asked, row, {"rte": spec})
        cli("import-scores", page(tmp_path, f"rte,,accuracy,{value}"), "--manifest", made)
    found = cells(store, request("Houlsby-1", seeds=2, server=True), row)["RTE"]
    assert found.reproduced is not None
    assert (found.reproduced.values, found.runs) == ((70,), (run_key(sweep[1]),))


@pytest.mark.parametrize(("scale", "verdict"), [("paper", "SINGLE"), ("reduced", "NOT COMPARABLE")])
def test_published_and_reproduced_are_of_the_same_rows(
    cli: Call, store: Store, tmp_path: Path, scale: Scale, verdict: str
) -> None:
    asked = request(scale=scale)
    (spec,) = runs_of(asked, ROW, "RTE")
    store_run(store, spec)
    made = write_manifest(store, asked, ROW, {"rte": spec})
    cli("import-scores", page(tmp_path, "rte,,accuracy,66.1"), "--manifest", made)
    assert cells(store, asked, ROW)["RTE"].verdict == "NOT COMPARABLE"
    found = cells(store, request(scale=scale, server=True), ROW)["RTE"]
    assert found.verdict == verdict
    assert found.difference == pytest.approx(66.1 - 67.6)
    assert "validation" not in found.reason


def test_a_table_says_that_the_server_scored(store: Store, asked: Request) -> None:
    served = request(server=True)
    view = view_table(TABLES["3-shared-2"], served, store)
    assert "Scored: GLUE test server, CoLA by Matthews correlation" in markdown(view)
    assert as_json(view)["protocol"] == "glue-server"
    assert table_name(served) == "3-shared-2.smoke.server"
    assert command_line(served).endswith("3-shared-2 --scale smoke --server")
    assert "server" not in table_name(asked) + command_line(asked)


def test_server_scores_travel_with_the_runs(
    cli: Call, store: Store, manifest: Path, tmp_path: Path
) -> None:
    cli("import-scores", page(tmp_path, *PAGE), "--manifest", manifest)
    view = view_table(TABLES["3-shared-2"], request(server=True), store)
    store.pack(view.runs, tmp_path / "new" / "one.jsonl.xz", {})
    behind = Store(tmp_path / "new")
    assert cells(behind, request(server=True), ROW) == cells(store, request(server=True), ROW)


def test_a_damaged_record_is_set_aside(store: Store, asked: Request) -> None:
    (spec,) = runs_of(asked, ROW, "RTE")
    path = store.root / "server" / f"{run_key(spec)}.json"
    path.parent.mkdir(parents=True)
    path.write_text('{"key": 1}')
    said: list[str] = []
    assert Store(store.root, warn=said.append).served(run_key(spec)) is None
    assert "is damaged" in said[0]
    assert not path.exists()


def test_a_table_without_a_server_refuses_the_option() -> None:
    with pytest.raises(ReproError, match="leave out --server"):
        make_request(TABLES["ResAdapters-1"], "smoke", server=True)
