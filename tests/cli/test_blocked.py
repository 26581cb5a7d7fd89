"""A parent that failed: every command says of its children that they are blocked, and why."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from repro.cli.execute import tell_failures
from repro.cli.requests import make_request
from repro.engine.dispatch import Outcome
from repro.engine.jobs import make_job
from repro.papers.registry import find_artefact
from repro.report.files import save_request
from repro.report.runs_found import why_missing
from repro.spec import RunSpec, run_key
from repro.store import Store
from repro.words import run_name

FIGURE = find_artefact("ablation-heatmap")
REQUEST = make_request(FIGURE, "smoke")
WORDS = ("ablation-heatmap", "--scale", "smoke")


@pytest.fixture
def chain(store: Store) -> tuple[RunSpec, RunSpec]:
    """A run that diverged, and the one that is made from it."""
    parent, child = [*FIGURE.matrix(REQUEST).runs.values()]
    store.record_failure(run_key(parent), parent, "diverged", "Not finite\nat step 2.", "log")
    save_request(store, REQUEST)
    return parent, child


def because(parent: RunSpec) -> str:
    named = f"{run_name(parent)} ({run_key(parent)[:12]})"
    return f"its parent {named} failed (diverged): Not finite at step 2."


def test_plan_says_so_and_has_no_job_for_it(
    cli: Callable[..., Any], chain: tuple[RunSpec, RunSpec]
) -> None:
    parent, child = chain
    failed, blocked = json.loads(cli("plan", *WORDS, "--json").out)["runs"]
    assert (failed["state"], failed["job"]) == ("failed", None)
    assert (blocked["key"], blocked["state"], blocked["job"]) == (run_key(child), "blocked", None)
    assert blocked["reason"] == because(parent)
    assert f"blocked: {because(parent)}" in cli("plan", *WORDS).out


def test_status_counts_it_apart_from_failures(
    cli: Callable[..., Any], chain: tuple[RunSpec, RunSpec]
) -> None:
    document = json.loads(cli("status", "--json").out)
    (table,) = document["tables"]
    assert (table["failed"], table["blocked"], table["missing"]) == (1, 1, 0)
    assert [run["key"] for run in document["failures"]] == [run_key(chain[0])]
    assert [run["reason"] for run in document["blocked"]] == [because(chain[0])]
    assert f"1 run blocked: {because(chain[0])}" in cli("status").out


def test_why_names_the_parents_error(
    cli: Callable[..., Any], chain: tuple[RunSpec, RunSpec]
) -> None:
    key = run_key(chain[1])
    document = json.loads(cli("why", key, "--json").out)
    assert (document["state"], document["blocked"]) == ("blocked", because(chain[0]))
    assert f"It cannot be trained: {because(chain[0])}" in cli("why", key).out


def test_run_trains_nothing_and_ends_as_after_a_failure(
    cli: Callable[..., Any], chain: tuple[RunSpec, RunSpec]
) -> None:
    answer = cli("run", *WORDS)
    assert answer.code == 1
    assert "1 blocked: a run that they are made from failed." in answer.out


def test_a_cell_says_so_until_the_parent_is_stored(
    store: Store, chain: tuple[RunSpec, RunSpec]
) -> None:
    parent, child = chain
    assert why_missing(store, [child]) == f"blocked: {because(parent)}"
    store.clear_failure(run_key(parent))
    assert why_missing(store, [child]) == "not run"


def test_the_commands_end_says_once_what_blocks_many_runs(
    capsys: pytest.CaptureFixture[str],
) -> None:
    child = [*FIGURE.matrix(REQUEST).runs.values()][1]
    jobs = [make_job([child.model_copy(update={"seed": seed})]) for seed in (1, 2, 3)]
    tell_failures([Outcome(job, "blocked", "its parent x failed (error): y") for job in jobs])
    assert capsys.readouterr().err == "repro: 3 runs blocked: its parent x failed (error): y\n"
