"""A run that fails: recorded with its log, told at once, seen by `status`, tried again next time.

Workers are stand-ins (`fake_worker.py`) whose end each test chooses.
"""

from __future__ import annotations

import json
import os
import platform
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fake_worker
import pytest
from fake_results import runs_of, store_all, store_result
from tiny_folder import write_tiny_bert

from repro.cli.requests import make_request
from repro.engine.dispatch import Dispatcher
from repro.engine.jobs import Execution, make_job, write_job
from repro.papers.registry import TABLES
from repro.report.files import saved_requests
from repro.spec import run_key
from repro.store import Store

Call = Callable[..., Any]
Scenario = Callable[..., None]
TABLE = ["table", "ResAdapters-1", "--scale", "smoke"]
ONE = TABLES["ResAdapters-1"]


@pytest.fixture
def scenario(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scenario:
    """Says how workers end from now on; see `fake_worker.py`."""
    monkeypatch.setattr(sys, "executable", str(fake_worker.starter(tmp_path)))

    def say(**rules: Any) -> None:
        (tmp_path / "scenario.json").write_text(json.dumps(rules))

    return say


def attempts(folder: Path) -> int:
    path = folder / "attempts.jsonl"
    return len(path.read_text().splitlines()) if path.exists() else 0


def test_a_failed_run_is_told_recorded_and_tried_again(
    cli: Call, store: Store, scenario: Scenario, tmp_path: Path
) -> None:
    asked = make_request(ONE, "smoke")
    specs = runs_of(asked)
    for spec in specs[1:]:
        store_result(store, spec)
    scenario(broken=[specs[0].recipe.learning_rate])
    answer = cli(*TABLE)
    assert answer.code == 1
    assert "1 of 6 runs are missing: 1 job, about" in answer.err
    assert ": error: ZeroDivisionError: this member breaks" in answer.err
    assert "`python -m repro status` names the logs." in answer.err
    assert "- Adapter: gap, failed (error): ZeroDivisionError: this member breaks." in answer.out
    assert "Cells reproduced: 30/36." in answer.out

    failure = json.loads(cli("status", "--json").out)["failures"][0]
    assert failure["key"] == run_key(specs[0])
    assert failure["kind"] == "error"
    assert "Traceback" in Path(failure["log"]).read_text()

    assert attempts(tmp_path) == 1
    assert cli(*TABLE).code == 1
    assert attempts(tmp_path) == 2


def test_the_rest_of_the_runs_goes_on(
    cli: Call, store: Store, scenario: Scenario, tmp_path: Path
) -> None:
    """Two seeds are two jobs: the second is tried though the first failed."""
    scenario(exit=22, failed={"kind": "missing-data", "message": "Put it there."})
    answer = cli(*TABLE, "--seeds", "2")
    assert answer.code == 1
    assert answer.err.count("missing-data: Put it there.") == 2
    assert attempts(tmp_path) == 2
    assert answer.out.count("gap, failed (missing-data): Put it there.") == 6


def test_a_diverged_run_is_tried_again_only_with_retry(
    cli: Call, store: Store, scenario: Scenario, tmp_path: Path
) -> None:
    scenario()
    specs = runs_of(make_request(ONE, "smoke"))
    for spec in specs[1:]:
        store_result(store, spec)
    store.record_failure(run_key(specs[0]), specs[0], "diverged", "not finite", "log")
    answer = cli(*TABLE)
    assert (answer.code, answer.err, attempts(tmp_path)) == (1, "", 0)
    assert "Adapter: gap, failed (diverged): not finite." in answer.out
    assert cli("run", *TABLE[1:]).code == 1
    assert attempts(tmp_path) == 0
    cli(*TABLE, "--retry")
    assert attempts(tmp_path) == 1
    store.record_failure(run_key(specs[0]), specs[0], "diverged", "not finite", "log")
    cli("run", *TABLE[1:], "--retry")
    assert attempts(tmp_path) == 2


def test_a_full_disk_in_training_ends_the_command_with_the_mend(
    cli: Call, scenario: Scenario, tmp_path: Path
) -> None:
    message = "Cannot write runs: the disk is full. Free some space there."
    scenario(exit=1, failed={"kind": "store", "message": message})
    answer = cli(*TABLE)
    assert answer.code == 1
    assert answer.err.splitlines()[-1] == f"repro: {message}"
    assert "Traceback" not in answer.err
    scenario()
    cli(*TABLE)
    assert attempts(tmp_path) == 2
    lines = (tmp_path / "attempts.jsonl").read_text().splitlines()
    assert len({str(json.loads(line)["rates"]) for line in lines}) == 1  # the same job


def test_runs_that_another_process_trains_leave_the_table_incomplete(
    cli: Call, scenario: Scenario
) -> None:
    scenario(exit=11)
    answer = cli(*TABLE)
    assert answer.code == 3
    assert "another process is training these runs" in answer.err
    assert "names the logs" not in answer.err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_says_how_to_continue(
    cli: Call, scenario: Scenario, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    """A scheduler's SIGTERM is as good."""
    before = signal.getsignal(signal.SIGTERM)

    def interrupted(*_: object) -> None:
        signal.raise_signal(number)

    monkeypatch.setattr(Dispatcher, "run", interrupted)
    answer = cli(*TABLE)
    assert answer.code == 130
    assert "Give the same command again to continue" in answer.err.splitlines()[-1]
    assert "Traceback" not in answer.err
    assert [table["name"] for table in told(cli)] == ["ResAdapters-1.smoke"]
    assert signal.getsignal(signal.SIGTERM) == before


def told(cli: Call) -> list[dict[str, Any]]:
    tables: list[dict[str, Any]] = json.loads(cli("status", "--json").out)["tables"]
    return tables


@pytest.mark.parametrize("verb", ["table", "run"])
def test_status_knows_what_was_asked_for_while_it_is_trained(
    cli: Call, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    seen: list[Any] = []

    def first_job(*_: object) -> list[Any]:
        seen.extend(saved_requests(Store("runs")))
        return []

    monkeypatch.setattr(Dispatcher, "run", first_job)
    cli(verb, *TABLE[1:])
    assert seen == [make_request(ONE, "smoke")]


@pytest.mark.parametrize("verb", ["table", "run"])
def test_what_is_refused_is_not_remembered(
    cli: Call, store: Store, tmp_path: Path, verb: str
) -> None:
    folder = write_tiny_bert(tmp_path / "four", layers=4)
    assert cli(verb, *TABLE[1:], "--backbone", folder).code == 2
    assert store.requests() == {}


def test_a_second_process_says_at_once_which_one_trains_the_runs(
    cli: Call, store: Store, scenario: Scenario, tmp_path: Path
) -> None:
    scenario()
    specs = runs_of(make_request(ONE, "smoke"))
    folder = write_job(store, make_job(specs), Execution())
    before = (folder / "job.json").read_bytes()
    with store.claim(map(run_key, specs)):
        answer = cli(*TABLE)
        assert told(cli)[0]["running"] == 6
    lines = answer.err.splitlines()
    holder = f"process {os.getpid()} on {platform.node()}"
    assert lines[1] == (
        f"6 runs left to {holder}, which trains in this store now. Give the same command again "
        "when it has ended."
    )
    assert answer.code == 3
    assert attempts(tmp_path) == 0
    assert (folder / "job.json").read_bytes() == before


def test_run_exits_like_table(cli: Call, store: Store, scenario: Scenario) -> None:
    scenario(exit=11)
    assert cli("run", *TABLE[1:]).code == 3
    scenario(exit=22, failed={"kind": "missing-model", "message": "Put it there."})
    answer = cli("run", *TABLE[1:])
    assert answer.code == 1
    stored, failed = answer.out.splitlines()
    assert stored == "0 of 6 runs are stored in runs."
    assert failed.startswith("6 failed: `python -m repro status` says why")
    store_all(store, make_request(ONE, "smoke"))
    assert cli("run", *TABLE[1:]).code == 0
