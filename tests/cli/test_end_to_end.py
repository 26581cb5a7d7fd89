"""The tables as a user gets them: real processes, then in this one; real training, tiny sizes."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from repro.store import Store

Call = Callable[..., Any]
ONE, TWO = (f"ResAdapters-{n}.smoke.tiny.train-rows-24" for n in (1, 2))
SMALL = [
    "--scale", "smoke", "--train-rows", "24", "--evaluation-rows", "12", "--epochs", "2",
    "--backbone", "tiny", "--threads", "1",
]  # fmt: skip
COMPARED = ("history.jsonl", "result.json", "predictions.json", "adapter.safetensors")


def strict(text: str) -> Any:
    def refuse(name: str) -> float:
        raise AssertionError(f"{name} is not JSON")

    return json.loads(text, parse_constant=refuse)


def tables(folder: Path) -> dict[str, bytes]:
    """Name -> content, without the digest of all that was asked for."""
    return {
        re.sub(r"\.[0-9a-f]{6}\.", ".", path.name): path.read_bytes()
        for path in (folder / "tables").iterdir()
    }


def rows(document: Any) -> dict[str, Any]:
    return {row["name"]: row for row in document["rows"]}


@pytest.fixture
def copied(trained: Any, tmp_path: Path) -> Path:
    """A copy of the trained folder, to be changed."""
    shutil.copytree(trained.folder, tmp_path / "copy")
    return tmp_path / "copy"


def test_a_table_is_trained_printed_and_written(trained: Any) -> None:
    answer = trained.one
    assert answer.code == 0, answer.err
    assert "6 of 6 runs are missing: 1 job, about" in answer.err
    assert answer.out.startswith("**ResAdapters-1.** SQuAD 2.0, five adapters")
    assert "Encoder: tiny, 3 layers, frozen." in answer.out
    assert "Cells reproduced: 36/36." in answer.out
    files = tables(trained.folder)
    assert answer.out in files[f"{ONE}.md"].decode()
    assert set(files) >= {f"{ONE}.md", f"{ONE}.csv", f"{ONE}.json"}


def test_the_written_json_and_csv_hold_every_cell(trained: Any) -> None:
    files = tables(trained.folder)
    document = strict(files[f"{ONE}.json"].decode())
    assert document["complete"] == "36/36"
    cells = [cell for row in document["rows"] for cell in row["cells"]]
    assert len(cells) == 36
    for cell in cells:
        assert 0 <= cell["reproduced"]["mean"] <= 100
        assert cell["reproduced"]["values"] == [cell["reproduced"]["mean"]]
        assert len(cell["runs"]) == 1
    lines = list(csv.DictReader(io.StringIO(files[f"{ONE}.csv"].decode())))
    assert len(lines) == 36
    assert all(line["mean"] for line in lines)
    assert len(list(csv.DictReader(io.StringIO(files[f"{TWO}.csv"].decode())))) == 66


def test_the_second_table_trains_only_what_the_first_did_not(trained: Any) -> None:
    assert trained.two.code == 0  # six of its eight epochs are beyond the run's two
    assert "2 of 4 runs are missing: 2 jobs, about" in trained.two.err
    assert len(trained.store.keys()) == 8
    one = rows(strict(tables(trained.folder)[f"{ONE}.json"].decode()))
    two = rows(strict(tables(trained.folder)[f"{TWO}.json"].decode()))
    # another table, another printed number; of one epoch of several it is not said who collapsed
    beside = ("published", "difference", "evidence", "collapsed")
    assert two["Epoch 2"]["cells"] == [
        cell | {name: ours[name] for name in beside}
        for cell, ours in zip(
            one["Attention ResNeXt"]["cells"], two["Epoch 2"]["cells"], strict=True
        )
    ]
    assert two["Always null"]["cells"] == one["Always null"]["cells"]


def test_epochs_are_those_of_one_runs_history(trained: Any) -> None:
    two = rows(strict(tables(trained.folder)[f"{TWO}.json"].decode()))
    (key,) = {key for n in (1, 2) for cell in two[f"Epoch {n}"]["cells"] for key in cell["runs"]}
    history = trained.store.read(key).path / "history.jsonl"
    scored = [json.loads(line) for line in history.read_text().splitlines() if "scores" in line]
    for line in scored:
        em, f1 = two[f"Epoch {line['epoch']}"]["cells"][:2]
        assert em["reproduced"]["mean"] == line["scores"]["generated/em"]
        assert f1["reproduced"]["mean"] == line["scores"]["generated/f1"]
    for epoch in range(3, 9):
        reasons = {cell["reason"] for cell in two[f"Epoch {epoch}"]["cells"]}
        assert reasons == {"the run has 2 epochs"}


def test_always_null_answers_nothing(trained: Any) -> None:
    null = rows(strict(tables(trained.folder)[f"{ONE}.json"].decode()))["Always null"]
    values = {cell["column"]: cell["reproduced"]["mean"] for cell in null["cells"]}
    assert (values["NoAns EM"], values["NoAns F1"]) == (100, 100)
    assert (values["HasAns EM"], values["HasAns F1"]) == (0, 0)
    assert values["ALL EM"] == values["ALL F1"]  # the share of unanswerable questions


def test_the_first_jobs_taught_the_plan_this_machines_speed(
    cli: Call, trained: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured = strict((trained.folder / "runs" / "calibration.json").read_text())["cpu"]
    assert measured["measured"] is True
    assert measured["flops"] > 0
    monkeypatch.chdir(trained.folder)
    plan = cli("plan", "ResAdapters-1", "--scale", "smoke", "--json")
    assert strict(plan.out)["estimate"]["measured"] is True


def test_nothing_unfinished_is_left(trained: Any) -> None:
    root = trained.folder / "runs"
    assert list((root / "work").iterdir()) == []
    assert not [path for path in root.rglob(".*") if path.name.startswith((".tmp", ".staging"))]


def test_what_trains_nothing_imports_neither_torch_nor_data(
    without_torch: Call, trained: Any, copied: Path
) -> None:
    before = tables(trained.folder)
    shutil.rmtree(copied / "tables")
    key = Store(copied / "runs").keys()[0]
    commands = (
        ["list"],
        ["status"],
        ["store", "ls"],
        ["store", "du"],
        ["store", "gc"],
        ["show", "ResAdapters-2"],
        ["run", "ResAdapters-1", "ResAdapters-2", *SMALL],
        ["table", "ResAdapters-1", *SMALL],
        ["plan", "ResAdapters-1", "--scale", "paper"],
        ["why", key[:16]],
        ["report"],
    )
    answers = without_torch(*commands, at=copied)
    assert [(answer.code, answer.err) for answer in answers] == [(0, "")] * len(commands)
    table, plan, why, _ = answers[-4:]
    assert table.out == trained.one.out
    assert "18 runs: 0 stored, 18 missing" in plan.out
    assert "(assuming one H100" in plan.out
    assert why.out.splitlines()[0] == key
    # md, csv, json and tex; numbers and LaTeX document of all; claims, audit, smoke
    assert len(tables(copied)) == 2 * 4 + 2 + 3
    assert {name: tables(copied)[name] for name in before} == before


@pytest.mark.usefixtures("in_process")
@pytest.mark.parametrize("damage", ["truncated", "one bit"])
def test_a_damaged_result_is_quarantined_and_shown_as_a_gap(
    cli: Call, copied: Path, damage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(copied)
    key = adapter_key(copied)
    spoil(copied / "runs" / key[:2] / key / "result.json", damage)
    shutil.rmtree(copied / "tables")  # a fuller one would stay as it is
    answer = cli("table", "ResAdapters-1", *SMALL, "--no-run")
    assert answer.code == 3
    assert len(answer.err.splitlines()) == 1
    assert f"Run {key[:12]} counts as missing: result.json has another" in answer.err
    assert "quarantine" in answer.err
    assert "- Adapter: gap, not run." in answer.out
    assert "Cells reproduced: 30/36." in answer.out
    again = cli("table", "ResAdapters-1", *SMALL, "--no-run")
    assert again.err == ""  # said once


@pytest.mark.usefixtures("in_process")
def test_a_damaged_result_is_trained_again(
    cli: Call, copied: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(copied)
    key = adapter_key(copied)
    spoil(copied / "runs" / key[:2] / key / "predictions.json", "truncated")
    answer = cli("table", "ResAdapters-1", *SMALL)
    assert answer.code == 0
    assert f"Run {key[:12]} counts as missing" in answer.err
    assert "1 of 6 runs are missing: 1 job" in answer.err
    assert "Cells reproduced: 36/36." in answer.out
    assert Store(copied / "runs").read(key, verify=True) is not None


def adapter_key(folder: Path) -> str:
    """The key of the run behind the row Adapter."""
    document = strict(tables(folder)[f"{ONE}.json"].decode())
    return str(rows(document)["Adapter"]["cells"][0]["runs"][0])


def spoil(path: Path, damage: str) -> None:
    data = bytearray(path.read_bytes())
    if damage == "truncated":
        del data[len(data) // 2 :]
    else:
        data[len(data) // 2] ^= 1
    path.write_bytes(data)


@pytest.mark.usefixtures("in_process")
def test_ctrl_c_then_the_same_command_gives_the_same_bytes(
    start: Callable[..., subprocess.Popen[str]], cli: Call, trained: Any, tmp_path: Path
) -> None:
    process = start("table", "ResAdapters-1", *SMALL, at=tmp_path)
    assert process.stderr is not None
    said = ""
    for line in process.stderr:
        said += line
        if "epoch 1: always null" in line:  # the last row's score; a checkpoint follows
            break
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: driver and worker
    out, err = process.communicate()
    assert process.returncode == 130
    assert out == ""
    assert "Traceback" not in said + err
    assert "Give the same command again to continue" in err
    again = cli("table", "ResAdapters-1", *SMALL)
    assert again.code == 0
    assert again.out == trained.one.out
    for key in trained.store.read(adapter_key(tmp_path)).environment()["members"]:
        for name in COMPARED:
            ours, theirs = (
                (folder / "runs" / key[:2] / key / name).read_bytes()
                for folder in (tmp_path, trained.folder)
            )
            assert ours == theirs


@pytest.mark.usefixtures("in_process")
def test_runs_that_diverge_are_gaps_and_the_reference_stays(cli: Call) -> None:
    answer = cli("table", "ResAdapters-1", *SMALL, "--learning-rate", "1e38")
    assert answer.code == 1
    assert answer.err.count(" diverged at step ") == 5
    assert "Adapter: gap, failed (diverged): The loss was not finite at step " in answer.out
    assert "Cells reproduced: 6/36." in answer.out
    status = strict(cli("status", "--json").out)
    assert status["tables"][0]["failed"] == 5
    assert {failure["kind"] for failure in status["failures"]} == {"diverged"}


@pytest.mark.usefixtures("in_process")
def test_missing_data_offline_says_where_to_put_it(
    cli: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "data").mkdir()
    monkeypatch.setenv("REPRO_DATA", str(tmp_path / "data"))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    words = ["--scale", "reduced", "--backbone", "tiny", "--train-rows", "24", "--threads", "1"]
    answer = cli("table", "ResAdapters-1", *words)
    assert answer.code == 1
    assert "Traceback" not in answer.err
    line = next(line for line in answer.err.splitlines() if "missing-data" in line)
    assert "set REPRO_DATA to a folder that holds squad_v2/validation.jsonl.gz" in line
    assert "HF_ENDPOINT names a mirror" in line
    assert "Adapter: gap, failed (missing-data): SQuAD 2.0's" in answer.out


@pytest.mark.slow
def test_the_readmes_first_command(run: Call, tmp_path: Path) -> None:
    """With MiniLM from its package, at the sizes of the other tests."""
    words = [word for word in SMALL if word not in ("--backbone", "tiny")]
    answer = run("table", "ResAdapters-1", *words, at=tmp_path)
    assert answer.code == 0
    assert "Encoder: MiniLM-L6, 6 layers, frozen." in answer.out
    assert "Cells reproduced: 36/36." in answer.out


@pytest.mark.usefixtures("in_process")
def test_a_glue_table_is_trained_and_then_answered_from_the_store(
    cli: Call, tmp_path: Path
) -> None:
    words = ["table", "3-shared-2", *SMALL, "--tasks", "rte"]
    first = cli(*words)
    assert first.code == 0, first.err
    assert "4 of 4 runs are missing" in first.err
    assert "Cells reproduced: 4/4." in first.out
    again = cli(*words)
    assert (again.code, again.err, again.out) == (0, "", first.out)
    name = "3-shared-2.smoke.tiny.rte.json"
    document = strict(tables(tmp_path)[name].decode())
    for row in document["rows"]:
        cells = {cell["column"]: cell for cell in row["cells"]}
        assert 0 <= cells["RTE"]["reproduced"]["mean"] <= 100
        assert cells["RTE"]["verdict"] == "NOT COMPARABLE"
        assert list(cells) == ["RTE"]
