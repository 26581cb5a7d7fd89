"""`rehearse`, as its user gives it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from fake_hub import use_hub

from repro.engine.dispatch import Outcome
from repro.engine.jobs import Execution, Job
from repro.papers.registry import ARTEFACTS
from repro.store import Store

Rehearse = Callable[..., tuple[dict[str, Any], str]]


@pytest.fixture
def rehearse(in_process: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> Rehearse:
    """Without data, models or a hub: what is found, and stderr."""
    monkeypatch.delenv("REPRO_MODELS")
    use_hub(monkeypatch, "http://127.0.0.1:9", Path("home"))

    def call(*words: object) -> tuple[dict[str, Any], str]:
        done = in_process("rehearse", *words, "--json", "--store", "s")
        return json.loads(done.out), done.err

    return call


def test_the_jobs_of_a_table_take_a_few_steps_and_plans_use_what_they_took(
    rehearse: Rehearse, tmp_path: Path
) -> None:
    asked = ("3-shared-2", "--scale", "smoke", "--tasks", "rte", "--row", "Ours (3-shared)")
    found, said = rehearse(*asked, "--steps", "3")
    told = [line.rpartition(", ")[2] for line in said.splitlines() if re.match(r"\d/2: ", line)]
    assert told == ["longest inputs", "usual inputs"]
    (kind,) = found["kinds"]
    assert (kind["failure"], kind["runs"], kind["jobs"]) == (None, 1, 1), said
    assert kind["seconds_a_step"] > 0
    assert kind["memory_bytes"] > 100e6  # the weights alone
    (kept,) = json.loads((tmp_path / "s" / "rehearsed.json").read_text())["cpu"].values()
    assert kept["fit"] is ("the machine was busy" not in said)
    assert not list((tmp_path / "s").glob("??/*"))  # no run is stored


def test_what_ran_in_smaller_batches_is_not_rehearsed_again(rehearse: Rehearse) -> None:
    row, smaller = ("--row", "Ours (3-shared)"), ("--steps", "2", "--batch-size", "1")
    asked = ("3-shared-2", "--scale", "smoke", "--tasks", "rte", *row, *smaller)
    first, said = rehearse(*asked)
    assert "1/1: 3-shared" in said
    other, said = rehearse(*asked[:4], "mrpc", *asked[5:])  # also two classes
    assert "1/1" not in said
    assert [one["kinds"][0]["memory_bytes"] for one in (first, other)] == [
        first["kinds"][0]["memory_bytes"]
    ] * 2
    _, said = rehearse(*asked, "--again")
    assert "1/1" in said


class Interrupted:
    """In place of a dispatcher: each job takes two steps; the user stops the second typical one."""

    def __init__(self, executor: object, listen: Callable[[Job, dict[str, Any]], None]) -> None:
        self.listen = listen

    def run(self, jobs: Sequence[Job], store: Store, execution: Execution) -> list[Outcome]:
        assert execution.rehearsal is not None
        assert len(jobs) > 1
        for job in jobs:
            if not execution.rehearsal.longest and job is jobs[1]:
                raise KeyboardInterrupt
            events: list[dict[str, Any]] = [
                {"event": "loading", "device": "2 CPU threads"},
                {"event": "rows", "scored_tokens": 80},
                *({"event": "step", "step": number} for number in (1, 2, 3)),
                {"event": "evaluation", "batches": 1},
                {"event": "stored"},
            ]
            for event in events:
                self.listen(job, event)
        return [Outcome(job, None) for job in jobs]


def test_ctrl_c_keeps_the_figures_of_the_kinds_that_ran(
    cli: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("repro.engine.rehearsal.Dispatcher", Interrupted)
    monkeypatch.setattr("repro.engine.rehearsal._peak", lambda store, job: 123_000_000)
    answer = cli("rehearse", "3-shared-2", "--scale", "smoke", "--tasks", "rte")
    assert answer.code == 130
    assert re.search(r"stopped\. The figures of 1 of \d kinds of jobs are stored\. Give the same",
                     answer.err)  # fmt: skip
    (kept,) = json.loads((tmp_path / "runs" / "rehearsed.json").read_text())["cpu"].values()
    assert kept["memory"] == 123_000_000
    assert kept["step"] > 0


@pytest.fixture(scope="module")
def one_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """For all tables and figures: kinds that several of them have run once."""
    return tmp_path_factory.mktemp("rehearsed")


@pytest.mark.slow
@pytest.mark.parametrize("id", ARTEFACTS)
def test_every_job_of_paper_scale_runs(
    rehearse: Rehearse, one_store: Path, id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(one_store)
    found, said = rehearse(id, "--scale", "paper", "--steps", "2", "--batch-size", "1")
    failures = [(kind["example"], kind["failure"]) for kind in found["kinds"] if kind["failure"]]
    assert not failures, said
